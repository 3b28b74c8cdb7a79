// The state of a stream over several connections. No input or output.
import { clone, create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { EndReason, FollowState, StartSchema, StreamEventsRequestSchema, } from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError, SequenceError } from "./error.js";
const defaultHeartbeat = 15_000;
const minHeartbeat = 1_000;
const maxHeartbeat = 300_000;
/** How many heartbeats may be missed before a connection is taken for dead. */
const silentHeartbeats = 3;
/** A connection that lasts this many ms was a success, also when nothing came: there may have been nothing to follow. */
const lasting = 60_000;
/** One stream over as many connections as it takes. */
export class Session {
    retry;
    request;
    /** Milliseconds without a response after which a connection is taken for dead. */
    silence;
    start;
    replay;
    end;
    state = FollowState.UNSPECIFIED;
    missed = 0;
    reconnects = 0;
    expected = 0n;
    /** The state at the place where the stream is was not handed out yet. */
    stateDue = true;
    failures = 0;
    failingSince;
    calledAt = 0;
    constructor(request, retry) {
        this.retry = retry;
        this.request = clone(StreamEventsRequestSchema, request);
        const asked = request.heartbeatInterval;
        const heartbeat = asked ? Number(asked.seconds) * 1e3 + asked.nanos / 1e6 : 0;
        this.silence = silentHeartbeats * Math.min(Math.max(heartbeat || defaultHeartbeat, minHeartbeat), maxHeartbeat);
    }
    /** Records the time at which a call begins. */
    called() {
        this.calledAt = performance.now();
    }
    /** Updates the stream by a response. Returns false for one that concerns the connection only, and is not handed out. */
    observe({ cursor, response }) {
        if (response.case === "start")
            return this.started(response.value);
        // withState stays as it was: a gap is followed by another state.
        if (cursor.length > 0) {
            const withState = this.request.start?.withState ?? false;
            this.request.start = create(StartSchema, { at: { case: "cursor", value: cursor }, withState });
        }
        if (response.case === "end" && response.value.reason === EndReason.SERVER_DRAINING && this.retry)
            return false;
        this.failures = 0;
        this.failingSince = undefined;
        switch (response.case) {
            case "state": {
                // A resumed stream begins with the state again, as the request says: its reader has it already.
                const due = this.stateDue;
                this.stateDue = due && !response.value.complete;
                return due;
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
    started(start) {
        const again = this.start !== undefined;
        if (again && this.request.start?.at.case === "cursor" && start.nextSequence !== this.expected) {
            throw new SequenceError(`resumed at event ${start.nextSequence} instead of ${this.expected}`);
        }
        this.expected = start.nextSequence;
        this.start = start;
        this.replay = start.replay;
        // A directory may have a newer replay when the stream is resumed.
        if (start.replay)
            this.request.replay = start.replay.name;
        return !again;
    }
    advance(first, next) {
        if (first !== this.expected)
            throw new SequenceError(`event ${first} came where ${this.expected} was due`);
        this.expected = next;
    }
    /** Returns how many ms to wait before the next connection, or throws the error when there is to be none. */
    delay(error) {
        const begun = this.start !== undefined || this.request.follow;
        if (!this.retry || !begun || !transient(error))
            throw error;
        const { initial = 100, maximum = 5_000, giveUpAfter = 600_000, onRetry } = this.retry;
        const now = performance.now();
        if (now - this.calledAt > lasting) {
            this.failures = 0; // it was a success, also when nothing came
            this.failingSince = undefined;
        }
        this.failingSince ??= now;
        if (now - this.failingSince > giveUpAfter)
            throw error;
        const longest = Math.min(initial * 2 ** Math.min(this.failures++, 30), maximum);
        this.reconnects++;
        const delay = longest * (0.5 + Math.random() / 2);
        onRetry?.(error, delay);
        return delay;
    }
}
/** The codes of a connection that was cut, depending on where. A message cut in two is an "invalid argument". */
const broken = new Set([
    Code.Unavailable,
    Code.Aborted,
    Code.Canceled,
    Code.Internal,
    Code.InvalidArgument,
    Code.Unknown,
]);
function transient(error) {
    if (error.reason === "LIMIT_EXCEEDED")
        return error.retryAfterMs !== undefined; // otherwise the replay itself is too large
    if (error.reason)
        return error.code === Code.Unavailable || error.reason === "TOO_MANY_STREAMS"; // the daemon refused the call
    return broken.has(error.code);
}
