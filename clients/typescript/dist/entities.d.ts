import type { Event, Kind } from "./event.js";
/** The value of a field. Handles and enums are numbers, large 64-bit numbers are bigint, and vectors are arrays. */
export type FieldData = number | bigint | boolean | string | readonly number[] | Uint8Array;
/** The handle that refers to no entity. */
export declare const noEntity: number;
/** The known state of an entity. Its EntityState owns it and changes it with each event. */
export declare class Entity {
    /** The entity's slot. */
    readonly index: number;
    /** Distinguishes the entities that use the same slot one after the other. */
    readonly serial: number;
    /** The name of the entity's class. */
    readonly className: string;
    /** Whether the entity is within the recorder's view. */
    inView: boolean;
    /** The entity's values by full name. Fields with an unknown value are absent. */
    readonly fields: Map<string, FieldData>;
    /** The meaning of the numbers of some fields, such as a hero, an item or an ability, by the fields' names. */
    readonly names: Map<string, string>;
    /** The fields whose numbers may be wrong, because the types of these fields are unknown. */
    readonly unproven: Set<string>;
    constructor(
    /** The entity's slot. */
    index: number, 
    /** Distinguishes the entities that use the same slot one after the other. */
    serial: number, 
    /** The name of the entity's class. */
    className: string);
    /** The entity's name, such as "npc_dota_hero_axe" or "item_blink". It is empty if the demo does not contain it. */
    get name(): string;
    /** Returns a field's value, or undefined if the value is unknown. */
    get(name: string): FieldData | undefined;
    /**
     * Returns the elements of a list of values. Unknown elements are undefined. It returns at most 16384 elements, whatever
     * length the demo gives.
     */
    list(name: string): (FieldData | undefined)[];
    /**
     * Returns the entity's position in world units, which is the field CBodyComponent.place. It is undefined if the position
     * is unknown, and while the entity is attached to another one.
     */
    place(): readonly [x: number, y: number, z: number] | undefined;
    /** Removes a field, or all fields if no name is given. */
    forget(name?: string): void;
}
/** The state of all entities. A stream must begin at the beginning of the demo, or with the state at its start. */
export declare class EntityState implements Iterable<Entity> {
    /** The kinds of events that the state needs. */
    static readonly kinds: readonly Kind[];
    private readonly entities;
    private readonly parents;
    /**
     * Updates the state by an event. Events of other kinds change nothing. Returns the entity of the event, or undefined if
     * there is none. It also returns an entity that the event deletes.
     */
    apply(event: Event): Entity | undefined;
    /** Returns the entity in a slot. */
    get(index: number): Entity | undefined;
    /** Returns the entity that a handle refers to, or undefined if the entity does not exist any more or never did. */
    byHandle(handle: number): Entity | undefined;
    /** Returns the entities whose class matches a pattern, such as "CDOTA_Unit_Hero_*", in the order of their slots. */
    ofClass(pattern: string): Entity[];
    /** Returns the entities with a field, such as "m_iszPlayerName", that equals a name, in the order of their slots. */
    named(field: string, name: string): Entity[];
    /** Iterates over all entities in the order of their slots. */
    [Symbol.iterator](): Iterator<Entity>;
    private at;
    private take;
}
