import { type MessageInitShape } from "@bufbuild/protobuf";
import { type Interceptor, type Transport } from "@connectrpc/connect";
import { EventFilterSchema } from "../gen/replayd/v1/filter_pb.js";
import type { GetServerInfoResponse } from "../gen/replayd/v1/info_pb.js";
import { type Format, type Replay, ReplayFilterSchema, ReplayView } from "../gen/replayd/v1/replay_pb.js";
import { type FollowState, type SlowConsumer, type StreamEnd, type StreamEventsResponse, type StreamStart, SuccessorRule } from "../gen/replayd/v1/stream_pb.js";
import type { ReplayChange } from "../gen/replayd/v1/watch_pb.js";
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
export declare class Stream<T> implements AsyncIterableIterator<T> {
    private readonly session;
    private readonly responses;
    private readonly itemsOf;
    /** What is left of the last response, and the cursor behind it. */
    private items;
    private behind;
    private position;
    /** The last call of fetch, while it runs. */
    private fetching;
    /** @internal */
    constructor(session: Session, responses: AsyncGenerator<StreamEventsResponse, void, undefined>, itemsOf: (response: StreamEventsResponse) => Iterable<T>);
    [Symbol.asyncIterator](): this;
    /** Of what has come an item is there at once: a generator would take several times as long for each. */
    next(): Promise<IteratorResult<T, void>>;
    private fetch;
    return(): Promise<IteratorResult<T, void>>;
    /** Where to go on behind the last batch of which all events were taken. Empty before there is one. */
    get cursor(): Uint8Array;
    /** What is streamed, from where; once the first item came. */
    get start(): StreamStart | undefined;
    /** The replay that is streamed at present, with its header. */
    get replay(): Replay | undefined;
    /** How a stream that follows stands to the live replay. */
    get state(): FollowState;
    /** How the stream ended, once it has. */
    get end(): StreamEnd | undefined;
    /** How many events gaps have left out. Always 0 but with SlowConsumer.DROP. */
    get missed(): number;
    /** How often the stream was taken up again. */
    get reconnects(): number;
}
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
    /** Streams everything that the daemon says: start, states, batches, heartbeats, what becomes of the replay, gaps, end. */
    responses(replay: string, options?: StreamOptions): Stream<StreamEventsResponse>;
    private open;
    private receive;
    /** @internal Sends a file's bytes and receives its events; browsers cannot. */
    protected upload(source: Bytes, name: string, options: StreamOptions): {
        session: Session;
        responses: AsyncGenerator<StreamEventsResponse, void, undefined>;
    };
    private uploaded;
    /**
     * Lists the replays below a directory, ordered by name, and fetches page after page. Without a directory it lists all.
     */
    replays(directory?: string, options?: ListOptions): AsyncGenerator<Replay, void, undefined>;
    /** Describes a replay: header, players, map, length. */
    replay(name: string): Promise<Replay>;
    /** What the daemon is and can do: version, formats and their kinds, limits, roots. */
    serverInfo(): Promise<GetServerInfoResponse>;
    /**
     * Tells which replays are there, then what becomes of them. Not resumed: start it again, it begins with a new picture.
     */
    watch(directory?: string, signal?: AbortSignal): AsyncGenerator<ReplayChange, void, undefined>;
}
/** A replay's bytes: all of them, or as they come. */
export type Bytes = Uint8Array | AsyncIterable<Uint8Array>;
/** @internal */
export declare function batchesOf(response: StreamEventsResponse): Iterable<Batch>;
/** @internal */
export declare function eventsOf(response: StreamEventsResponse): Iterable<Event>;
/** Sends a token with every call. */
export declare function bearer(token: string): Interceptor;
