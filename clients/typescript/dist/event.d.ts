import { type DescMessage, type JsonObject } from "@bufbuild/protobuf";
import { Table } from "./table.js";
import { type EventBatch, type StreamEventsResponse } from "../gen/replayd/v1/stream_pb.js";
/** The event message of any of the formats. */
export type AnyEvent = NonNullable<EventBatch["events"]["value"]>["events"][number];
/** The message of any kind of event. */
export type AnyValue = NonNullable<AnyEvent["kind"]["value"]>;
/** The name of a kind of events, as used in filters, such as "player_diff". */
export type Kind = Snake<NonNullable<AnyEvent["kind"]["case"]>>;
/** Converts a name of the generated code to the name in the .proto: "playerDiff" to "player_diff". */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}` ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}` : "";
/** One event of a replay. */
export declare class Event {
    /**
     * The event's number in its stream, from 0, counted after filtering. A resumed stream continues the count. 0 if `state` is
     * true.
     */
    readonly sequence: number;
    /** The generated message. TypeScript narrows it by `event.event.kind.case`. */
    readonly event: AnyEvent;
    private readonly batch;
    constructor(
    /**
     * The event's number in its stream, from 0, counted after filtering. A resumed stream continues the count. 0 if `state` is
     * true.
     */
    sequence: number, 
    /** The generated message. TypeScript narrows it by `event.event.kind.case`. */
    event: AnyEvent, batch: Batch);
    /**
     * The first part of the event's position in the replay: where its record starts, in bytes of the decompressed replay. An event
     * has the same position in every stream, and no other event of the replay has it. Store events by it, and join events of streams
     * with different filters. 0 if `state` is true.
     */
    get offset(): number;
    /** The second part of the event's position: its place among the events of its record. 0 if `state` is true. */
    get index(): number;
    /**
     * True if the event did not happen at its tick, but describes the state at the start position (`withState`).
     */
    get state(): boolean;
    /** The name of the event's kind, as used in filters. Empty for a kind that is newer than this client. */
    get kind(): Kind | "";
    /** The time of the event in ticks of the replay's clock. 0 for formats without a clock. */
    get tick(): number;
    /** The message of the event's kind. Undefined for a kind that is newer than this client. */
    get value(): AnyValue | undefined;
    /** The string for the value of a field marked string_index in the .proto, as in `event.string(update.field)`. */
    string(index: number): string;
    /**
     * The event as `replayd cat` prints it. Fields have their names in the .proto, enums are names, 64-bit integers are strings,
     * bytes are base64, and string indices are replaced by the strings. Scalars are included even if they are zero.
     */
    toJSON(): JsonObject;
}
/** The events of one response. Iterating yields an Event for each, in order. `events` holds the messages without Event objects. */
export declare class Batch implements Iterable<Event> {
    /** The sequence number of the first event. 0 if `state` is true. */
    readonly firstSequence: number;
    /** The sequence number after the last event. 0 if `state` is true. */
    readonly nextSequence: number;
    /**
     * True if the events describe the state at the start position (`withState`). Such events have no sequence numbers. If a stream
     * breaks in the middle of a state, the whole state is sent again.
     */
    readonly state: boolean;
    /** True in the last batch of a state, which may be empty. */
    readonly complete: boolean;
    /**
     * Resumes the stream after this batch. Store it together with the results of the events. A program that is restarted there
     * misses no event and receives none twice.
     */
    readonly cursor: Uint8Array;
    /** The generated messages. Empty with `tables`. */
    readonly events: readonly AnyEvent[];
    /** With the option `tables`: the events as tables, by kind. */
    readonly tables: ReadonlyMap<string, Table>;
    /** The strings to which fields marked string_index refer. */
    readonly strings: readonly string[];
    /** @internal */
    readonly format: Format;
    private readonly wire;
    private restored?;
    constructor(response: StreamEventsResponse);
    get length(): number;
    /** The events' positions. @internal */
    places(): Places;
    [Symbol.iterator](): Iterator<Event, void, undefined>;
}
/** The positions of a batch's events. */
interface Places {
    offsets: number[];
    indexes: number[];
}
/** A description of a format's event message. */
interface Format {
    desc: DescMessage;
    /** The kinds' names in the .proto, by their names in the generated code. */
    kinds: Map<string, Kind>;
}
export {};
