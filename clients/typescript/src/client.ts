// The client, over any transport.

import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Client as Stubs, Code, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  DatafileFilterSchema,
  DemFilterSchema,
  type EventFilter,
  EventFilterSchema,
  TickRangeSchema,
} from "../gen/replayd/v1/filter_pb.js";
import type { GetServerInfoResponse } from "../gen/replayd/v1/info_pb.js";
import {
  type Format,
  type ListReplaysRequest,
  ListReplaysRequestSchema,
  type Replay,
  ReplayFilterSchema,
  type Participant,
  ReplayOrder,
  ReplayView,
} from "../gen/replayd/v1/replay_pb.js";
import type { Report } from "../gen/replayd/v1/report_pb.js";
import { ReplayService } from "../gen/replayd/v1/service_pb.js";
import {
  ArrowCompression,
  type DecodeReplayRequest,
  DecodeReplayRequestSchema,
  Encoding,
  EndReason,
  NowSchema,
  type SlowConsumer,
  type Start,
  StartSchema,
  type StreamEventsRequest,
  StreamEventsRequestSchema,
  type StreamEventsResponse,
  SuccessorRule,
} from "../gen/replayd/v1/stream_pb.js";
import { type WatchStateRequest, WatchStateRequestSchema } from "../gen/replayd/v1/state_pb.js";
import { type SubscribeEventsRequest, SubscribeEventsRequestSchema } from "../gen/replayd/v1/subscribe_pb.js";
import type { ReplayChange } from "../gen/replayd/v1/watch_pb.js";
import { ReplaydError } from "./error.js";
import { Batch, type Event, type Kind } from "./event.js";
import { type Retry, Session } from "./session.js";
import { type States, Watched } from "./states.js";
import { Stream } from "./stream.js";
import { type Subscribed, Subscription } from "./subscription.js";
import { Watchdog } from "./watchdog.js";

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
  /** The maximum number of events in a batch. Default 512, with `tables` 131072. */
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
  extends Omit<StreamOptions, "cursor" | "tick" | "last" | "now" | "follow" | "followSuccessors" | "successorRule"> {
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
}

/** A client of one daemon. */
export class Client {
  private readonly stubs: Stubs<typeof ReplayService>;

  constructor(
    transport: Transport,
    private readonly onClose: () => void = () => {},
  ) {
    this.stubs = createClient(ReplayService, transport);
  }

  /** Closes the connection. Streams end. */
  close(): void {
    this.onClose();
  }

  /** Streams the events of a replay, one by one. */
  events(replay: string, options: StreamOptions = {}): Stream<Event> {
    const { responses, session } = this.open(replay, options);
    return new Stream(session, responses, eventsOf);
  }

  /** Streams the events of a replay, batch by batch: the fastest way. */
  batches(replay: string, options: StreamOptions = {}): Stream<Batch> {
    const { responses, session } = this.open(replay, options);
    return new Stream(session, responses, batchesOf);
  }

  /** Streams all responses of the daemon: start, states, batches, heartbeats, follow statuses, gaps, end. */
  responses(replay: string, options: StreamOptions = {}): Stream<StreamEventsResponse> {
    const { responses, session } = this.open(replay, options);
    return new Stream(session, responses, (response) => [response]);
  }

  private open(replay: string, options: StreamOptions) {
    const session = new Session(build(replay, options), options.retry ?? {});
    return { session, responses: this.receive(session, options.signal) };
  }

  private async *receive(session: Session, signal?: AbortSignal): AsyncGenerator<StreamEventsResponse, void, undefined> {
    while (!session.end) {
      signal?.throwIfAborted();
      let failure = new ReplaydError(Code.Unavailable, "the stream stopped without an end");
      session.called();
      try {
        const call = (signal: AbortSignal) => this.stubs.streamEvents(session.request, { signal });
        for await (const response of connected(call, session.silence, signal)) {
          if (session.observe(response)) yield response;
        }
      } catch (thrown) {
        signal?.throwIfAborted();
        if (!(thrown instanceof ReplaydError)) throw thrown;
        failure = thrown;
      }
      if (!session.end) await sleep(session.delay(failure), signal);
    }
  }

  /**
   * Streams the events of all replays below a directory, or of all roots: of those that are over, live ones, and those to come.
   *
   * It goes on for ever, and yields each response. When the daemon restarts or the connection breaks, it continues after the last one;
   * `retry` says how. With `token`, a later call continues where another one was.
   */
  async *subscribe(directory = "", options: SubscribeOptions = {}): AsyncGenerator<Subscribed, void, undefined> {
    const subscription = new Subscription(subscribeRequest(directory, options), options.retry ?? {});
    yield* again(subscription, (signal) => this.stubs.subscribeEvents(subscription.request, { signal }), options.signal);
  }

