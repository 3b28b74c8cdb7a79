import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Replay } from "../gen/replayd/v1/replay_pb.js";
import { FollowState, type StreamEnd, type StreamEventsRequest, type StreamEventsResponse, type StreamStart, type Table } from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError } from "./error.js";
/**
 * How an interrupted stream is resumed. A stream that has not begun is retried only if it follows. Other streams throw the
 * error, which may for example be a wrong address.
 */
export interface Retry {
    /**
     * The delay before the first attempt, in ms. It doubles with each attempt, minus a random part of up to half. If the daemon
     * asks for a delay (ReplaydError.retryAfterMs), the delay is at least that. Default 100.
     */
    initial?: number;
    /** The longest delay between two attempts, in ms, even if the daemon asks for a longer one. Default 5000. */
    maximum?: number;
    /** How long to try without success, in ms. After that, the last error is thrown. Default 600000. */
    giveUpAfter?: number;
    /** Called before each attempt, with the error and the delay in ms. */
    onRetry?: (error: ReplaydError, delay: number) => void;
}
/** The number of missed heartbeats after which a connection is considered dead. */
export declare const silentHeartbeats = 3;
/** A duration in ms, 0 without one. */
export declare function milliseconds(duration?: Duration): number;
/** Milliseconds without a response after which a connection is considered dead. */
export declare function silenceOf({ heartbeatInterval: asked }: {
    heartbeatInterval?: Duration | undefined;
}): number;
/** Adds the schema to each table. The daemon sends it only with the first of a kind. */
export declare function addSchemas(tables: Table[], schemas: Map<string, Uint8Array>): void;
/** The calls of one stream, of which each may fail. */
export declare class Attempts {
    readonly retry: Retry | false;
    private failures;
    private failingSince;
    private calledAt;
    constructor(retry: Retry | false);
    /** Records the time when a call begins. */
    called(): void;
    /** Records that the stream goes on. */
    succeeded(): void;
    /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
    delay(error: ReplaydError, begun: boolean): number;
}
/** One stream over any number of connections. */
export declare class Session {
    readonly request: StreamEventsRequest;
    readonly silence: number;
    start: StreamStart | undefined;
    replay: Replay | undefined;
    end: StreamEnd | undefined;
    state: FollowState;
    missed: number;
    reconnects: number;
    private expected;
    private readonly schemas;
    /** The state at the current position was not yielded completely yet. */
    private stateDue;
    private readonly attempts;
    constructor(request: StreamEventsRequest, retry: Retry | false);
    /** Records the time when a call begins. */
    called(): void;
    /** Updates the stream with a response. Returns false if it concerns only the connection and must not be yielded. */
    observe({ cursor, response }: StreamEventsResponse): boolean;
    private started;
    private advance;
    /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
    delay(error: ReplaydError): number;
}
