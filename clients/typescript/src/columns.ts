// Frequent and uniform events as arrays.

import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { AnyEvent } from "./event.js";

/** A batch's events of one kind, with an array for each field. The n-th elements of all arrays are one event. */
export class Columns {
  constructor(
    /** The kind of the events, such as "player_diff". */
    readonly kind: string,
    /**
     * The generated message, such as PlayerDiffColumns of teehistorian. `place` holds the index of each event in the batch, and
     * `atTick` its tick.
     */
    readonly message: Message & { readonly place: readonly number[] },
    private readonly desc: DescMessage,
  ) {}

  get length(): number {
    return this.message.place.length;
  }

  /** The names of the arrays, as in the .proto. */
  get names(): string[] {
    return this.desc.fields.map((field) => field.name);
  }

  /** Returns an array by its name in the .proto. */
  array(name: string): readonly (number | bigint | boolean)[] {
    const field = this.desc.fields.find((field) => field.name === name);
    if (!field) throw new RangeError(`no column ${name}`);
    return (this.message as unknown as Record<string, readonly number[]>)[field.localName]!;
  }
}

const suffix = "_columns";

/** The columns of an event list, by kind. */
export function columnsOf(desc: DescMessage, list: Message): Map<string, Columns> {
  const result = new Map<string, Columns>();
  for (const field of desc.fields) {
    if (!field.name.endsWith(suffix) || !field.message) continue;
    const message = (list as unknown as Record<string, Columns["message"] | undefined>)[field.localName];
    if (!message || message.place.length === 0) continue;
    const kind = field.name.slice(0, -suffix.length);
    result.set(kind, new Columns(kind, message, field.message));
  }
  return result;
}

/** All events of a batch as messages, in order. */
export function rows(event: DescMessage, others: readonly AnyEvent[], columns: Iterable<Columns>): AnyEvent[] {
  const ordered: AnyEvent[] = [];
  let count = others.length;
  for (const those of columns) {
    count += those.length;
    const targets = those.names
      .filter((name) => name !== "place")
      .map((name) => ({ values: those.array(name), path: target(event, those.kind, name) }));
    those.message.place.forEach((place, i) => {
      const row = reflect(event, create(event));
      enter(row, event.fields.find((field) => field.name === those.kind)!);
      for (const { values, path } of targets) {
        let inner = row;
        for (const step of path.slice(0, -1)) inner = enter(inner, step);
        inner.set(path.at(-1)!, values[i]);
      }
      ordered[place] = row.message as unknown as AnyEvent;
    });
  }
  let next = 0;
  for (let place = 0; place < count; place++) ordered[place] ??= others[next++]!;
  return ordered;
}

/** Returns the message in a field. Creates it if the field is not set. */
function enter(message: ReflectMessage, field: DescField): ReflectMessage {
  if (field.fieldKind !== "message") throw new TypeError(field.name);
  if (!message.isSet(field)) message.set(field, reflect(field.message, create(field.message)));
  return message.get(field);
}

/** The path of a column's field in an event. `input_target_x` is InputDiff.input.target_x. */
function target(event: DescMessage, kind: string, name: string): DescField[] {
  const own = event.fields.find((field) => field.name === name);
  if (own) return [own];
  const field = event.fields.find((field) => field.name === kind)!;
  const path = pathOf(field.message!, name);
  if (!path) throw new Error(`column ${name} of ${kind}: install a newer client`);
  return [field, ...path];
}

function pathOf(message: DescMessage, name: string): DescField[] | undefined {
  const own = message.fields.find((field) => field.name === name);
  if (own) return [own];
  for (const field of message.fields) {
    if (!field.message || !name.startsWith(`${field.name}_`)) continue;
    const rest = pathOf(field.message, name.slice(field.name.length + 1));
    if (rest) return [field, ...rest];
  }
  return undefined;
}
