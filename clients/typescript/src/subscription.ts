// The state of a subscription over several connections. It does no input or output.

import type { Replay } from "../gen/replayd/v1/replay_pb.js";
import type { StreamEventsResponse } from "../gen/replayd/v1/stream_pb.js";
import type {
  SubscribeEventsRequest,
  SubscribeEventsResponse,
  SubscriptionFailure,
  SubscriptionHeartbeat,
} from "../gen/replayd/v1/subscribe_pb.js";
import type { ReplaydError } from "./error.js";
import { Batch, type Event } from "./event.js";
import { addSchemas, Attempts, type Retry, silenceOf } from "./session.js";

/** A response of a subscription. Iterating it yields its events, of most responses none. */
export class Subscribed implements Iterable<Event> {
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
  constructor(
    { token, response }: SubscribeEventsResponse,
    /** Describes the replay that the response is of. Undefined for a heartbeat, and for a failure before the replay's start. */
    readonly replay: Replay | undefined,
  ) {
    this.token = token;
    if (response.case === "streamed") this.response = response.value;
    if (response.case === "failure") this.failure = response.value;
    if (response.case === "heartbeat") this.heartbeat = response.value;
    const of = this.response?.response.case;
    if (this.response && (of === "batch" || of === "state")) this.batch = new Batch(this.response);
  }

  [Symbol.iterator](): Iterator<Event> {
    return (this.batch ?? [])[Symbol.iterator]();
  }
}

/** One subscription over any number of connections. */
export class Subscription {
  readonly silence: number;
  private readonly attempts: Attempts;
  private readonly replays = new Map<number, Replay>();
  private readonly schemas = new Map<number, Map<string, Uint8Array>>();

  constructor(
    readonly request: SubscribeEventsRequest,
    retry: Retry | false,
  ) {
    this.silence = silenceOf(request.options!);
    this.attempts = new Attempts(retry);
  }

  /** Records that a call begins. Its replays have numbers of their own. */
  called(): void {
    this.attempts.called();
    this.replays.clear();
    this.schemas.clear();
  }

  /** Updates the subscription with a response. */
  take(given: SubscribeEventsResponse): Subscribed {
    this.attempts.succeeded();
    const { replay: number, response } = given;
    const streamed = response.case === "streamed" ? response.value.response : undefined;
    if (streamed?.case === "start") this.replays.set(number, streamed.value.replay!);
    if (streamed?.case === "batch" || streamed?.case === "state") {
      let schemas = this.schemas.get(number);
      if (!schemas) this.schemas.set(number, (schemas = new Map()));
      addSchemas(streamed.value.tables, schemas);
    }
    const taken = new Subscribed(given, this.replays.get(number));
    if (streamed?.case === "end" || (taken.failure && !taken.failure.retried)) {
      this.replays.delete(number);
      this.schemas.delete(number);
    }
    this.request.token = given.token;
    return taken;
  }

  /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
  delay(error: ReplaydError): number {
    return this.attempts.delay(error, true);
  }
}
