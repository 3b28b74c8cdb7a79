// What calls ask for, and the requests that their options describe.

import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  DatafileFilterSchema,
  DemFilterSchema,
  type EventFilter,
  EventFilterSchema,
  TickRangeSchema,
} from "../gen/replayd/v1/filter_pb.js";
import {
  type Format,
  type ListReplaysRequest,
  ListReplaysRequestSchema,
  ReplayFilterSchema,
  ReplayOrder,
  ReplayView,
} from "../gen/replayd/v1/replay_pb.js";
import { type WatchStateRequest, WatchStateRequestSchema } from "../gen/replayd/v1/state_pb.js";
import { type WatchReplaysRequest, WatchReplaysRequestSchema } from "../gen/replayd/v1/watch_pb.js";
import {
  ArrowCompression,
  Encoding,
  NowSchema,
  type SlowConsumer,
  type Start,
  StartSchema,
  type StreamEventsRequest,
  StreamEventsRequestSchema,
  SuccessorRule,
} from "../gen/replayd/v1/stream_pb.js";
import { type SubscribeEventsRequest, SubscribeEventsRequestSchema } from "../gen/replayd/v1/subscribe_pb.js";
import type { Kind } from "./event.js";
import type { Retry } from "./session.js";

/** A filter: EventFilter, or a plain object with some of its fields. */
export type Filter = MessageInitShape<typeof EventFilterSchema>;

/** The options of a stream. All are optional. See proto/replayd/v1/stream.proto for details. */
export interface StreamOptions {
  /** Only events of these kinds. For names that are unknown to TypeScript, use a filter in `include`. */
  kinds?: readonly Kind[];
  /** Only events of these players. See EventFilter.players in filter.proto for their numbers. */
  players?: readonly number[];
  /** Only events of these teams. See EventFilter.teams. */
  teams?: readonly number[];
  /** For Source 2 demos: only events of entities whose class matches one of these patterns. */
  classes?: readonly string[];
  /** For Source 2 demos: only entity fields whose name matches one of these patterns. */
  fields?: readonly string[];
  /** For Source 2 demos: only events of these types, such as COMBAT_LOG_TYPE_DEATH. See DemFilter.types. */
  types?: readonly string[];
  /** For maps: only events of these groups of layers. */
  groups?: readonly number[];
  /** For maps: only events of these layers, by their index over all groups. */
  layers?: readonly number[];
  /** Only events of ticks that are multiples of this number. Without it, samples are of each second of the game. */
  every?: number;
  /** Only events that match at least one of these. Cannot be combined with `kinds` to `every`, which form one filter. */
  include?: readonly Filter[];
  /** No events that match one of these filters. */
  exclude?: readonly Filter[];
  /** Only events for which this expression in CEL is true, such as "event.damage > 100". See StreamEventsRequest.where. */
  where?: string;
  /** Resume exactly after the batch or other response that has this cursor. */
  cursor?: Uint8Array;
  /** Start at the first event of this tick or later. */
  tick?: number;
  /** Start with the last N events, 1 to 1000000. */
  last?: number;
  /** Start at the current end. */
  now?: boolean;
  /** Begin with events that describe the state at the start position; see Event.state. */
  withState?: boolean;
  /**
   * Wait for the file to grow, until the replay ends. The name may then be a directory, which means the newest replay directly
   * inside it.
   */
  follow?: boolean;
  /** With follow: when the replay ends, continue with the next one of the same game server. */
  followSuccessors?: boolean;
  /** How the next replay is determined. Default: by proof. */
  successorRule?: SuccessorRule;
  /** Add the players to the events of a teehistorian file. */
  resolvePlayers?: boolean;
  /** The maximum number of events in a batch. Default 4096, with `tables` 131072. */
  maxBatchEvents?: number;
  /** How many milliseconds events may wait for a batch to fill. Default 0. */
  maxBatchDelay?: number;
  /** Milliseconds between heartbeats. Default 15000. After three times as long without a response the stream is resumed. */
  heartbeat?: number;
  /**
   * Send events as tables of Apache Arrow, one for each kind; see Batch.tables. They are read many times as fast. The buffers are
   * not compressed.
   */
  tables?: boolean;
  /**
   * Only with `tables`: only these columns, by the names in docs/events; a dot leads into a struct. Default: all. Every kind that the
   * stream lets through must have them.
   */
  columns?: readonly string[];
  /**
   * For Source 2 demos, with tables of sample_entity and `classes`, or of game_event and one of `types`: a column for each field or key. See
   * StreamEventsRequest.field_columns.
   */
  fieldColumns?: boolean;
  /** Throw DATA_LOSS for a file that ends without the end marker of its format. */
  strict?: boolean;
  /** What the daemon does if the client reads a live replay too slowly. Default: it still sends all events. */
  slowConsumer?: SlowConsumer;
  /** How an interrupted stream is resumed. False disables resuming. */
  retry?: Retry | false;
  /** Ends the stream with the signal's reason. */
  signal?: AbortSignal;
}

