import { type DescMessage, type JsonObject } from "@bufbuild/protobuf";
import { type Columns } from "./columns.js";
import { type EventBatch, type StreamEventsResponse } from "../gen/replayd/v1/stream_pb.js";
/** The event message of any of the formats. */
export type AnyEvent = NonNullable<EventBatch["events"]["value"]>["events"][number];
/** The message of any kind of event. */
export type AnyValue = NonNullable<AnyEvent["kind"]["value"]>;
/** The name of a kind of events, as filters take it, such as "player_diff". */
export type Kind = Snake<NonNullable<AnyEvent["kind"]["case"]>>;
/** A name of the generated code as the .proto has it: "playerDiff" is player_diff there. */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}` ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}` : "";
/** One thing that happened. */
export declare class Event {
    /** The event's number in its stream, from 0, counted after filtering. It goes on when a stream is resumed. 0 of one that tells a state. */
    readonly sequence: number;
    /** The generated message. `event.event.kind.case` tells kinds apart in a way that TypeScript understands. */
    readonly event: AnyEvent;
    private readonly batch;
    constructor(
    /** The event's number in its stream, from 0, counted after filtering. It goes on when a stream is resumed. 0 of one that tells a state. */
    sequence: number, 
    /** The generated message. `event.event.kind.case` tells kinds apart in a way that TypeScript understands. */
    event: AnyEvent, batch: Batch);
    /** True: the event did not happen then, but tells the state at the place where the stream starts, with `withState`. */
    get state(): boolean;
    /** The name of the event's kind, as filters take it. Empty for a kind that this client is too old to know. */
    get kind(): Kind | "";
    /** When it happened, by the replay's clock. 0 for formats without one. */
    get tick(): number;
    /** The message of the event's kind. Undefined for a kind that this client is too old to know. */
    get value(): AnyValue | undefined;
    /** What a number stands for that is marked as string_index in the .proto: `event.string(update.field)`. */
    string(index: number): string;
    /**
     * The event as `replayd cat` prints it: names of the .proto, enums by name, 64-bit integers as strings, bytes as
     * base64, strings in place of their indices, scalars also when they are zero.
     */
    toJSON(): JsonObject;
}
/** The events of one response. Iterating makes the Events one by one, in order; `events` holds the bare messages. */
export declare class Batch implements Iterable<Event> {
    /** The number of the first event. 0 where `state` is true. */
    readonly firstSequence: number;
    /** The number of the event behind the last one. 0 where `state` is true. */
    readonly nextSequence: number;
    /**
     * True: the events tell the state at the place where the stream starts, with `withState`, and are not counted. When a
     * stream breaks before all of a state has come, all of it comes again.
     */
    readonly state: boolean;
    /** True in the last batch of a state, which may be empty. */
    readonly complete: boolean;
    /** Where to go on behind this batch. Store it once the batch was dealt with, and nothing is lost or comes twice. */
    readonly cursor: Uint8Array;
    /** The generated messages; with `columns` those that have no columns. */
    readonly events: readonly AnyEvent[];
    /** With the option `columns`: the other events as arrays, by kind. */
    readonly columns: ReadonlyMap<string, Columns>;
    /** What numbers marked as string_index refer to. */
    readonly strings: readonly string[];
    /** @internal */
    readonly format: Format;
    constructor(response: StreamEventsResponse);
    get length(): number;
    [Symbol.iterator](): Iterator<Event, void, undefined>;
}
/** What there is to know of a format's event message. */
interface Format {
    list: DescMessage;
    desc: DescMessage;
    /** Names of kinds in the generated code, and in the .proto. */
    kinds: Map<string, Kind>;
}
export {};
