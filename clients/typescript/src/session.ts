// The state of a stream over several connections. It does no input or output.

import { clone, create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
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
  type Table,
} from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError, SequenceError } from "./error.js";

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

const defaultHeartbeat = 15_000;
const minHeartbeat = 1_000;
const maxHeartbeat = 300_000;
/** The number of missed heartbeats after which a connection is considered dead. */
export const silentHeartbeats = 3;
/** A connection that lasts this many ms resets the count of failures. The daemon may have had no replay to follow yet. */
const lasting = 60_000;

/** A duration in ms, 0 without one. */
export function milliseconds(duration?: Duration): number {
  return duration ? Number(duration.seconds) * 1e3 + duration.nanos / 1e6 : 0;
}

/** Milliseconds without a response after which a connection is considered dead. */
export function silenceOf({ heartbeatInterval: asked }: { heartbeatInterval?: Duration | undefined }): number {
  return silentHeartbeats * Math.min(Math.max(milliseconds(asked) || defaultHeartbeat, minHeartbeat), maxHeartbeat);
}

/** Adds the schema to each table. The daemon sends it only with the first of a kind. */
export function addSchemas(tables: Table[], schemas: Map<string, Uint8Array>): void {
  for (const table of tables) {
    if (table.schema.length > 0) schemas.set(table.kind, table.schema);
    else table.schema = schemas.get(table.kind)!;
  }
}

/** The calls of one stream, of which each may fail. */
export class Attempts {
  private failures = 0;
  private failingSince: number | undefined;
  private calledAt = 0;

  constructor(readonly retry: Retry | false) {}

  /** Records the time when a call begins. */
  called(): void {
    this.calledAt = performance.now();
  }

  /** Records that the stream goes on. */
  succeeded(): void {
    this.failures = 0;
    this.failingSince = undefined;
  }

  /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
  delay(error: ReplaydError, begun: boolean): number {
    if (!this.retry || !begun || !error.transient) throw error;
    const { initial = 100, maximum = 5_000, giveUpAfter = 600_000, onRetry } = this.retry;
    const now = performance.now();
    if (now - this.calledAt > lasting) this.succeeded();
    this.failingSince ??= now;
    if (now - this.failingSince > giveUpAfter) throw error;
    const longest = Math.min(initial * 2 ** Math.min(this.failures++, 30), maximum);
    const delay = Math.max(longest * (0.5 + Math.random() / 2), Math.min(error.retryAfterMs ?? 0, maximum));
    onRetry?.(error, delay);
    return delay;
  }
}

/** One stream over any number of connections. */
export class Session {
  readonly request: StreamEventsRequest;
  readonly silence: number;
  start: StreamStart | undefined;
  replay: Replay | undefined;
  end: StreamEnd | undefined;
  state = FollowState.UNSPECIFIED;
  missed = 0;
  reconnects = 0;
  private expected = 0n;
  private readonly schemas = new Map<string, Uint8Array>();
  /** The state at the current position was not yielded completely yet. */
  private stateDue = true;
  private readonly attempts: Attempts;

  constructor(request: StreamEventsRequest, retry: Retry | false) {
    this.request = clone(StreamEventsRequestSchema, request);
    this.silence = silenceOf(request);
    this.attempts = new Attempts(retry);
  }

  /** Records the time when a call begins. */
  called(): void {
    this.attempts.called();
  }

  /** Updates the stream with a response. Returns false if it concerns only the connection and must not be yielded. */
  observe({ cursor, response }: StreamEventsResponse): boolean {
    if (response.case === "start") return this.started(response.value);
    // Keep withState, because each gap is followed by another state.
    if (cursor.length > 0) {
      const withState = this.request.start?.withState ?? false;
      this.request.start = create(StartSchema, { at: { case: "cursor", value: cursor }, withState });
    }
    if (response.case === "end" && response.value.reason === EndReason.SERVER_DRAINING && this.attempts.retry) return false;
    this.attempts.succeeded();
    if (response.case === "state" || response.case === "batch") addSchemas(response.value.tables, this.schemas);
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

  private started(start: StreamStart): boolean {
    const again = this.start !== undefined;
    if (again && this.request.start?.at.case === "cursor" && start.nextSequence !== this.expected) {
      throw new SequenceError(`resumed at event ${start.nextSequence} instead of ${this.expected}`);
    }
    if (again) this.reconnects++;
    this.expected = start.nextSequence;
    this.start = start;
    this.replay = start.replay;
    // If a directory was requested, its newest replay may differ when the stream is resumed.
    if (start.replay) this.request.replay = start.replay.name;
    return !again;
  }

  private advance(first: bigint, next: bigint): void {
    if (first !== this.expected) throw new SequenceError(`event ${first} came where ${this.expected} was due`);
    this.expected = next;
  }

  /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
  delay(error: ReplaydError): number {
    return this.attempts.delay(error, this.start !== undefined || this.request.follow);
  }
}
