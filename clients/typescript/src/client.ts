// The client, over any transport.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
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
  ReplayView,
} from "../gen/replayd/v1/replay_pb.js";
import { ReplayService } from "../gen/replayd/v1/service_pb.js";
import {
  type DecodeReplayRequest,
  DecodeReplayRequestSchema,
  Encoding,
  EndReason,
  type FollowState,
  NowSchema,
  type SlowConsumer,
  type Start,
  StartSchema,
  type StreamEnd,
  type StreamEventsRequest,
  StreamEventsRequestSchema,
  type StreamEventsResponse,
  type StreamStart,
  SuccessorRule,
} from "../gen/replayd/v1/stream_pb.js";
import type { ReplayChange } from "../gen/replayd/v1/watch_pb.js";
import { ReplaydError } from "./error.js";
import { Batch, type Event, type Kind } from "./event.js";
import { type Retry, Session } from "./session.js";

/** A filter: EventFilter, or a plain object with some of its fields. */
export type Filter = MessageInitShape<typeof EventFilterSchema>;

/** What to stream and how. All are optional; see proto/replayd/v1/stream.proto for the details. */
export interface StreamOptions {
  /** Only events of these kinds. Names that TypeScript does not know go into a filter of `include`. */
  kinds?: readonly Kind[];
  /** Only events of these players: see EventFilter.players in filter.proto for what their numbers are. */
  players?: readonly number[];
  /** Only events of these teams: see EventFilter.teams. */
  teams?: readonly number[];
  /** Of a Source 2 demo: only events of entities of classes that match any of these patterns. */
  classes?: readonly string[];
  /** Of a Source 2 demo: of entities only fields that match any of these patterns. */
  fields?: readonly string[];
  /** Of a map: only events of these groups of layers. */
  groups?: readonly number[];
  /** Of a map: only events of these layers, by their index over all groups. */
  layers?: readonly number[];
  /** Only events that match any of these; in place of `kinds` to `layers`, which together are one filter. */
  include?: readonly Filter[];
  /** No events that match any of these. */
  exclude?: readonly Filter[];
  /** Go on exactly behind what carried this cursor. */
  cursor?: Uint8Array;
  /** Start at the first event of this tick or later. */
  tick?: number;
  /** Start at the last so many events, 1 to 1000000. */
  last?: number;
  /** Start at the present end. */
  now?: boolean;
  /** Send first what a client would know that had read everything before: see Event.state. */
  withState?: boolean;
  /**
   * Wait for the file to grow, until the replay is over. The name may then be a directory's: its newest replay, directories
   * inside it not included.
   */
  follow?: boolean;
  /** With follow: when the replay is over, go on with the next one of the same game server. */
  followSuccessors?: boolean;
  /** What makes a replay the next one. Default: proof. */
  successorRule?: SuccessorRule;
  /** Put beside the client ids of a teehistorian's events who the clients are. */
  resolvePlayers?: boolean;
  /** Events in a batch at most. Default 512, with `columns` 16384. */
  maxBatchEvents?: number;
  /** Milliseconds that events may wait for a batch to fill. Default 0. */
  maxBatchDelay?: number;
  /** Milliseconds between heartbeats. Default 15000. After three times as long without a word the stream is resumed. */
  heartbeat?: number;
  /** Let events that are many and alike travel as arrays: see Batch.columns. They are read several times as fast. */
  columns?: boolean;
  /** Make a file that simply stops an error. */
  strict?: boolean;
  /** What happens when the client reads a live replay too slowly. Default: it gets everything all the same. */
  slowConsumer?: SlowConsumer;
  /** How a stream that broke is taken up again. False: not at all. */
  retry?: Retry | false;
  /** Ends the stream with the signal's reason. */
  signal?: AbortSignal;
}

/** A filter of replays: ReplayFilter, or a plain object with some of its fields. */
export type SearchFilter = MessageInitShape<typeof ReplayFilterSchema>;

/** Which replays to list and how. All are optional; see proto/replayd/v1/replay.proto for the details. */
export interface ListOptions {
  /** Only replays of these formats. */
  formats?: readonly Format[];
  /** Only replays that match this filter. */
  filter?: SearchFilter;
  /** Which fields of each replay are set. Default: ReplayView.BASIC. */
  view?: ReplayView;
  /** How many replays to fetch at once. Default 1000, and 100 with a view that reads the replays. */
  pageSize?: number;
}