  /**
   * Yields the latest states of the live games below a directory, or of all roots, after each response: the same States, which the next
   * response changes. `players` has the players of one.
   *
   * It goes on for ever. When the daemon restarts or the connection breaks, the games have other numbers; `retry` says how it calls
   * again. States between two responses are left out, so whoever is slow misses some.
   */
  async *watchState(directory = "", options: WatchStateOptions = {}): AsyncGenerator<States, void, undefined> {
    const watched = new Watched(watchStateRequest(directory, options), options.retry ?? {});
    yield* again(watched, (signal) => this.stubs.watchState(watched.request, { signal }), options.signal);
  }

  /**
   * Notes that the events of a named subscription were processed, up to the response with a token. A later `subscribe` without a token goes
   * on behind it.
   */
  async acknowledge(subscription: string, token: Uint8Array): Promise<void> {
    await explained(this.stubs.acknowledgeEvents({ subscription, token }));
  }

  /** Removes a named subscription. A call that runs under its name ends. */
  async deleteSubscription(subscription: string): Promise<void> {
    await explained(this.stubs.deleteSubscription({ subscription }));
  }

  /** @internal Sends a file's bytes and receives its events. Browsers do not support this. */
  protected upload(source: Bytes, name: string, options: StreamOptions) {
    const session = new Session(build(name, options), false);
    return { session, responses: this.uploaded(source, session, options.signal) };
  }

  private async *uploaded(
    source: Bytes,
    session: Session,
    signal?: AbortSignal,
  ): AsyncGenerator<StreamEventsResponse, void, undefined> {
    const connection = new AbortController();
    const stop = () => connection.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    const upload = new Upload(source, session);
    try {
      for await (const response of this.stubs.decodeReplay(upload.parts(), { signal: connection.signal })) {
        if (session.observe(response)) yield response;
      }
    } catch (thrown) {
      signal?.throwIfAborted();
      if (upload.failure) throw upload.failure.thrown;
      throw ReplaydError.from(thrown);
    } finally {
      signal?.removeEventListener("abort", stop);
      connection.abort();
      upload.stop();
    }
    if (!session.end) throw new ReplaydError(Code.Unavailable, "the stream stopped without an end");
    if (session.end.reason === EndReason.SERVER_DRAINING) {
      throw new ReplaydError(Code.Unavailable, "the daemon shut down", { reason: "DRAINING" });
    }
  }

  /**
   * Lists the replays below a directory, ordered by name if no order is given. It fetches further pages as needed. Without a directory it lists all
   * replays.
   */
  async *replays(directory = "", options: ListOptions = {}): AsyncGenerator<Replay, void, undefined> {
    const request = listRequest(directory, options);
    do {
      const page = await explained(this.stubs.listReplays(request));
      yield* page.replays;
      request.pageToken = page.nextPageToken;
    } while (request.pageToken);
  }

  /** Returns a replay's header, players, map and length. */
  async replay(name: string): Promise<Replay> {
    return (await explained(this.stubs.getReplay({ replay: name }))).replay!;
  }

  /** Has the daemon follow the HTTP broadcast of a running match, once for each URL, and returns the name under which to stream it with follow. */
  async followBroadcast(url: string): Promise<string> {
    return (await explained(this.stubs.followBroadcast({ url }))).replay;
  }

  /** Returns who took part in a game, where, and how it stood after a tick, or how it stands or ended now without one. */
  async report(name: string, tick?: number): Promise<Report> {
    return (await explained(this.stubs.getReport({ replay: name, tick }))).report!;
  }

  /**
   * Returns everybody who took part in a teehistorian file, in the order in which they connected. The list is empty while the daemon has
   * not decoded the file yet.
   */
  async participants(name: string): Promise<Participant[]> {
    const { replay } = await explained(this.stubs.getReplay({ replay: name, view: ReplayView.PARTICIPANTS }));
    return replay!.participants;
  }

  /** Returns the daemon's version, formats with their kinds, limits and roots. */
  serverInfo(): Promise<GetServerInfoResponse> {
    return explained(this.stubs.getServerInfo({}));
  }

  /**
   * Streams the existing replays, and then each change. It is not resumed. A new call begins with the replays that exist then.
   */
  async *watch(directory = "", signal?: AbortSignal): AsyncGenerator<ReplayChange, void, undefined> {
    const connection = new AbortController();
    const stop = () => connection.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    try {
      for await (const { changes } of this.stubs.watchReplays({ directory }, { signal: connection.signal })) yield* changes;
    } catch (thrown) {
      signal?.throwIfAborted();
      throw ReplaydError.from(thrown);
    } finally {
      signal?.removeEventListener("abort", stop);
      connection.abort();
    }
  }
}

