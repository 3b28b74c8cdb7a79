// The state of a stream over several connections. It does no input or output.
import { clone, create } from "@bufbuild/protobuf";
import { EndReason, FollowState, StartSchema, StreamEventsRequestSchema, } from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError, SequenceError } from "./error.js";
const defaultHeartbeat = 15_000;
const minHeartbeat = 1_000;
const maxHeartbeat = 300_000;
/** The number of missed heartbeats after which a connection is considered dead. */
export const silentHeartbeats = 3;
/** A connection that lasts this many ms resets the count of failures. The daemon may have had no replay to follow yet. */
const lasting = 60_000;
/** A duration in ms, 0 without one. */
export function milliseconds(duration) {
    return duration ? Number(duration.seconds) * 1e3 + duration.nanos / 1e6 : 0;
}
/** Milliseconds without a response after which a connection is considered dead. */
export function silenceOf({ heartbeatInterval: asked }) {
    return silentHeartbeats * Math.min(Math.max(milliseconds(asked) || defaultHeartbeat, minHeartbeat), maxHeartbeat);
}
/** Adds the schema to each table. The daemon sends it only with the first of a kind. */
export function addSchemas(tables, schemas) {
    for (const table of tables) {
        if (table.schema.length > 0)
            schemas.set(table.kind, table.schema);
        else
            table.schema = schemas.get(table.kind);
    }
}
/** The calls of one stream, of which each may fail. */
export class Attempts {
    retry;
    failures = 0;
    failingSince;
    calledAt = 0;
    constructor(retry) {
        this.retry = retry;
    }
    /** Records the time when a call begins. */
    called() {
        this.calledAt = performance.now();
    }
    /** Records that the stream goes on. */
    succeeded() {
        this.failures = 0;
        this.failingSince = undefined;
    }
    /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
    delay(error, begun) {
        if (!this.retry || !begun || !error.transient)
            throw error;
        const { initial = 100, maximum = 5_000, giveUpAfter = 600_000, onRetry } = this.retry;
        const now = performance.now();
        if (now - this.calledAt > lasting)
            this.succeeded();
        this.failingSince ??= now;
        if (now - this.failingSince > giveUpAfter)
            throw error;
        const longest = Math.min(initial * 2 ** Math.min(this.failures++, 30), maximum);
        const delay = Math.max(longest * (0.5 + Math.random() / 2), Math.min(error.retryAfterMs ?? 0, maximum));
        onRetry?.(error, delay);
        return delay;
    }
}
/** One stream over any number of connections. */
export class Session {
    request;
    silence;
    start;
    replay;
    end;
    state = FollowState.UNSPECIFIED;
    missed = 0;
    reconnects = 0;
    expected = 0n;
    schemas = new Map();
    /** The state at the current position was not yielded completely yet. */
    stateDue = true;
    attempts;
    constructor(request, retry) {
        this.request = clone(StreamEventsRequestSchema, request);
        this.silence = silenceOf(request);
        this.attempts = new Attempts(retry);
    }
    /** Records the time when a call begins. */
    called() {
        this.attempts.called();
    }
    /** Updates the stream with a response. Returns false if it concerns only the connection and must not be yielded. */
    observe({ cursor, response }) {
        if (response.case === "start")
            return this.started(response.value);
        // Keep withState, because each gap is followed by another state.
        if (cursor.length > 0) {
            const withState = this.request.start?.withState ?? false;
            this.request.start = create(StartSchema, { at: { case: "cursor", value: cursor }, withState });
        }
        if (response.case === "end" && response.value.reason === EndReason.SERVER_DRAINING && this.attempts.retry)
            return false;
        this.attempts.succeeded();
        if (response.case === "state" || response.case === "batch")
            addSchemas(response.value.tables, this.schemas);
        switch (response.case) {
            case "state": {
                // A resumed stream with withState begins with the state again, which the caller already has.
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
        if (again)
            this.reconnects++;
        this.expected = start.nextSequence;
        this.start = start;
        this.replay = start.replay;
        // If a directory was requested, its newest replay may differ when the stream is resumed.
        if (start.replay)
            this.request.replay = start.replay.name;
        return !again;
    }
    advance(first, next) {
        if (first !== this.expected)
            throw new SequenceError(`event ${first} came where ${this.expected} was due`);
        this.expected = next;
    }
    /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
    delay(error) {
        return this.attempts.delay(error, this.start !== undefined || this.request.follow);
    }
}
