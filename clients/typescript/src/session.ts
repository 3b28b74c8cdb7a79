// What a stream that resumes itself has to remember. No input or output.

import { clone, create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Replay } from "../gen/replayd/v1/replay_pb.js";
import {
  EndReason,
  FollowState,
  StartSchema,
  type StreamEnd,
  type StreamEventsRequest,
  StreamEventsRequestSchema,
  type StreamEventsResponse,
  type StreamStart,
} from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError, SequenceError } from "./error.js";

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

const defaultHeartbeat = 15_000;
const minHeartbeat = 1_000;
const maxHeartbeat = 300_000;
/** After so many heartbeats without a word a connection is taken for dead. */
const silentHeartbeats = 3;
/** A connection that held so many milliseconds was one, even if nothing came: there was nothing to follow yet, say. */
const lasting = 60_000;

/** One stream over as many connections as it takes. */
export class Session {
  readonly request: StreamEventsRequest;
  /** Milliseconds without a word after which a connection is taken for dead. */
  readonly silence: number;
  start: StreamStart | undefined;
  replay: Replay | undefined;
  end: StreamEnd | undefined;
  state = FollowState.UNSPECIFIED;
  missed = 0;
  reconnects = 0;
  private expected = 0n;
  /** No state has been handed over yet for the place where the stream is. */
  private stateDue = true;
  private failures = 0;
  private failingSince: number | undefined;
  private calledAt = 0;

  constructor(
    request: StreamEventsRequest,
    private readonly retry: Retry | false,
  ) {
    this.request = clone(StreamEventsRequestSchema, request);
    const asked = request.heartbeatInterval;
    const heartbeat = asked ? Number(asked.seconds) * 1e3 + asked.nanos / 1e6 : 0;
    this.silence = silentHeartbeats * Math.min(Math.max(heartbeat || defaultHeartbeat, minHeartbeat), maxHeartbeat);
  }

  /** Takes note that a connection is tried. */
  called(): void {
    this.calledAt = performance.now();
  }

  /** Takes note of a response. False: it concerns the connection only, and is not to be handed over. */
  observe({ cursor, response }: StreamEventsResponse): boolean {
    if (response.case === "start") return this.started(response.value);
    // Whether a state is wanted stays as it was: behind a gap there is another one.
    if (cursor.length > 0) {
      const withState = this.request.start?.withState ?? false;
      this.request.start = create(StartSchema, { at: { case: "cursor", value: cursor }, withState });
    }
    if (response.case === "end" && response.value.reason === EndReason.SERVER_DRAINING && this.retry) return false;
    this.failures = 0;
    this.failingSince = undefined;
    switch (response.case) {
      case "state": {
        // A stream that is taken up again begins with a state, as the request says: whoever has read so far knows it.
        const told = this.stateDue;
        this.stateDue = told && !response.value.complete;
        return told;
      }
      case "batch":
        this.advance(response.value.firstSequence, response.value.nextSequence);
        break;
      case "gap":
        this.advance(response.value.firstSequence, response.value.nextSequence);
        this.missed += Number(response.value.nextSequence - response.value.firstSequence);
        this.stateDue = true;
        break;
      case "followStatus":
        this.state = response.value.state;
        if (response.value.successor) {
          this.replay = response.value.successor;
          this.request.replay = this.replay.name;
          this.stateDue = true;
        }
        break;
      case "end":
        this.end = response.value;
    }
    return true;
  }

  private started(start: StreamStart): boolean {
    const again = this.start !== undefined;
    if (again && this.request.start?.at.case === "cursor" && start.nextSequence !== this.expected) {
      throw new SequenceError(`resumed at event ${start.nextSequence} instead of ${this.expected}`);
    }
    this.expected = start.nextSequence;
    this.start = start;
    this.replay = start.replay;
    // A directory may have a newer replay when the stream is resumed.
    if (start.replay) this.request.replay = start.replay.name;
    return !again;
  }

  private advance(first: bigint, next: bigint): void {
    if (first !== this.expected) throw new SequenceError(`event ${first} came where ${this.expected} was due`);
    this.expected = next;
  }

  /** Milliseconds to wait before the next connection. Throws the error when there is no point in one. */
  delay(error: ReplaydError): number {
    const begun = this.start !== undefined || this.request.follow;
    if (!this.retry || !begun || !transient(error)) throw error;
    const { initial = 100, maximum = 5_000, giveUpAfter = 600_000, onRetry } = this.retry;
    const now = performance.now();
    if (now - this.calledAt > lasting) {
      this.failures = 0; // it was a success, though there was nothing to tell
      this.failingSince = undefined;
    }
    this.failingSince ??= now;
    if (now - this.failingSince > giveUpAfter) throw error;
    const longest = Math.min(initial * 2 ** Math.min(this.failures++, 30), maximum);
    this.reconnects++;
    const delay = longest * (0.5 + Math.random() / 2);
    onRetry?.(error, delay);
    return delay;
  }
}

/** What a connection that was cut looks like, depending on where. A message cut in two is an "invalid argument". */
const broken = new Set([
  Code.Unavailable,
  Code.Aborted,
  Code.Canceled,
  Code.Internal,
  Code.InvalidArgument,
  Code.Unknown,
]);

function transient(error: ReplaydError): boolean {
  if (error.reason) return error.code === Code.Unavailable || error.reason === "TOO_MANY_STREAMS"; // the daemon's word
  return broken.has(error.code);
}