/** The options of a subscription. All are optional. See proto/replayd/v1/subscribe.proto for details. */
export interface SubscribeOptions
  extends Omit<StreamOptions, "cursor" | "tick" | "last" | "now" | "follow" | "followSuccessors" | "successorRule" | "fieldColumns"> {
  /** Resume exactly after the response that has this token. The conditions below and the directory must be the same. */
  token?: Uint8Array;
  /** The name under which the daemon keeps where the subscription stands. Without a token it goes on behind what was acknowledged. */
  subscription?: string;
  /** Only replays of these formats. */
  formats?: readonly Format[];
  /** Only replays that match this filter. */
  filter?: SearchFilter;
  /** How many replays are streamed at once in each root, besides the live ones. Default 2. */
  parallel?: number;
}

/** The options of a watch of states. All are optional. See proto/replayd/v1/state.proto for details. */
export interface WatchStateOptions {
  /** Only games of these formats. */
  formats?: readonly Format[];
  /** Only games that match this filter. */
  filter?: SearchFilter;
  /** Milliseconds between responses. Default 1000. */
  interval?: number;
  /** The fields of a player that are wanted, by their names in sample_player, besides the number. Default: all. */
  columns?: readonly string[];
  /** Only these players. */
  players?: readonly number[];
  /** Only players of these teams. */
  teams?: readonly number[];
  /** Add the names of the clients of a teehistorian file, in the event's player. */
  resolvePlayers?: boolean;
  /** Milliseconds between responses when nothing changes. Default 15000. After three times as long without one the call is made again. */
  heartbeat?: number;
  /** How the call is made again after it broke. False disables that. */
  retry?: Retry | false;
  /** Ends the watch with the signal's reason. */
  signal?: AbortSignal;
}

/** A filter of replays: ReplayFilter, or a plain object with some of its fields. */
export type SearchFilter = MessageInitShape<typeof ReplayFilterSchema>;

/** The options of a list of replays. All are optional. See proto/replayd/v1/replay.proto for details. */
export interface ListOptions {
  /** Only replays of these formats. */
  formats?: readonly Format[];
  /** Only replays that match this filter. */
  filter?: SearchFilter;
  /** The order. Default: by name. */
  order?: ReplayOrder;
  /** Which fields of each replay are set. Default: ReplayView.BASIC. */
  view?: ReplayView;
  /** How many replays to fetch per call. Default 1000, or 100 with a view for which the daemon reads the replays. */
  pageSize?: number;
  /** Ends the list with the signal's reason. */
  signal?: AbortSignal;
}

/** The options of a watch of replays. All are optional. */
export interface WatchOptions {
  /** Leaves the existing replays out. */
  changesOnly?: boolean;
  /** Called when the existing replays have been streamed, and no later change can be missed. */
  onReady?: () => void;
  /** Milliseconds between responses when nothing changes. Default 15000. After three times as long without one the connection is dead. */
  heartbeat?: number;
  /** Ends the watch with the signal's reason. */
  signal?: AbortSignal;
}

