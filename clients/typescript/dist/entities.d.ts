import type { Event, Kind } from "./event.js";
/** What a field has: handles and enums are numbers, numbers of 64 bits bigint where they are large, vectors arrays. */
export type FieldData = number | bigint | boolean | string | readonly number[] | Uint8Array;
/** The handle that stands for no entity. */
export declare const noEntity: number;
/** What is known of an entity. It belongs to its EntityState, which goes on changing it. */
export declare class Entity {
    /** Its slot. */
    readonly index: number;
    /** What tells the slot's tenants apart. */
    readonly serial: number;
    /** The name of its class. */
    readonly className: string;
    /** Whether it is within the recorder's view. */
    inView: boolean;
    /** Its values by full name. Those that are not known are not there. */
    readonly fields: Map<string, FieldData>;
    constructor(
    /** Its slot. */
    index: number, 
    /** What tells the slot's tenants apart. */
    serial: number, 
    /** The name of its class. */
    className: string);
    /** A field's value; undefined when it is not known. */
    get(name: string): FieldData | undefined;
    /** The elements of a list of values, undefined in the place of those that are not known. */
    list(name: string): (FieldData | undefined)[];
    /**
     * Where it is, in world units; undefined when the demo does not tell. A cell of the map is 128 wide in Dota 2, 512 in
     * Counter-Strike 2 and Deadlock.
     */
    place(cell: number): [x: number, y: number, z: number] | undefined;
}
/** The state of all entities. A stream must begin at the demo's beginning, or with the state at the place where it begins. */
export declare class EntityState implements Iterable<Entity> {
    /** The kinds of events that it needs. */
    static readonly kinds: readonly Kind[];
    private readonly entities;
    private readonly parents;
    /**
     * Takes an event; those that are of no entity change nothing. Returns the entity that it is of, also when it is gone now.
     */
    apply(event: Event): Entity | undefined;
    /** The entity in a slot. */
    get(index: number): Entity | undefined;
    /** The entity that a handle names; undefined when it is gone or there is none. */
    byHandle(handle: number): Entity | undefined;
    /** The entities whose class matches a pattern, such as "CDOTA_Unit_Hero_*", in the order of their slots. */
    ofClass(pattern: string): Entity[];
    /** The entities that have a name in a field, such as "m_iszPlayerName", in the order of their slots. */
    named(field: string, name: string): Entity[];
    /** All entities in the order of their slots. */
    [Symbol.iterator](): Iterator<Entity>;
    private at;
    private take;
}
