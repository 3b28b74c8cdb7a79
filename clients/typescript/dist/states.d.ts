import { type WatchedReplay, type WatchStateRequest, type WatchStateResponse } from "../gen/replayd/v1/state_pb.js";
import type { ReplaydError } from "./error.js";
import { type Retry } from "./session.js";
/** The event of a player: of the kind sample_player. */
export type PlayerEvent = NonNullable<WatchedReplay["players"]["value"]>["events"][number];
/** The latest states of games, by their numbers in a call. Each has its description and all players, by number. */
export declare class States extends Map<number, WatchedReplay> {
    /** Takes a response. It forgets the games that an earlier response has ended, so that the end of a game is seen once. */
    apply({ replays }: WatchStateResponse): void;
}
/** The players of a game. */
export declare function players(game: WatchedReplay): PlayerEvent[];
/** One watch of states over any number of connections. */
export declare class Watched {
    readonly request: WatchStateRequest;
    readonly silence: number;
    private readonly attempts;
    private states;
    constructor(request: WatchStateRequest, retry: Retry | false);
    /** Records that a call begins. Its games have numbers of their own. */
    called(): void;
    /** Updates the states with a response. */
    take(response: WatchStateResponse): States;
    /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
    delay(error: ReplaydError): number;
}
