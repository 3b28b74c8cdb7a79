import { type Interceptor, type Transport } from "@connectrpc/connect";
import type { GetServerInfoResponse } from "../gen/replayd/v1/info_pb.js";
import { type ListReplaysResponse, type Participant, type Replay } from "../gen/replayd/v1/replay_pb.js";
import type { Report } from "../gen/replayd/v1/report_pb.js";
import { type StreamEventsResponse } from "../gen/replayd/v1/stream_pb.js";
import type { ReplayChange } from "../gen/replayd/v1/watch_pb.js";
import { Batch, type Event } from "./event.js";
import { type ListOptions, type StreamOptions, type SubscribeOptions, type WatchOptions, type WatchStateOptions } from "./request.js";
import { Session } from "./session.js";
import { type States } from "./states.js";
import { Stream } from "./stream.js";
import { type Subscribed } from "./subscription.js";
/** A client of one daemon. */
export declare class Client {
    private readonly onClose;
    private readonly stubs;
    constructor(transport: Transport, onClose?: () => void);
    /** Closes the connection. Streams end. */
    close(): void;
    /** Streams the events of a replay, one by one. */
    events(replay: string, options?: StreamOptions): Stream<Event>;
    /** Streams the events of a replay, batch by batch: the fastest way. */
    batches(replay: string, options?: StreamOptions): Stream<Batch>;
    /** Streams all responses of the daemon: start, states, batches, heartbeats, follow statuses, gaps, end. */
    responses(replay: string, options?: StreamOptions): Stream<StreamEventsResponse>;
    private open;
    private receive;
    /**
     * Streams the events of all replays below a directory, or of all roots: of those that are over, live ones, and those to come.
     *
     * It goes on for ever, and yields each response. When the daemon restarts or the connection breaks, it continues after the last one;
     * `retry` says how. With `token`, a later call continues where another one was.
     */
    subscribe(directory?: string, options?: SubscribeOptions): AsyncGenerator<Subscribed, void, undefined>;
    /**
     * Yields the latest states of the live games below a directory, or of all roots, after each response: the same States, which the next
     * response changes. `players` has the players of one.
     *
     * It goes on for ever. When the daemon restarts or the connection breaks, the games have other numbers; `retry` says how it calls
     * again. States between two responses are left out, so whoever is slow misses some.
     */
    watchState(directory?: string, options?: WatchStateOptions): AsyncGenerator<States, void, undefined>;
    /**
     * Notes that the events of a named subscription were processed, up to the response with a token. A later `subscribe` without a token goes
     * on behind it.
     */
    acknowledge(subscription: string, token: Uint8Array): Promise<void>;
    /** Removes a named subscription. A call that runs under its name ends. */
    deleteSubscription(subscription: string): Promise<void>;
    /** @internal Sends a file's bytes and receives its events. Browsers do not support this. */
    protected upload(source: Bytes, name: string, options: StreamOptions): {
        session: Session;
        responses: AsyncGenerator<StreamEventsResponse, void, undefined>;
    };
    private uploaded;
    /**
     * Lists the replays below a directory, ordered by name if no order is given. It fetches further pages as needed. Without a directory it lists all
     * replays.
     */
    replays(directory?: string, options?: ListOptions): AsyncGenerator<Replay, void, undefined>;
    /** Lists replays page by page, each with how many the daemon has looked at, and how many match. Each page is fetched when it is asked for. */
    pages(directory?: string, options?: ListOptions): AsyncGenerator<ListReplaysResponse, void, undefined>;
    /** Returns a replay's header, players, map and length. */
    replay(name: string): Promise<Replay>;
    /** Has the daemon follow the HTTP broadcast of a running match, once for each URL, and returns the name under which to stream it with follow. */
    followBroadcast(url: string): Promise<string>;
    /** Returns who took part in a game, where, and how it stood after a tick, or how it stands or ended now without one. */
    report(name: string, tick?: number): Promise<Report>;
    /**
     * Returns everybody who took part in a teehistorian file, in the order in which they connected. The list is empty while the daemon has
     * not decoded the file yet.
     */
    participants(name: string): Promise<Participant[]>;
    /** Returns the daemon's version, formats with their kinds, limits and roots. */
    serverInfo(): Promise<GetServerInfoResponse>;
    /**
     * Streams the existing replays, and then each change. It is not resumed. A new call begins with the replays that exist then. The second argument
     * has options, or is the signal that ends the watch.
     */
    watch(directory?: string, options?: WatchOptions | AbortSignal): AsyncGenerator<ReplayChange, void, undefined>;
}
/** The bytes of a replay, as one array or as an iterable of parts. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array>;
/** @internal */
export declare function batchesOf(response: StreamEventsResponse): Iterable<Batch>;
/** @internal */
export declare function eventsOf(response: StreamEventsResponse): Iterable<Event>;
/** Sends a token with every call. */
export declare function bearer(token: string): Interceptor;
