// What calls ask for, and the requests that their options describe.
import { create, toBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { DatafileFilterSchema, DemFilterSchema, EventFilterSchema, TickRangeSchema, } from "../gen/replayd/v1/filter_pb.js";
import { ListReplaysRequestSchema, ReplayFilterSchema, ReplayOrder, ReplayView, } from "../gen/replayd/v1/replay_pb.js";
import { WatchStateRequestSchema } from "../gen/replayd/v1/state_pb.js";
import { WatchReplaysRequestSchema } from "../gen/replayd/v1/watch_pb.js";
import { ArrowCompression, Encoding, NowSchema, StartSchema, StreamEventsRequestSchema, SuccessorRule, } from "../gen/replayd/v1/stream_pb.js";
import { SubscribeEventsRequestSchema } from "../gen/replayd/v1/subscribe_pb.js";
/** The names of StreamOptions at run time. */
const optionNames = {
    kinds: true,
    players: true,
    teams: true,
    classes: true,
    fields: true,
    types: true,
    groups: true,
    layers: true,
    every: true,
    include: true,
    exclude: true,
    where: true,
    cursor: true,
    tick: true,
    last: true,
    now: true,
    withState: true,
    follow: true,
    followSuccessors: true,
    successorRule: true,
    resolvePlayers: true,
    maxBatchEvents: true,
    maxBatchDelay: true,
    heartbeat: true,
    tables: true,
    columns: true,
    fieldColumns: true,
    strict: true,
    slowConsumer: true,
    retry: true,
    signal: true,
};
/** The names of the options of streams that subscriptions have, too. */
const subscribeOptionNames = { ...optionNames };
for (const name of ["cursor", "tick", "last", "now", "follow", "followSuccessors", "successorRule", "fieldColumns"]) {
    delete subscribeOptionNames[name];
}
/**
 * Throws a TypeError for an unknown name. Without the check, a misspelt filter would be ignored and all events streamed. The
 * properties that generated messages have themselves, such as $typeName, are permitted.
 */
function checkNames(what, given, known) {
    for (const name of Object.keys(given)) {
        if (!Object.hasOwn(known, name) && !name.startsWith("$"))
            throw new TypeError(`there is no ${what} "${name}"`);
    }
}
function filters(given = []) {
    return given.map((filter) => {
        checkNames("field of a filter", filter, EventFilterSchema.field);
        checkNames("bound of ticks", filter.ticks ?? {}, TickRangeSchema.field);
        checkNames("field of a filter of demos", filter.dem ?? {}, DemFilterSchema.field);
        checkNames("field of a filter of maps", filter.datafile ?? {}, DatafileFilterSchema.field);
        return create(EventFilterSchema, filter);
    });
}
/** The filter for the options kinds to every; undefined without any. */
function shortFilter(options) {
    const { kinds = [], players = [], teams = [], classes = [], fields = [], types = [], groups = [], layers = [] } = options;
    const filter = create(EventFilterSchema, { kinds: [...kinds], players: [...players], teams: [...teams] });
    if (classes.length + fields.length + types.length > 0) {
        filter.dem = create(DemFilterSchema, { classes: [...classes], fields: [...fields], types: [...types] });
    }
    if (groups.length + layers.length > 0)
        filter.datafile = create(DatafileFilterSchema, { groups: [...groups], layers: [...layers] });
    if (options.every !== undefined)
        filter.ticks = create(TickRangeSchema, { every: options.every });
    return toBinary(EventFilterSchema, filter).length > 0 ? filter : undefined;
}
const listOptionNames = { formats: true, filter: true, order: true, view: true, pageSize: true, signal: true };
/** The request for a list that the options describe. */
export function listRequest(directory, options) {
    checkNames("option", options, listOptionNames);
    const { formats = [], filter, view = ReplayView.UNSPECIFIED } = options;
    checkNames("field of a filter of replays", filter ?? {}, ReplayFilterSchema.field);
    const basic = view === ReplayView.UNSPECIFIED || view === ReplayView.BASIC;
    return create(ListReplaysRequestSchema, {
        directory,
        formats: [...formats],
        order: options.order ?? ReplayOrder.UNSPECIFIED,
        view,
        pageSize: options.pageSize || (basic ? 1000 : 100),
        ...(filter && { filter: create(ReplayFilterSchema, filter) }),
    });
}
/** The request that the options describe. */
export function build(replay, options) {
    checkNames("option", options, optionNames);
    const request = create(StreamEventsRequestSchema, {
        replay,
        follow: options.follow ?? false,
        followSuccessors: options.followSuccessors ?? false,
        successorRule: options.successorRule ?? SuccessorRule.UNSPECIFIED,
        resolvePlayers: options.resolvePlayers ?? false,
        maxBatchEvents: options.maxBatchEvents ?? (options.tables ? 0 : 4096),
        columns: [...(options.columns ?? [])],
        fieldColumns: options.fieldColumns ?? false,
        encoding: options.tables ? Encoding.ARROW : Encoding.UNSPECIFIED,
        arrowCompression: options.tables ? ArrowCompression.NONE : ArrowCompression.UNSPECIFIED, // apache-arrow reads no LZ4
        strict: options.strict ?? false,
        slowConsumer: options.slowConsumer ?? 0,
        include: filters(options.include),
        exclude: filters(options.exclude),
        where: options.where ?? "",
    });
    const { cursor, tick, last, now } = options;
    const starts = [];
    if (cursor !== undefined)
        starts.push({ case: "cursor", value: cursor });
    if (tick !== undefined)
        starts.push({ case: "tick", value: tick });
    if (last !== undefined)
        starts.push({ case: "lastEvents", value: last });
    if (now)
        starts.push({ case: "now", value: create(NowSchema) });
    if (starts.length > 1)
        throw new TypeError(`${starts[0].case} and ${starts[1].case} exclude each other`);
    if (starts[0] || options.withState) {
        request.start = create(StartSchema, { at: starts[0] ?? { case: undefined }, withState: options.withState ?? false });
    }
    const filter = shortFilter(options);
    if (filter) {
        if (request.include.length > 0) {
            throw new TypeError("kinds, players and the like exclude include: put them into its filters");
        }
        request.include.push(filter);
    }
    if (options.maxBatchDelay !== undefined)
        request.maxBatchDelay = durationFromMs(options.maxBatchDelay);
    if (options.heartbeat !== undefined)
        request.heartbeatInterval = durationFromMs(options.heartbeat);
    return request;
}
/** The request for a subscription that the options describe. */
export function subscribeRequest(directory, options) {
    const { token = new Uint8Array(), subscription = "", formats = [], filter, parallel = 0, ...streamed } = options;
    checkNames("option of a subscription", streamed, subscribeOptionNames);
    checkNames("field of a filter of replays", filter ?? {}, ReplayFilterSchema.field);
    return create(SubscribeEventsRequestSchema, {
        directory,
        token,
        subscription,
        formats: [...formats],
        options: build("", streamed),
        parallel,
        ...(filter && { filter: create(ReplayFilterSchema, filter) }),
    });
}
const watchOptionNames = { changesOnly: true, onReady: true, heartbeat: true, signal: true };
/** The request for a watch of replays that the options describe. */
export function watchRequest(directory, options) {
    checkNames("option of a watch", options, watchOptionNames);
    const { changesOnly = false, heartbeat } = options;
    return create(WatchReplaysRequestSchema, { directory, changesOnly, ...(heartbeat !== undefined && { heartbeatInterval: durationFromMs(heartbeat) }) });
}
const watchStateOptionNames = {
    formats: true,
    filter: true,
    interval: true,
    columns: true,
    players: true,
    teams: true,
    resolvePlayers: true,
    heartbeat: true,
    retry: true,
    signal: true,
};
/** The request for a watch of states that the options describe. */
export function watchStateRequest(directory, options) {
    checkNames("option of a watch", options, watchStateOptionNames);
    const { formats = [], filter, interval, columns = [], players = [], teams = [], resolvePlayers = false, heartbeat } = options;
    checkNames("field of a filter of replays", filter ?? {}, ReplayFilterSchema.field);
    return create(WatchStateRequestSchema, {
        directory,
        formats: [...formats],
        columns: [...columns],
        resolvePlayers,
        include: players.length + teams.length > 0 ? [{ players: [...players], teams: [...teams] }] : [],
        ...(filter && { filter: create(ReplayFilterSchema, filter) }),
        ...(interval !== undefined && { interval: durationFromMs(interval) }),
        ...(heartbeat !== undefined && { heartbeatInterval: durationFromMs(heartbeat) }),
    });
}
