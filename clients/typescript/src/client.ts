// The client, over any transport.

import { create } from "@bufbuild/protobuf";
import { type Client as Stubs, Code, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import type { GetServerInfoResponse } from "../gen/replayd/v1/info_pb.js";
import { type ListReplaysResponse, type Participant, type Replay, ReplayView } from "../gen/replayd/v1/replay_pb.js";
import type { Report } from "../gen/replayd/v1/report_pb.js";
import { ReplayService } from "../gen/replayd/v1/service_pb.js";
import { type DecodeReplayRequest, DecodeReplayRequestSchema, EndReason, type StreamEventsResponse } from "../gen/replayd/v1/stream_pb.js";
import type { ReplayChange } from "../gen/replayd/v1/watch_pb.js";
import { ReplaydError } from "./error.js";
import { Batch, type Event } from "./event.js";
import {
  build,
  type ListOptions,
  listRequest,
  type StreamOptions,
  type SubscribeOptions,
  subscribeRequest,
  type WatchOptions,
  watchRequest,
  type WatchStateOptions,
  watchStateRequest,
} from "./request.js";
import { Session, silenceOf } from "./session.js";
import { type States, Watched } from "./states.js";
import { Stream } from "./stream.js";
import { type Subscribed, Subscription } from "./subscription.js";
import { Watchdog } from "./watchdog.js";

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
    for await (const { replays } of this.pages(directory, options)) yield* replays;
  }

  /** Lists replays page by page, each with how many the daemon has looked at, and how many match. Each page is fetched when it is asked for. */
  async *pages(directory = "", options: ListOptions = {}): AsyncGenerator<ListReplaysResponse, void, undefined> {
    const request = listRequest(directory, options);
    do {
      const page = await explained(this.stubs.listReplays(request, { ...(options.signal && { signal: options.signal }) }));
      yield page;
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
   * Streams the existing replays, and then each change. It is not resumed. A new call begins with the replays that exist then. The second argument
   * has options, or is the signal that ends the watch.
   */
  async *watch(directory = "", options: WatchOptions | AbortSignal = {}): AsyncGenerator<ReplayChange, void, undefined> {
    const given = options instanceof AbortSignal ? { signal: options } : options;
    const request = watchRequest(directory, given);
    for await (const { changes, initialDone } of connected((signal) => this.stubs.watchReplays(request, { signal }), silenceOf(request), given.signal)) {
      yield* changes;
      if (initialDone) given.onReady?.();
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
  signal?.throwIfAborted();
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
