import { type PlayerState, type UnitState } from "../gen/replayd/sc2replay/v1/events_pb.js";
import type { Event } from "./event.js";
/**
 * The state of a game after the events so far: the units alive, and the players' economy and upgrades. The stream must start at
 * the beginning of the replay, or with the state at its start position. The returned messages belong to the GameState, and apply
 * modifies them.
 */
export declare class GameState {
    /** The kinds of events that it needs. Those of a state come beside them, with `withState`. */
    static readonly kinds: string[];
    private readonly byIndex;
    private readonly byNumber;
    /** Updates the state with an event. It ignores events of other kinds. */
    apply(event: Event): void;
    /** The unit with a tag; undefined if no such unit is alive. */
    unit(tag: number): UnitState | undefined;
    /** The units alive, or those that a player controls, by ascending index. Player 0 is the neutral player. */
    units(player?: number): UnitState[];
    /** A player's economy and upgrades; undefined before any event of the player. */
    player(number: number): PlayerState | undefined;
    /** All players of whom there was an event, by ascending number. */
    players(): PlayerState[];
    private put;
    private alive;
    private change;
    private known;
}