/** An asynchronous iterator over a stream, with what is known of it. Leaving a `for await` loop ends the stream. */
export class Stream<T> implements AsyncIterableIterator<T> {
  /** What is left of the last response, and the cursor behind it. */
  private items: Iterator<T> = [][Symbol.iterator]();
  private behind: Uint8Array = new Uint8Array();
  private position: Uint8Array = new Uint8Array();
  /** The last call of fetch, while it runs. */
  private fetching: Promise<IteratorResult<T, void>> | undefined;

  /** @internal */
  constructor(
    private readonly session: Session,
    private readonly responses: AsyncGenerator<StreamEventsResponse, void, undefined>,
    private readonly itemsOf: (response: StreamEventsResponse) => Iterable<T>,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Of what has come an item is there at once: a generator would take several times as long for each. */
  next(): Promise<IteratorResult<T, void>> {
    if (!this.fetching) {
      const item = this.items.next();
      if (!item.done) return Promise.resolve(item);
    }
    const fetching = this.fetch(this.fetching).finally(() => {
      if (this.fetching === fetching) this.fetching = undefined;
    });
    return (this.fetching = fetching);
  }

  private async fetch(before?: Promise<unknown>): Promise<IteratorResult<T, void>> {
    await before?.catch(() => {}); // whoever asked first was told
    for (;;) {
      const item = this.items.next();
      if (!item.done) return item;
      this.position = this.behind;
      const response = await this.responses.next();
      if (response.done) return response;
      if (response.value.cursor.length > 0) this.behind = response.value.cursor;
      try {
        this.items = this.itemsOf(response.value)[Symbol.iterator]();
      } catch (thrown) {
        await this.responses.return();
        throw thrown;
      }
    }
  }

  async return(): Promise<IteratorResult<T, void>> {
    this.items = [][Symbol.iterator]();
    this.behind = this.position;
    await this.responses.return();
    return { done: true, value: undefined };
  }

  /** Where to go on behind the last batch of which all events were taken. Empty before there is one. */
  get cursor(): Uint8Array {
    return this.position;
  }

  /** What is streamed, from where; once the first item came. */
  get start(): StreamStart | undefined {
    return this.session.start;
  }

  /** The replay that is streamed at present, with its header. */
  get replay(): Replay | undefined {
    return this.session.replay;
  }

  /** How a stream that follows stands to the live replay. */
  get state(): FollowState {
    return this.session.state;
  }

  /** How the stream ended, once it has. */
  get end(): StreamEnd | undefined {
    return this.session.end;
  }

  /** How many events gaps have left out. Always 0 but with SlowConsumer.DROP. */
  get missed(): number {
    return this.session.missed;
  }

  /** How often the stream was taken up again. */
  get reconnects(): number {
    return this.session.reconnects;
  }
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

  /** Streams everything that the daemon says: start, states, batches, heartbeats, what becomes of the replay, gaps, end. */
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
      const connection = new AbortController();
      const stop = () => connection.abort(signal?.reason);
      signal?.addEventListener("abort", stop);
      const watchdog = new Watchdog(session.silence, connection);
      let failure: ReplaydError;
      session.called();
      try {
        const responses = this.stubs.streamEvents(session.request, { signal: connection.signal });
        for await (const response of watchdog.watch(responses)) {
          if (session.observe(response)) yield response;
        }
        failure = new ReplaydError(Code.Unavailable, "the stream stopped without an end");
      } catch (thrown) {
        signal?.throwIfAborted();
        if (thrown instanceof Error && thrown.name === "SequenceError") throw thrown;
        failure = watchdog.barked
          ? new ReplaydError(Code.Unavailable, `not a word for ${session.silence} ms`)
          : ReplaydError.from(thrown);
      } finally {
        watchdog.stop();
        signal?.removeEventListener("abort", stop);
        connection.abort();
      }
      if (!session.end) await sleep(session.delay(failure), signal);
    }
  }

  /** @internal Sends a file's bytes and receives its events; browsers cannot. */
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
   * Lists the replays below a directory, ordered by name, and fetches page after page. Without a directory it lists all.
   */
  async *replays(directory = "", options: ListOptions = {}): AsyncGenerator<Replay, void, undefined> {
    const request = listRequest(directory, options);
    do {
      const page = await told(this.stubs.listReplays(request));
      yield* page.replays;
      request.pageToken = page.nextPageToken;
    } while (request.pageToken);
  }

  /** Describes a replay: header, players, map, length. */
  async replay(name: string): Promise<Replay> {
    return (await told(this.stubs.getReplay({ replay: name }))).replay!;
  }

  /** What the daemon is and can do: version, formats and their kinds, limits, roots. */
  serverInfo(): Promise<GetServerInfoResponse> {
    return told(this.stubs.getServerInfo({}));
  }

  /**
   * Tells which replays are there, then what becomes of them. Not resumed: start it again, it begins with a new picture.
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

/** A replay's bytes: all of them, or as they come. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array>;

const chunk = 64 << 10;

/** An upload, as it is sent. */
class Upload {
  /** What the source threw, once it has: the transport makes an error of the call of it. */
  failure: { thrown: unknown } | undefined;
  private readonly pieces: AsyncGenerator<Uint8Array, void, undefined>;

