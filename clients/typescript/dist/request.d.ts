import { type MessageInitShape } from "@bufbuild/protobuf";
import { EventFilterSchema } from "../gen/replayd/v1/filter_pb.js";
import { type Format, type ListReplaysRequest, ReplayFilterSchema, ReplayOrder, ReplayView } from "../gen/replayd/v1/replay_pb.js";
import { type WatchStateRequest } from "../gen/replayd/v1/state_pb.js";
import { type WatchReplaysRequest } from "../gen/replayd/v1/watch_pb.js";
import { type SlowConsumer, type StreamEventsRequest, SuccessorRule } from "../gen/replayd/v1/stream_pb.js";
import { type SubscribeEventsRequest } from "../gen/replayd/v1/subscribe_pb.js";
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
export interface SubscribeOptions extends Omit<StreamOptions, "cursor" | "tick" | "last" | "now" | "follow" | "followSuccessors" | "successorRule" | "fieldColumns"> {
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
/** The request for a list that the options describe. */
export declare function listRequest(directory: string, options: ListOptions): ListReplaysRequest;
/** The request that the options describe. */
export declare function build(replay: string, options: StreamOptions): StreamEventsRequest;
/** The request for a subscription that the options describe. */
export declare function subscribeRequest(directory: string, options: SubscribeOptions): SubscribeEventsRequest;
/** The request for a watch of replays that the options describe. */
export declare function watchRequest(directory: string, options: WatchOptions): WatchReplaysRequest;
/** The request for a watch of states that the options describe. */
export declare function watchStateRequest(directory: string, options: WatchStateOptions): WatchStateRequest;