/** The names of StreamOptions at run time. */
const optionNames: Record<keyof StreamOptions, true> = {
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
const subscribeOptionNames: Partial<typeof optionNames> = { ...optionNames };
for (const name of ["cursor", "tick", "last", "now", "follow", "followSuccessors", "successorRule", "fieldColumns"] as const) {
  delete subscribeOptionNames[name];
}

/**
 * Throws a TypeError for an unknown name. Without the check, a misspelt filter would be ignored and all events streamed. The
 * properties that generated messages have themselves, such as $typeName, are permitted.
 */
function checkNames(what: string, given: object, known: object): void {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(known, name) && !name.startsWith("$")) throw new TypeError(`there is no ${what} "${name}"`);
  }
}

function filters(given: StreamOptions["include"] = []): EventFilter[] {
  return given.map((filter) => {
    checkNames("field of a filter", filter, EventFilterSchema.field);
    checkNames("bound of ticks", filter.ticks ?? {}, TickRangeSchema.field);
    checkNames("field of a filter of demos", filter.dem ?? {}, DemFilterSchema.field);
    checkNames("field of a filter of maps", filter.datafile ?? {}, DatafileFilterSchema.field);
    return create(EventFilterSchema, filter);
  });
}

/** The filter for the options kinds to every; undefined without any. */
function shortFilter(options: StreamOptions): EventFilter | undefined {
  const { kinds = [], players = [], teams = [], classes = [], fields = [], types = [], groups = [], layers = [] } = options;
  const filter = create(EventFilterSchema, { kinds: [...kinds], players: [...players], teams: [...teams] });
  if (classes.length + fields.length + types.length > 0) {
    filter.dem = create(DemFilterSchema, { classes: [...classes], fields: [...fields], types: [...types] });
  }
  if (groups.length + layers.length > 0) filter.datafile = create(DatafileFilterSchema, { groups: [...groups], layers: [...layers] });
  if (options.every !== undefined) filter.ticks = create(TickRangeSchema, { every: options.every });
  return toBinary(EventFilterSchema, filter).length > 0 ? filter : undefined;
}

const listOptionNames: Record<keyof ListOptions, true> = { formats: true, filter: true, order: true, view: true, pageSize: true, signal: true };

/** The request for a list that the options describe. */
export function listRequest(directory: string, options: ListOptions): ListReplaysRequest {
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
export function build(replay: string, options: StreamOptions): StreamEventsRequest {
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
  const starts: Start["at"][] = [];
  if (cursor !== undefined) starts.push({ case: "cursor", value: cursor });
  if (tick !== undefined) starts.push({ case: "tick", value: tick });
  if (last !== undefined) starts.push({ case: "lastEvents", value: last });
  if (now) starts.push({ case: "now", value: create(NowSchema) });
  if (starts.length > 1) throw new TypeError(`${starts[0]!.case} and ${starts[1]!.case} exclude each other`);
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
  if (options.maxBatchDelay !== undefined) request.maxBatchDelay = durationFromMs(options.maxBatchDelay);
  if (options.heartbeat !== undefined) request.heartbeatInterval = durationFromMs(options.heartbeat);
  return request;
}

/** The request for a subscription that the options describe. */
export function subscribeRequest(directory: string, options: SubscribeOptions): SubscribeEventsRequest {
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

const watchOptionNames: Record<keyof WatchOptions, true> = { changesOnly: true, onReady: true, heartbeat: true, signal: true };

/** The request for a watch of replays that the options describe. */
export function watchRequest(directory: string, options: WatchOptions): WatchReplaysRequest {
  checkNames("option of a watch", options, watchOptionNames);
  const { changesOnly = false, heartbeat } = options;
  return create(WatchReplaysRequestSchema, { directory, changesOnly, ...(heartbeat !== undefined && { heartbeatInterval: durationFromMs(heartbeat) }) });
}

const watchStateOptionNames: Record<keyof WatchStateOptions, true> = {
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
export function watchStateRequest(directory: string, options: WatchStateOptions): WatchStateRequest {
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
