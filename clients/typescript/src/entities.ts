// The state of the entities of a Source 2 demo. Each event changes a part of the state.

import type { FieldValue } from "../gen/replayd/dem/v1/events_pb.js";
import type { Event, Kind } from "./event.js";

/** The value of a field. Handles and enums are numbers, large 64-bit numbers are bigint, and vectors are arrays. */
export type FieldData = number | bigint | boolean | string | readonly number[] | Uint8Array;

/** The handle that refers to no entity. */
export const noEntity = (1 << 24) - 1;

/** The known state of an entity. Its EntityState owns it and changes it with each event. */
export class Entity {
  /** Whether the entity is within the recorder's view. */
  inView = true;
  /** The entity's values by full name. Fields with an unknown value are absent. */
  readonly fields = new Map<string, FieldData>();
  /** The meaning of the numbers of some fields, such as a hero, an item or an ability, by the fields' names. */
  readonly names = new Map<string, string>();
  /** The fields whose numbers may be wrong, because the types of these fields are unknown. */
  readonly unproven = new Set<string>();

  constructor(
    /** The entity's slot. */
    readonly index: number,
    /** Distinguishes the entities that use the same slot one after the other. */
    readonly serial: number,
    /** The name of the entity's class. */
    readonly className: string,
  ) {}

  /** The entity's name, such as "npc_dota_hero_axe" or "item_blink". It is empty if the demo does not contain it. */
  get name(): string {
    return this.names.get("m_pEntity.m_nameStringableIndex") ?? "";
  }

  /** Returns a field's value, or undefined if the value is unknown. */
  get(name: string): FieldData | undefined {
    return this.fields.get(name);
  }

  /**
   * Returns the elements of a list of values. Unknown elements are undefined. It returns at most 16384 elements, whatever
   * length the demo gives.
   */
  list(name: string): (FieldData | undefined)[] {
    const length = Math.min(Number(this.fields.get(name) ?? 0), 1 << 14);
    return Array.from({ length }, (_, i) => this.fields.get(`${name}.${String(i).padStart(4, "0")}`));
  }

  /**
   * Returns the entity's position in world units, which is the field CBodyComponent.place. It is undefined if the position
   * is unknown, and while the entity is attached to another one.
   */
  place(): readonly [x: number, y: number, z: number] | undefined {
    return this.fields.get("CBodyComponent.place") as [number, number, number] | undefined;
  }

  /** Removes a field, or all fields if no name is given. */
  forget(name?: string): void {
    for (const known of [this.fields, this.names, this.unproven]) {
      if (name === undefined) known.clear();
      else known.delete(name);
    }
  }
}

/** The state of all entities. A stream must begin at the beginning of the demo, or with the state at its start. */
export class EntityState implements Iterable<Entity> {
  /** The kinds of events that the state needs. */
  static readonly kinds: readonly Kind[] = ["entity_created", "entity_updated", "entity_entered", "entity_left", "entity_deleted"];

  private readonly entities = new Map<number, Entity>();
  // The names of lists and objects, which are the fields that have fields below them.
  private readonly parents = new Set<string>();

  /**
   * Updates the state by an event. Events of other kinds change nothing. Returns the entity of the event, or undefined if
   * there is none. It also returns an entity that the event deletes.
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

  /** Returns the entity in a slot. */
  get(index: number): Entity | undefined {
    return this.entities.get(index);
  }

  /** Returns the entity that a handle refers to, or undefined if the entity does not exist any more or never did. */
  byHandle(handle: number): Entity | undefined {
    const entity = this.entities.get(handle & 0x3fff);
    const serial = (handle >>> 14) & 0x3ff;
    return entity && (handle & noEntity) !== noEntity && (entity.serial & 0x3ff) === serial ? entity : undefined;
  }

  /** Returns the entities whose class matches a pattern, such as "CDOTA_Unit_Hero_*", in the order of their slots. */
  ofClass(pattern: string): Entity[] {
    const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
    const match = new RegExp(`^${escaped}$`);
    return [...this].filter((entity) => match.test(entity.className));
  }

  /** Returns the entities with a field, such as "m_iszPlayerName", that equals a name, in the order of their slots. */
  named(field: string, name: string): Entity[] {
    return [...this].filter((entity) => entity.fields.get(field) === name);
  }

  /** Iterates over all entities in the order of their slots. */
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
 * Removes fields below a list or an object that has a new value. It removes the elements beyond a list's new length. It
 * removes all fields below an object that is absent now, or whose value is unknown.
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

/** Returns a field's value, or undefined if the value is unknown. */
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
