// The state of the entities of a Source 2 demo, which its events tell piece by piece.

import type { FieldValue } from "../gen/replayd/dem/v1/events_pb.js";
import type { Event, Kind } from "./event.js";

/** What a field has: handles and enums are numbers, numbers of 64 bits bigint where they are large, vectors arrays. */
export type FieldData = number | bigint | boolean | string | readonly number[] | Uint8Array;

/** The handle that stands for no entity. */
export const noEntity = (1 << 24) - 1;

/** What is known of an entity. It belongs to its EntityState, which goes on changing it. */
export class Entity {
  /** Whether it is within the recorder's view. */
  inView = true;
  /** Its values by full name. Those that are not known are not there. */
  readonly fields = new Map<string, FieldData>();

  constructor(
    /** Its slot. */
    readonly index: number,
    /** What tells the slot's tenants apart. */
    readonly serial: number,
    /** The name of its class. */
    readonly className: string,
  ) {}

  /** A field's value; undefined when it is not known. */
  get(name: string): FieldData | undefined {
    return this.fields.get(name);
  }

  /** The elements of a list of values, undefined in the place of those that are not known. */
  list(name: string): (FieldData | undefined)[] {
    const length = Number(this.fields.get(name) ?? 0);
    return Array.from({ length }, (_, i) => this.fields.get(`${name}.${String(i).padStart(4, "0")}`));
  }

  /**
   * Where it is, in world units; undefined when the demo does not tell. A cell of the map is 128 wide in Dota 2, 512 in
   * Counter-Strike 2 and Deadlock.
   */
  place(cell: number): [x: number, y: number, z: number] | undefined {
    const at = ["X", "Y", "Z"].map((axis) => {
      const where = this.fields.get(`CBodyComponent.m_cell${axis}`);
      const inside = this.fields.get(`CBodyComponent.m_vec${axis}`) ?? 0;
      return where === undefined ? NaN : Number(where) * cell - 16384 + Number(inside);
    });
    return at.some(Number.isNaN) ? undefined : (at as [number, number, number]);
  }
}

/** The state of all entities. A stream must begin at the demo's beginning, or with the state at the place where it begins. */
export class EntityState implements Iterable<Entity> {
  /** The kinds of events that it needs. */
  static readonly kinds: readonly Kind[] = ["entity_created", "entity_updated", "entity_entered", "entity_left", "entity_deleted"];

  private readonly entities = new Map<number, Entity>();
  // The names of lists and objects: something was met below them.
  private readonly parents = new Set<string>();

  /**
   * Takes an event; those that are of no entity change nothing. Returns the entity that it is of, also when it is gone now.
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
        if (kind.value.full) entity.fields.clear();
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

  private at(event: Event, told: { index: number; serial: number; class: number }): Entity {
    const name = event.string(told.class);
    let entity = this.entities.get(told.index);
    if (!entity || entity.serial !== told.serial || entity.className !== name) {
      entity = new Entity(told.index, told.serial, name);
      this.entities.set(told.index, entity);
    }
    return entity;
  }

  private take(entity: Entity, event: Event, fields: readonly FieldValue[]): Entity {
    for (const told of fields) {
      const name = event.string(told.field);
      for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) this.parents.add(name.slice(0, at));
      const value = plain(told);
      if (this.parents.has(name)) drop(entity.fields, name, value);
      if (value === undefined) entity.fields.delete(name);
      else entity.fields.set(name, value);
    }
    return entity;
  }
}

/**
 * Removes what is below a list or an object that has a new value: elements beyond a list's length, and all below an object
 * that is not there, or below something whose value is not known.
 */
function drop(fields: Map<string, FieldData>, parent: string, value: FieldData | undefined): void {
  if (value === true) return;
  const length = typeof value === "number" ? value : 0;
  for (const key of [...fields.keys()]) {
    if (!key.startsWith(`${parent}.`)) continue;
    const [first] = key.slice(parent.length + 1).split(".");
    if (!/^\d+$/.test(first!) || Number(first) >= length) fields.delete(key);
  }
}

/** A field's value; undefined when it is not known. */
function plain({ value: told }: FieldValue): FieldData | undefined {
  switch (told.case) {
    case "vector":
      return [told.value.x, told.value.y, told.value.z];
    case "tuple":
      return told.value.values;
    case "int":
    case "uint":
      return BigInt.asIntN(53, told.value) === told.value ? Number(told.value) : told.value;
    default:
      return told.value;
  }
}
