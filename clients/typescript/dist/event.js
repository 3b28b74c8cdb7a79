// Events and batches, as streams yield them.
import { getOption, ScalarType, toJson, } from "@bufbuild/protobuf";
import { Table } from "./table.js";
import { string_index } from "../gen/replayd/options/v1/options_pb.js";
import { EventBatchSchema } from "../gen/replayd/v1/stream_pb.js";
/** One event of a replay. */
export class Event {
    sequence;
    event;
    batch;
    constructor(
    /**
     * The event's number in its stream, from 0, counted after filtering. A resumed stream continues the count. 0 if `state` is
     * true.
     */
    sequence, 
    /** The generated message. TypeScript narrows it by `event.event.kind.case`. */
    event, batch) {
        this.sequence = sequence;
        this.event = event;
        this.batch = batch;
    }
    /**
     * The first part of the event's position in the replay: where its record starts, in bytes of the decompressed replay. An event
     * has the same position in every stream, and no other event of the replay has it. Store events by it, and join events of streams
     * with different filters. 0 if `state` is true.
     */
    get offset() {
        return this.batch.places().offsets[this.sequence - this.batch.firstSequence] ?? 0;
    }
    /** The second part of the event's position: its place among the events of its record. 0 if `state` is true. */
    get index() {
        return this.batch.places().indexes[this.sequence - this.batch.firstSequence] ?? 0;
    }
    /**
     * True if the event did not happen at its tick, but describes the state at the start position (`withState`).
     */
    get state() {
        return this.batch.state;
    }
    /** The name of the event's kind, as used in filters. Empty for a kind that is newer than this client. */
    get kind() {
        const { case: name } = this.event.kind;
        return name === undefined ? "" : this.batch.format.kinds.get(name);
    }
    /** The time of the event in ticks of the replay's clock. 0 for formats without a clock. */
    get tick() {
        return this.event.atTick;
    }
    /** The message of the event's kind. Undefined for a kind that is newer than this client. */
    get value() {
        return this.event.kind.value;
    }
    /** The string for the value of a field marked string_index in the .proto, as in `event.string(update.field)`. */
    string(index) {
        const { strings } = this.batch;
        if (index >= strings.length)
            throw new RangeError(`string ${index} of ${strings.length}`);
        return strings[index];
    }
    /**
     * The event as `replayd cat` prints it. Fields have their names in the .proto, enums are names, 64-bit integers are strings,
     * bytes are base64, and string indices are replaced by the strings. Scalars are included even if they are zero.
     */
    toJSON() {
        const { desc } = this.batch.format;
        const whole = toJson(desc, this.event, { alwaysEmitImplicit: true, useProtoFieldName: true });
        refine(desc, whole, this.batch.strings);
        const result = this.state
            ? { state: true }
            : { sequence: String(this.sequence), offset: String(this.offset), index: String(this.index) };
        result["at_tick"] = whole["at_tick"];
        delete whole["at_tick"];
        const kind = this.kind;
        if (kind) {
            result["kind"] = kind;
            result[kind] = whole[kind];
            delete whole[kind];
        }
        for (const [name, value] of Object.entries(whole)) {
            if (value && !(Array.isArray(value) && value.length === 0))
                result[name] = value;
        }
        return result;
    }
}
/** The events of one response. Iterating yields an Event for each, in order. `events` holds the messages without Event objects. */
export class Batch {
    /** The sequence number of the first event. 0 if `state` is true. */
    firstSequence;
    /** The sequence number after the last event. 0 if `state` is true. */
    nextSequence;
    /**
     * True if the events describe the state at the start position (`withState`). Such events have no sequence numbers. If a stream
     * breaks in the middle of a state, the whole state is sent again.
     */
    state;
    /** True in the last batch of a state, which may be empty. */
    complete;
    /**
     * Resumes the stream after this batch. Store it together with the results of the events. A program that is restarted there
     * misses no event and receives none twice.
     */
    cursor;
    /** The generated messages. Empty with `tables`. */
    events;
    /** With the option `tables`: the events as tables, by kind. */
    tables;
    /** The strings to which fields marked string_index refer. */
    strings;
    /** @internal */
    format;
    wire;
    restored;
    constructor(response) {
        const { response: what } = response;
        if (what.case !== "batch" && what.case !== "state")
            throw new TypeError("not a batch");
        this.state = what.case === "state";
        this.complete = what.case === "state" && what.value.complete;
        this.firstSequence = what.case === "batch" ? Number(what.value.firstSequence) : 0;
        this.nextSequence = what.case === "batch" ? Number(what.value.nextSequence) : 0;
        this.cursor = response.cursor;
        this.wire = what.case === "batch" ? what.value : { offsets: [], indexes: [] };
        const { events, tables } = what.value;
        this.tables = new Map(tables.map((table) => [table.kind, new Table(table)]));
        if (events.case === undefined) {
            if (!this.state && tables.length === 0)
                throw new Error("events of a format that this client is too old to know: install a newer one");
            this.events = []; // a state may be empty
            this.strings = [];
            this.format = [...formats.values()][0];
            return;
        }
        const list = events.value;
        this.events = list.events;
        this.strings = list.strings ?? [];
        this.format = formats.get(events.case);
    }
    get length() {
        return this.state ? [...this.tables.values()].reduce((sum, table) => sum + table.length, this.events.length) : this.nextSequence - this.firstSequence;
    }
    /** The events' positions. @internal */
    places() {
        this.restored ??= restore(this.wire); // few programs ask
        return this.restored;
    }
    [Symbol.iterator]() {
        if (this.tables.size > 0)
            throw new TypeError("the batch has tables instead of events: use batch.tables");
        const { events } = this;
        let i = 0;
        return {
            next: () => {
                if (i >= events.length)
                    return { done: true, value: undefined };
                return { done: false, value: new Event(this.state ? 0 : this.firstSequence + i, events[i++], this) };
            },
        };
    }
}
/** Restores positions from the differences in EventBatch.offsets and EventBatch.indexes. */
function restore(wire) {
    const places = { offsets: [], indexes: [] };
    let offset = 0;
    let index = 0;
    let next = 0;
    for (const difference of wire.offsets) {
        const n = Number(difference);
        if (n > 0) {
            offset += n;
            index = 0;
        }
        else if (n === 0) {
            index += 128;
        }
        else {
            offset += -1 - n;
            index += Number(wire.indexes[next++]);
        }
        places.offsets.push(offset);
        places.indexes.push(index);
    }
    return places;
}
const formats = new Map(EventBatchSchema.oneofs
    .flatMap((oneof) => oneof.fields)
    .map((list) => {
    const desc = list.message.field["events"].message;
    const kind = desc.oneofs.find((oneof) => oneof.name === "kind");
    return [list.localName, { desc, kinds: new Map(kind.fields.map((f) => [f.localName, f.name])) }];
}));
const plans = new Map();
/** The fields of a message type at which refine must change its JSON. */
function planOf(desc) {
    let plan = plans.get(desc.typeName);
    if (!plan) {
        plan = desc.fields.filter((field) => wants(field, new Set())).map((field) => [field.name, field]);
        plans.set(desc.typeName, plan);
    }
    return plan;
}
function wants(field, seen) {
    if (field.fieldKind === "map")
        return false;
    if (field.message) {
        if (seen.has(field.message.typeName))
            return false;
        seen.add(field.message.typeName);
        return field.message.fields.some((inner) => wants(inner, seen));
    }
    return isFloat(field) || getOption(field, string_index);
}
function isFloat(field) {
    return "scalar" in field && field.scalar === ScalarType.FLOAT;
}
/** Replaces string indices by the strings, and floats by their shortest representation. */
function refine(desc, values, strings) {
    for (const [name, field] of planOf(desc)) {
        const value = values[name];
        if (value === undefined)
            continue;
        const one = (element) => {
            if (field.message) {
                refine(field.message, element, strings);
                return element;
            }
            if (isFloat(field))
                return typeof element === "number" ? shortest(element) : element;
            return strings[element];
        };
        values[name] = Array.isArray(value) ? value.map(one) : one(value);
    }
}
/** The number with the fewest digits that rounds to the same 32-bit float. */
function shortest(float) {
    for (let digits = 1; digits < 9; digits++) {
        const candidate = rounded(float, digits);
        if (Math.fround(candidate) === float)
            return candidate;
    }
    return Number(float.toPrecision(9));
}
/** A number rounded to a number of digits. Ties round to even, as in other languages; toPrecision rounds them up. */
function rounded(x, digits) {
    const [mantissa, exponent] = x.toExponential(digits).split("e");
    if (!mantissa.endsWith("5") || Number(`${mantissa}e${exponent}`) !== x)
        return Number(x.toPrecision(digits));
    const down = mantissa.slice(0, -1).replace(/\.$/, "");
    return Number("02468".includes(down.at(-1)) ? `${down}e${exponent}` : x.toPrecision(digits));
}
