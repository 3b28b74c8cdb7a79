import { type DescMessage, type Message } from "@bufbuild/protobuf";
import type { AnyEvent } from "./event.js";
/** A batch's events of one kind, with an array for each field. The n-th elements of all arrays are one event. */
export declare class Columns {
    /** The kind of the events, such as "player_diff". */
    readonly kind: string;
    /**
     * The generated message, such as PlayerDiffColumns of teehistorian. `place` holds the index of each event in the batch, and
     * `atTick` its tick.
     */
    readonly message: Message & {
        readonly place: readonly number[];
    };
    private readonly desc;
    constructor(
    /** The kind of the events, such as "player_diff". */
    kind: string, 
    /**
     * The generated message, such as PlayerDiffColumns of teehistorian. `place` holds the index of each event in the batch, and
     * `atTick` its tick.
     */
    message: Message & {
        readonly place: readonly number[];
    }, desc: DescMessage);
    get length(): number;
    /** The names of the arrays, as in the .proto. */
    get names(): string[];
    /** Returns an array by its name in the .proto. */
    array(name: string): readonly (number | bigint | boolean)[];
}
/** The columns of an event list, by kind. */
export declare function columnsOf(desc: DescMessage, list: Message): Map<string, Columns>;
/** All events of a batch as messages, in order. */
export declare function rows(event: DescMessage, others: readonly AnyEvent[], columns: Iterable<Columns>): AnyEvent[];
