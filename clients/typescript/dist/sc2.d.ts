import { type PlayerState, type UnitState } from "../gen/replayd/sc2replay/v1/events_pb.js";
import type { Event } from "./event.js";
/**
 * What is known of a game where a stream is: the units that are alive, and the players' economy and upgrades. The stream must
 * begin at the replay's beginning, or with the state at the place where it begins. What it returns belongs to it: it goes on
 * changing it.
 */
export declare class GameState {
    /** The kinds of events that it needs. Those of a state come beside them, with `withState`. */
    static readonly kinds: string[];
    private readonly byIndex;
    private readonly byNumber;
    /** Takes an event; those of other kinds change nothing. */
    apply(event: Event): void;
    /** The unit that has a tag; undefined when none has that is alive. */
    unit(tag: number): UnitState | undefined;
    /** The units that are alive, or those of them that a player controls, by ascending index. Player 0 is neutral. */
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
