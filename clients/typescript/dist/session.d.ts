import type { Replay } from "../gen/replayd/v1/replay_pb.js";
import { FollowState, type StreamEnd, type StreamEventsRequest, type StreamEventsResponse, type StreamStart } from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError } from "./error.js";
/**
 * How a stream that broke is taken up again. A stream that never started is retried only when it follows: for others the
 * error tells what is wrong, such as a wrong address.
 */
export interface Retry {
    /** Milliseconds before the first try. Doubles with each try; up to half of it is left out at random. Default 100. */
    initial?: number;
    /** Milliseconds between two tries at most. Default 5000. */
    maximum?: number;
    /** Milliseconds without any success after which the last error is thrown. Default 600000. */
    giveUpAfter?: number;
    /** Is told before each try why there is one, and in how many milliseconds. */
    onRetry?: (error: ReplaydError, delay: number) => void;
}
/** One stream over as many connections as it takes. */
export declare class Session {
    private readonly retry;
    readonly request: StreamEventsRequest;
    /** Milliseconds without a word after which a connection is taken for dead. */
    readonly silence: number;
    start: StreamStart | undefined;
    replay: Replay | undefined;
    end: StreamEnd | undefined;
    state: FollowState;
    missed: number;
    reconnects: number;
    private expected;
    /** No state has been handed over yet for the place where the stream is. */
    private stateDue;
    private failures;
    private failingSince;
    private calledAt;
    constructor(request: StreamEventsRequest, retry: Retry | false);
    /** Takes note that a connection is tried. */
    called(): void;
    /** Takes note of a response. False: it concerns the connection only, and is not to be handed over. */
    observe({ cursor, response }: StreamEventsResponse): boolean;
    private started;
    private advance;
    /** Milliseconds to wait before the next connection. Throws the error when there is no point in one. */
    delay(error: ReplaydError): number;
}