  constructor(
    source: Bytes,
    private readonly session: Session,
  ) {
    this.pieces = this.read(source);
  }

  /** First what is wanted, then the bytes. */
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

  /** Has the source close what it has open: a transport that was stopped asks for nothing more, and says nothing either. */
  stop(): void {
    this.pieces.return().catch(() => {}); // it is left; what it has to say concerns nobody
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

/** What StreamOptions lists, at run time. */
const optionNames: Record<keyof StreamOptions, true> = {
  kinds: true,
  players: true,
  teams: true,
  classes: true,
  fields: true,
  groups: true,
  layers: true,
  include: true,
  exclude: true,
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
  columns: true,
  strict: true,
  slowConsumer: true,
  retry: true,
  signal: true,
};

/**
 * Throws at names that are not known: a misspelt option would be ignored, and everything be streamed. Those of generated
 * messages' own, such as $typeName, pass.
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

/** The filter that options are short for. */
function shortFilter(options: StreamOptions): EventFilter | undefined {
  const { kinds = [], players = [], teams = [], classes = [], fields = [], groups = [], layers = [] } = options;
  const filter = create(EventFilterSchema, { kinds: [...kinds], players: [...players], teams: [...teams] });
  if (classes.length + fields.length > 0) filter.dem = create(DemFilterSchema, { classes: [...classes], fields: [...fields] });
  if (groups.length + layers.length > 0) filter.datafile = create(DatafileFilterSchema, { groups: [...groups], layers: [...layers] });
  return filter.dem || filter.datafile || kinds.length + players.length + teams.length > 0 ? filter : undefined;
}

const listOptionNames: Record<keyof ListOptions, true> = { formats: true, filter: true, view: true, pageSize: true };

/** The request for a list that the options describe. */
function listRequest(directory: string, options: ListOptions): ListReplaysRequest {
  checkNames("option", options, listOptionNames);
  const { formats = [], filter, view = ReplayView.UNSPECIFIED } = options;
  checkNames("field of a filter of replays", filter ?? {}, ReplayFilterSchema.field);
  const basic = view === ReplayView.UNSPECIFIED || view === ReplayView.BASIC;
  return create(ListReplaysRequestSchema, {
    directory,
    formats: [...formats],
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
    maxBatchEvents: options.maxBatchEvents ?? (options.columns ? 16384 : 0), // arrays are worth more when they are long
    encoding: options.columns ? Encoding.COLUMNS : Encoding.UNSPECIFIED,
    strict: options.strict ?? false,
    slowConsumer: options.slowConsumer ?? 0,
    include: filters(options.include),
    exclude: filters(options.exclude),
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

/** Aborts a call that is waited for too long. It looks only while somebody waits: a slow reader is no dead line. */
class Watchdog {
  barked = false;
  private waitingSince: number | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly silence: number,
    private readonly connection: AbortController,
  ) {}

  /**
   * The call's responses. Waiting is limited from the first one on: until then the daemon may be seeking, or there may
   * be nothing to follow yet.
   */
  async *watch<T>(responses: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    const iterator = responses[Symbol.asyncIterator]();
    for (;;) {
      const { value, done } = await iterator.next();
      this.waitingSince = undefined;
      if (done) return;
      this.timer ??= setInterval(() => this.look(), this.silence / 6);
      yield value;
      this.waitingSince = performance.now();
    }
  }

  private look(): void {
    if (this.waitingSince === undefined || performance.now() - this.waitingSince < this.silence) return;
    this.barked = true;
    this.stop();
    this.connection.abort();
  }

  stop(): void {
    clearInterval(this.timer);
  }
}

/** Sends a token with every call. */
export function bearer(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("Authorization", `Bearer ${token}`);
    return next(request);
  };
}

async function told<T>(call: Promise<T>): Promise<T> {
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
