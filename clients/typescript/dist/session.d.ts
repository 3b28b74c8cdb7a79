import type { Replay } from "../gen/replayd/v1/replay_pb.js";
import { FollowState, type StreamEnd, type StreamEventsRequest, type StreamEventsResponse, type StreamStart } from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError } from "./error.js";
/**
 * How a stream that broke is resumed. A stream that never began is retried only when it follows: for others the error says
 * what is wrong, such as the address.
 */
export interface Retry {
    /** The wait before the first try, in ms. It doubles with each try; up to half of it is left out at random. Default 100. */
    initial?: number;
    /** The longest wait between two tries, in ms. Default 5000. */
    maximum?: number;
    /** How long to try without success, in ms; then the last error is thrown. Default 600000. */
    giveUpAfter?: number;
    /** Called before each try, with the reason and the wait in ms. */
    onRetry?: (error: ReplaydError, delay: number) => void;
}
/** One stream over as many connections as it takes. */
export declare class Session {
    private readonly retry;
    readonly request: StreamEventsRequest;
    /** Milliseconds without a response after which a connection is taken for dead. */
    readonly silence: number;
    start: StreamStart | undefined;
    replay: Replay | undefined;
    end: StreamEnd | undefined;
    state: FollowState;
    missed: number;
    reconnects: number;
    private expected;
    /** The state at the place where the stream is was not handed out yet. */
    private stateDue;
    private failures;
    private failingSince;
    private calledAt;
    constructor(request: StreamEventsRequest, retry: Retry | false);
    /** Records the time at which a call begins. */
    called(): void;
    /** Updates the stream by a response. Returns false for one that concerns the connection only, and is not handed out. */
    observe({ cursor, response }: StreamEventsResponse): boolean;
    private started;
    private advance;
    /** Returns how many ms to wait before the next connection, or throws the error when there is to be none. */
    delay(error: ReplaydError): number;
}
