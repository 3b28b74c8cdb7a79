import type { Replay } from "../gen/replayd/v1/replay_pb.js";
import type { FollowState, StreamEnd, StreamEventsResponse, StreamStart } from "../gen/replayd/v1/stream_pb.js";
import type { Session } from "./session.js";
/** An asynchronous iterator over a stream. Leaving a `for await` loop ends the stream. */
export declare class Stream<T> implements AsyncIterableIterator<T> {
    private readonly session;
    private readonly responses;
    private readonly itemsOf;
    /** The rest of the last response, and the cursor after that response. */
    private items;
    private behind;
    private position;
    /** The last call of fetch, until it is done. */
    private fetching;
    /** @internal */
    constructor(session: Session, responses: AsyncGenerator<StreamEventsResponse, void, undefined>, itemsOf: (response: StreamEventsResponse) => Iterable<T>);
    [Symbol.asyncIterator](): this;
    /** Returns a received item without waiting. A generator would take several times as long for each item. */
    next(): Promise<IteratorResult<T, void>>;
    private fetch;
    return(): Promise<IteratorResult<T, void>>;
    /** Resumes the stream after the last batch whose events were all taken. Empty before the first. */
    get cursor(): Uint8Array;
    /** The daemon's first response, with the replay and the start position. Undefined before the first item. */
    get start(): StreamStart | undefined;
    /** The current replay, with its header. Undefined before the first item. */
    get replay(): Replay | undefined;
    /** The state of a stream that follows: whether it has reached the end of the live replay. */
    get state(): FollowState;
    /** How the stream ended. Undefined before the end. */
    get end(): StreamEnd | undefined;
    /** The number of events that the daemon dropped in gaps. Always 0 without SlowConsumer.DROP. */
    get missed(): number;
    /** How often the stream was resumed. Attempts that failed do not count; see Retry.onRetry for those. */
    get reconnects(): number;
}