/** The bytes of a replay, as one array or as an iterable of parts. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

const chunk = 64 << 10;

/** The upload of a replay. */
class Upload {
  /** The exception of the source. The transport only reports that the call failed. */
  failure: { thrown: unknown } | undefined;
  private readonly pieces: AsyncGenerator<Uint8Array, void, undefined>;

  constructor(
    source: Bytes,
    private readonly session: Session,
  ) {
    this.pieces = this.read(source);
  }

  /** Yields the options, then the bytes. */
  async *parts(): AsyncGenerator<DecodeReplayRequest, void, undefined> {
    yield create(DecodeReplayRequestSchema, { part: { case: "options", value: this.session.request } });
    for await (const piece of this.pieces) {
      for (let at = 0; at < piece.length; at += chunk) {
        yield create(DecodeReplayRequestSchema, { part: { case: "data", value: piece.subarray(at, at + chunk) } });
      }
    }
  }

  private async *read(source: Bytes): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* source instanceof Uint8Array ? [source] : source;
    } catch (thrown) {
      this.failure = { thrown };
      throw thrown;
    }
  }

  /** Ends the iteration of the source, so that it can close its resources. An aborted transport does not end it. */
  stop(): void {
    this.pieces.return().catch(() => {}); // an error no longer matters
  }
}

/** @internal */
export function batchesOf(response: StreamEventsResponse): Iterable<Batch> {
  return response.response.case === "batch" || response.response.case === "state" ? [new Batch(response)] : [];
}

/** @internal */
export function eventsOf(response: StreamEventsResponse): Iterable<Event> {
  return response.response.case === "batch" || response.response.case === "state" ? new Batch(response) : [];
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
  strict: true,
  slowConsumer: true,
  retry: true,
  signal: true,
};

/** The names of the options of streams that subscriptions have, too. */
const subscribeOptionNames: Partial<typeof optionNames> = { ...optionNames };
for (const name of ["cursor", "tick", "last", "now", "follow", "followSuccessors", "successorRule"] as const) {
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

const listOptionNames: Record<keyof ListOptions, true> = { formats: true, filter: true, order: true, view: true, pageSize: true };

/** The request for a list that the options describe. */
function listRequest(directory: string, options: ListOptions): ListReplaysRequest {
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
function build(replay: string, options: StreamOptions): StreamEventsRequest {
  checkNames("option", options, optionNames);
  const request = create(StreamEventsRequestSchema, {
    replay,
    follow: options.follow ?? false,
    followSuccessors: options.followSuccessors ?? false,
    successorRule: options.successorRule ?? SuccessorRule.UNSPECIFIED,
    resolvePlayers: options.resolvePlayers ?? false,
    maxBatchEvents: options.maxBatchEvents ?? 0,
    columns: [...(options.columns ?? [])],
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
function subscribeRequest(directory: string, options: SubscribeOptions): SubscribeEventsRequest {
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
function watchStateRequest(directory: string, options: WatchStateOptions): WatchStateRequest {
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

/** What is called again whenever a call has ended, and makes something of each response. */
interface Endless<R, T> {
  readonly silence: number;
  called(): void;
  take(response: R): T;
  delay(error: ReplaydError): number;
}

/** Calls again and again, and yields what is made of each response. It throws the error after which there must be no other call. */
async function* again<R, T>(
  of: Endless<R, T>,
  call: (signal: AbortSignal) => AsyncIterable<R>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for (;;) {
    signal?.throwIfAborted();
    let failure = new ReplaydError(Code.Unavailable, "the stream stopped");
    of.called();
    try {
      for await (const response of connected(call, of.silence, signal)) yield of.take(response);
    } catch (thrown) {
      signal?.throwIfAborted();
      if (!(thrown instanceof ReplaydError)) throw thrown;
      failure = thrown;
    }
    await sleep(of.delay(failure), signal);
  }
}

/** Makes a call and yields its responses. It throws a ReplaydError, or the signal's reason. */
async function* connected<T>(
  call: (signal: AbortSignal) => AsyncIterable<T>,
  silence: number,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const connection = new AbortController();
  const stop = () => connection.abort(signal?.reason);
  signal?.addEventListener("abort", stop);
  const watchdog = new Watchdog(silence, connection);
  try {
    yield* watchdog.watch(call(connection.signal));
  } catch (thrown) {
    signal?.throwIfAborted();
    throw watchdog.expired ? new ReplaydError(Code.Unavailable, `no response for ${silence} ms`) : ReplaydError.from(thrown);
  } finally {
    watchdog.stop();
    signal?.removeEventListener("abort", stop);
    connection.abort();
  }
}

/** Sends a token with every call. */
export function bearer(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("Authorization", `Bearer ${token}`);
    return next(request);
  };
}

async function explained<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (thrown) {
    throw ReplaydError.from(thrown);
  }
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done);
  });
}
