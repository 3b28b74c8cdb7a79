import type { Replay } from "../gen/replayd/v1/replay_pb.js";
import type { StreamEventsResponse } from "../gen/replayd/v1/stream_pb.js";
import type { SubscribeEventsRequest, SubscribeEventsResponse, SubscriptionFailure, SubscriptionHeartbeat } from "../gen/replayd/v1/subscribe_pb.js";
import type { ReplaydError } from "./error.js";
import { Batch, type Event } from "./event.js";
import { type Retry } from "./session.js";
/** A response of a subscription. Iterating it yields its events, of most responses none. */
export declare class Subscribed implements Iterable<Event> {
    /** Describes the replay that the response is of. Undefined for a heartbeat, and for a failure before the replay's start. */
    readonly replay: Replay | undefined;
    /** Resumes the subscription after this response. Store it together with the results of the events. */
    readonly token: Uint8Array;
    /** What Client.responses yields for the replay: a start, a batch, an end. */
    readonly response: StreamEventsResponse | undefined;
    /** The events, or their tables. */
    readonly batch: Batch | undefined;
    /** Why a replay is not streamed; others go on. */
    readonly failure: SubscriptionFailure | undefined;
    /** The progress. */
    readonly heartbeat: SubscriptionHeartbeat | undefined;
    /** @internal */
    constructor({ token, response }: SubscribeEventsResponse, 
    /** Describes the replay that the response is of. Undefined for a heartbeat, and for a failure before the replay's start. */
    replay: Replay | undefined);
    [Symbol.iterator](): Iterator<Event>;
}
/** One subscription over any number of connections. */
export declare class Subscription {
    readonly request: SubscribeEventsRequest;
    readonly silence: number;
    private readonly attempts;
    private readonly replays;
    private readonly schemas;
    constructor(request: SubscribeEventsRequest, retry: Retry | false);
    /** Records that a call begins. Its replays have numbers of their own. */
    called(): void;
    /** Updates the subscription with a response. */
    take(given: SubscribeEventsResponse): Subscribed;
    /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
    delay(error: ReplaydError): number;
}
