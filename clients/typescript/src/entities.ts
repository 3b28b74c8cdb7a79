// The state of the entities of a Source 2 demo, which its events change piece by piece.

import type { FieldValue } from "../gen/replayd/dem/v1/events_pb.js";
import type { Event, Kind } from "./event.js";

/** The value of a field: handles and enums are numbers, numbers of 64 bits bigint where they are large, vectors arrays. */
export type FieldData = number | bigint | boolean | string | readonly number[] | Uint8Array;

/** The handle of no entity. */
export const noEntity = (1 << 24) - 1;

/** What is known of an entity. Its EntityState owns it and changes it with each event. */
export class Entity {
  /** Whether it is within the recorder's view. */
  inView = true;
  /** Its values by full name. Those that are not known are not there. */
  readonly fields = new Map<string, FieldData>();
  /** What the numbers of some fields stand for, by the fields' names: a hero, an item, an ability. */
  readonly names = new Map<string, string>();
  /** The fields whose numbers may as well be others: nobody knows their types. */
  readonly unproven = new Set<string>();

  constructor(
    /** Its slot. */
    readonly index: number,
    /** Differs between the entities that use a slot one after the other. */
    readonly serial: number,
    /** The name of its class. */
    readonly className: string,
  ) {}

  /** What it is called, such as "npc_dota_hero_axe" or "item_blink"; nothing where the demo does not say. */
  get name(): string {
    return this.names.get("m_pEntity.m_nameStringableIndex") ?? "";
  }

  /** A field's value; undefined when it is not known. */
  get(name: string): FieldData | undefined {
    return this.fields.get(name);
  }

  /**
   * The elements of a list of values, with undefined for those that are not known: at most 16384, however long the demo says
   * that the list is.
   */
  list(name: string): (FieldData | undefined)[] {
    const length = Math.min(Number(this.fields.get(name) ?? 0), 1 << 14);
    return Array.from({ length }, (_, i) => this.fields.get(`${name}.${String(i).padStart(4, "0")}`));
  }

  /**
   * Where it is, in world units: the field CBodyComponent.place. Undefined when the demo does not say, and while it hangs on
   * another entity.
   */
  place(): readonly [x: number, y: number, z: number] | undefined {
    return this.fields.get("CBodyComponent.place") as [number, number, number] | undefined;
  }

  /** Forgets a field, or without a name all. */
  forget(name?: string): void {
    for (const known of [this.fields, this.names, this.unproven]) {
      if (name === undefined) known.clear();
      else known.delete(name);
    }
  }
}

/** The state of all entities. A stream must begin at the demo's beginning, or with the state at the place where it begins. */
export class EntityState implements Iterable<Entity> {
  /** The kinds of events that it needs. */
  static readonly kinds: readonly Kind[] = ["entity_created", "entity_updated", "entity_entered", "entity_left", "entity_deleted"];

  private readonly entities = new Map<number, Entity>();
  // The names of lists and objects: those that have fields below them.
  private readonly parents = new Set<string>();

  /**
   * Updates the state by an event; events of other kinds change nothing. Returns the entity of the event, also when it is
   * deleted now.
   */
  apply(event: Event): Entity | undefined {
    const kind = event.event.kind;
    switch (kind.case) {
      case "entityDeleted": {
        const gone = this.entities.get(kind.value.index);
        this.entities.delete(kind.value.index);
        return gone;
      }
      case "entityCreated":
        this.entities.delete(kind.value.index);
        return this.take(this.at(event, kind.value), event, kind.value.fields);
      case "entityUpdated":
        return this.take(this.at(event, kind.value), event, kind.value.fields);
      case "entityEntered": {
        const entity = this.at(event, kind.value);
        entity.inView = !kind.value.outOfView;
        if (kind.value.full) entity.forget();
        return this.take(entity, event, kind.value.fields);
      }
      case "entityLeft": {
        const entity = this.at(event, kind.value);
        entity.inView = false;
        return entity;
      }
      default:
        return undefined;
    }
  }

  /** The entity in a slot. */
  get(index: number): Entity | undefined {
    return this.entities.get(index);
  }

  /** The entity that a handle names; undefined when it is gone or there is none. */
  byHandle(handle: number): Entity | undefined {
    const entity = this.entities.get(handle & 0x3fff);
    const serial = (handle >>> 14) & 0x3ff;
    return entity && (handle & noEntity) !== noEntity && (entity.serial & 0x3ff) === serial ? entity : undefined;
  }

  /** The entities whose class matches a pattern, such as "CDOTA_Unit_Hero_*", in the order of their slots. */
  ofClass(pattern: string): Entity[] {
    const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
    const match = new RegExp(`^${escaped}$`);
    return [...this].filter((entity) => match.test(entity.className));
  }

  /** The entities that have a name in a field, such as "m_iszPlayerName", in the order of their slots. */
  named(field: string, name: string): Entity[] {
    return [...this].filter((entity) => entity.fields.get(field) === name);
  }

  /** All entities in the order of their slots. */
  [Symbol.iterator](): Iterator<Entity> {
    return [...this.entities.values()].sort((a, b) => a.index - b.index)[Symbol.iterator]();
  }

  private at(event: Event, named: { index: number; serial: number; class: number }): Entity {
    const name = event.string(named.class);
    let entity = this.entities.get(named.index);
    if (!entity || entity.serial !== named.serial || entity.className !== name) {
      entity = new Entity(named.index, named.serial, name);
      this.entities.set(named.index, entity);
    }
    return entity;
  }

  private take(entity: Entity, event: Event, fields: readonly FieldValue[]): Entity {
    for (const change of fields) {
      const name = event.string(change.field);
      for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) this.parents.add(name.slice(0, at));
      const value = plain(change);
      if (this.parents.has(name)) drop(entity, name, value);
      if (value === undefined) {
        entity.forget(name);
        continue;
      }
      entity.fields.set(name, value);
      if (change.name) entity.names.set(name, change.name);
      else entity.names.delete(name);
      if (change.unproven) entity.unproven.add(name);
      else entity.unproven.delete(name);
    }
    return entity;
  }
}

/**
 * Removes what is below a list or an object that has a new value: elements beyond a list's length, and all below an object
 * that is not there, or below something whose value is not known.
 */
function drop(entity: Entity, parent: string, value: FieldData | undefined): void {
  if (value === true) return;
  const length = typeof value === "number" ? value : 0;
  for (const key of [...entity.fields.keys()]) {
    if (!key.startsWith(`${parent}.`)) continue;
    const [first] = key.slice(parent.length + 1).split(".");
    if (!/^\d+$/.test(first!) || Number(first) >= length) entity.forget(key);
  }
}

/** A field's value; undefined when it is not known. */
function plain({ value }: FieldValue): FieldData | undefined {
  switch (value.case) {
    case "vector":
      return [value.value.x, value.value.y, value.value.z];
    case "tuple":
      return value.value.values;
    case "int":
    case "uint":
      return BigInt.asIntN(53, value.value) === value.value ? Number(value.value) : value.value;
    default:
      return value.value;
  }
}
