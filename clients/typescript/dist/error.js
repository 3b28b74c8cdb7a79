// The errors of the client.
import { fromBinary } from "@bufbuild/protobuf";
import { durationMs, DurationSchema } from "@bufbuild/protobuf/wkt";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { ResumeInfoSchema } from "../gen/replayd/v1/error_pb.js";
const domain = "replayd.dev";
/** A broken connection gives any of these codes, depending on where it broke. A truncated message gives InvalidArgument. */
const broken = new Set([Code.Unavailable, Code.Aborted, Code.Canceled, Code.Internal, Code.InvalidArgument, Code.Unknown]);
/** A call failed. */
export class ReplaydError extends Error {
    name = "ReplaydError";
    /** The gRPC status code. */
    code;
    /**
     * A name of ErrorReason (proto/replayd/v1/error.proto) without its prefix, such as "REPLAY_NOT_FOUND". Empty if the error
     * does not come from the daemon.
     */
    reason;
    /** May hold "replay", "format", "offset", "tick" and "incident". */
    metadata;
    /** The invalid fields of the request, with descriptions of the problem. */
    fields;
    /** For a failed stream: the cursor after the last event that was sent. Empty if no event was sent. */
    cursor;
    /** How many milliseconds the daemon asks the client to wait before retrying. Undefined if it does not ask. */
    retryAfterMs;
    constructor(code, message, more = {}) {
        super(`${more.reason || Code[code]}: ${message}`, { cause: more.cause });
        this.code = code;
        this.reason = more.reason ?? "";
        this.metadata = more.metadata ?? {};
        this.fields = more.fields ?? {};
        this.cursor = more.cursor ?? new Uint8Array();
        this.retryAfterMs = more.retryAfterMs;
    }
    /**
     * Whether the same call may succeed later: the daemon cannot be reached, restarts, or has no room at the moment. Streams that have begun
     * are resumed after such an error, unless `retry` forbids it.
     */
    get transient() {
        if (this.reason === "LIMIT_EXCEEDED")
            return !!this.retryAfterMs; // otherwise the request is too long
        if (this.reason)
            return this.code === Code.Unavailable || this.reason === "TOO_MANY_STREAMS"; // the daemon refused the call
        return broken.has(this.code);
    }
    /** Converts an exception of a transport to a ReplaydError. */
    static from(thrown) {
        if (thrown instanceof ReplaydError)
            return thrown;
        const error = ConnectError.from(thrown);
        let reason = "";
        let metadata = {};
        const fields = {};
        let cursor = new Uint8Array();
        let retryAfterMs;
        for (const detail of error.details) {
            if (!("type" in detail))
                continue;
            switch (detail.type) {
                case "google.rpc.ErrorInfo": {
                    const info = strings(detail.value);
                    if (info.get(2)?.[0] !== domain)
                        break;
                    reason = info.get(1)?.[0] ?? "";
                    metadata = pairs(messages(detail.value).get(3));
                    break;
                }
                case "google.rpc.BadRequest":
                    Object.assign(fields, pairs(messages(detail.value).get(1)));
                    break;
                case "google.rpc.RetryInfo":
                    retryAfterMs = durationMs(fromBinary(DurationSchema, messages(detail.value).get(1)?.[0] ?? new Uint8Array()));
                    break;
                case "replayd.v1.ResumeInfo":
                    cursor = fromBinary(ResumeInfoSchema, detail.value).cursor;
            }
        }
        return new ReplaydError(error.code, error.rawMessage, { reason, metadata, fields, cursor, retryAfterMs, cause: error });
    }
}
/** Events are missing or repeated. This indicates a bug. */
export class SequenceError extends Error {
    name = "SequenceError";
}
// The functions below parse the few messages of google.rpc that are needed. These contain only strings and messages of strings.
function messages(bytes) {
    const result = new Map();
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
        const [field, type] = reader.tag();
        if (type !== WireType.LengthDelimited) {
            reader.skip(type, field);
            continue;
        }
        const values = result.get(field) ?? [];
        values.push(reader.bytes());
        result.set(field, values);
    }
    return result;
}
function strings(bytes) {
    const decoder = new TextDecoder();
    return new Map([...messages(bytes)].map(([field, values]) => [field, values.map((v) => decoder.decode(v))]));
}
function pairs(entries = []) {
    return Object.fromEntries(entries.map((entry) => {
        const both = strings(entry);
        return [both.get(1)?.[0] ?? "", both.get(2)?.[0] ?? ""];
    }));
}
