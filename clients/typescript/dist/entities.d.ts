import type { Event, Kind } from "./event.js";
/** The value of a field: handles and enums are numbers, numbers of 64 bits bigint where they are large, vectors arrays. */
export type FieldData = number | bigint | boolean | string | readonly number[] | Uint8Array;
/** The handle of no entity. */
export declare const noEntity: number;
/** What is known of an entity. Its EntityState owns it and changes it with each event. */
export declare class Entity {
    /** Its slot. */
    readonly index: number;
    /** Differs between the entities that use a slot one after the other. */
    readonly serial: number;
    /** The name of its class. */
    readonly className: string;
    /** Whether it is within the recorder's view. */
    inView: boolean;
    /** Its values by full name. Those that are not known are not there. */
    readonly fields: Map<string, FieldData>;
    /** What the numbers of some fields stand for, by the fields' names: a hero, an item, an ability. */
    readonly names: Map<string, string>;
    /** The fields whose numbers may as well be others: nobody knows their types. */
    readonly unproven: Set<string>;
    constructor(
    /** Its slot. */
    index: number, 
    /** Differs between the entities that use a slot one after the other. */
    serial: number, 
    /** The name of its class. */
    className: string);
    /** What it is called, such as "npc_dota_hero_axe" or "item_blink"; nothing where the demo does not say. */
    get name(): string;
    /** A field's value; undefined when it is not known. */
    get(name: string): FieldData | undefined;
    /**
     * The elements of a list of values, with undefined for those that are not known: at most 16384, however long the demo says
     * that the list is.
     */
    list(name: string): (FieldData | undefined)[];
    /**
     * Where it is, in world units: the field CBodyComponent.place. Undefined when the demo does not say, and while it hangs on
     * another entity.
     */
    place(): readonly [x: number, y: number, z: number] | undefined;
    /** Forgets a field, or without a name all. */
    forget(name?: string): void;
}
/** The state of all entities. A stream must begin at the demo's beginning, or with the state at the place where it begins. */
export declare class EntityState implements Iterable<Entity> {
    /** The kinds of events that it needs. */
    static readonly kinds: readonly Kind[];
    private readonly entities;
    private readonly parents;
    /**
     * Updates the state by an event; events of other kinds change nothing. Returns the entity of the event, also when it is
     * deleted now.
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
