import { Code } from "@connectrpc/connect";
/** A call failed. */
export declare class ReplaydError extends Error {
    readonly name = "ReplaydError";
    /** The gRPC status code. */
    readonly code: Code;
    /**
     * A name of ErrorReason (proto/replayd/v1/error.proto) without its prefix, such as "REPLAY_NOT_FOUND". Empty if the error
     * does not come from the daemon.
     */
    readonly reason: string;
    /** May hold "replay", "format", "offset", "tick" and "incident". */
    readonly metadata: Readonly<Record<string, string>>;
    /** The invalid fields of the request, with descriptions of the problem. */
    readonly fields: Readonly<Record<string, string>>;
    /** For a failed stream: the cursor after the last event that was sent. Empty if no event was sent. */
    readonly cursor: Uint8Array;
    /** How many milliseconds the daemon asks the client to wait before retrying. Undefined if it does not ask. */
    readonly retryAfterMs: number | undefined;
    constructor(code: Code, message: string, more?: {
        reason?: string;
        metadata?: Record<string, string>;
        fields?: Record<string, string>;
        cursor?: Uint8Array;
        retryAfterMs?: number | undefined;
        cause?: unknown;
    });
    /**
     * Whether the same call may succeed later: the daemon cannot be reached, restarts, or has no room at the moment. Streams that have begun
     * are resumed after such an error, unless `retry` forbids it.
     */
    get transient(): boolean;
    /** Converts an exception of a transport to a ReplaydError. */
    static from(thrown: unknown): ReplaydError;
}
/** Events are missing or repeated. This indicates a bug. */
export declare class SequenceError extends Error {
    readonly name = "SequenceError";
}
