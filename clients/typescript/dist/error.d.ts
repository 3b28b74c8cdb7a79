import { Code } from "@connectrpc/connect";
/** A call failed. */
export declare class ReplaydError extends Error {
    readonly name = "ReplaydError";
    /** The gRPC status code. */
    readonly code: Code;
    /**
     * A name of ErrorReason (proto/replayd/v1/error.proto) without its prefix, such as "REPLAY_NOT_FOUND". Empty when the
     * failure was not the daemon's own.
     */
    readonly reason: string;
    /** May hold "replay", "format", "offset", "tick" and "incident". */
    readonly metadata: Readonly<Record<string, string>>;
    /** Names of request fields, and what is wrong with them. */
    readonly fields: Readonly<Record<string, string>>;
    /** Of a stream that failed: the cursor behind the last event that was sent. Empty when no event was sent. */
    readonly cursor: Uint8Array;
    /** How many milliseconds the daemon asks to wait before the next try; undefined where it asks nothing. */
    readonly retryAfterMs: number | undefined;
    constructor(code: Code, message: string, more?: {
        reason?: string;
        metadata?: Record<string, string>;
        fields?: Record<string, string>;
        cursor?: Uint8Array;
        retryAfterMs?: number | undefined;
        cause?: unknown;
    });
    /** Turns what a transport throws into a ReplaydError. */
    static from(thrown: unknown): ReplaydError;
}
/** Events are missing, or came twice. It points to a defect. */
export declare class SequenceError extends Error {
    readonly name = "SequenceError";
}
