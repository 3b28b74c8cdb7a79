// The latest states of live games, folded from the responses of a call. It does no input or output.

import { create } from "@bufbuild/protobuf";
import { EndReason } from "../gen/replayd/v1/stream_pb.js";
import { type WatchedReplay, WatchedReplaySchema, type WatchStateRequest, type WatchStateResponse } from "../gen/replayd/v1/state_pb.js";
import type { ReplaydError } from "./error.js";
import { Attempts, milliseconds, type Retry, silenceOf, silentHeartbeats } from "./session.js";

/** The event of a player: of the kind sample_player. */
export type PlayerEvent = NonNullable<WatchedReplay["players"]["value"]>["events"][number];

/** The latest states of games, by their numbers in a call. Each has its description and all players, by number. */
export class States extends Map<number, WatchedReplay> {
  /** Takes a response. It forgets the games that an earlier response has ended, so that the end of a game is seen once. */
  apply({ replays }: WatchStateResponse): void {
    for (const [number, game] of this) if (isOver(game)) this.delete(number);
    for (const news of replays) {
      let game = this.get(news.replay);
      if (!game) this.set(news.replay, (game = create(WatchedReplaySchema, { replay: news.replay, whole: true })));
      if (news.description) game.description = news.description;
      if (news.tick !== undefined) {
        setPlayers(game, news);
        game.tick = news.tick;
        game.unfinished = news.unfinished;
        game.age = news.age;
      }
      game.end = news.end;
      game.failure = news.failure;
    }
  }
}

/** Whether no more of a game follows. */
function isOver({ end, failure }: WatchedReplay): boolean {
  return end !== EndReason.UNSPECIFIED || (failure !== undefined && !failure.retried);
}

/** The players of a game. */
export function players(game: WatchedReplay): PlayerEvent[] {
  return game.players.value?.events ?? [];
}

/** The number of a player. */
function numberOf({ kind }: PlayerEvent): number {
  if (kind.case !== "samplePlayer") return -1;
  return "clientId" in kind.value ? kind.value.clientId : kind.value.playerId;
}

/** Applies the players of a response to those of a state. */
function setPlayers(game: WatchedReplay, news: WatchedReplay): void {
  if (!news.players.value) return;
  const after = new Map(news.whole ? [] : players(game).map((event) => [numberOf(event), event]));
  for (const number of news.removed) after.delete(number);
  for (const event of players(news)) after.set(numberOf(event), event);
  const events = [...after.values()].sort((a, b) => numberOf(a) - numberOf(b));
  game.players = { case: news.players.case, value: { ...news.players.value, events } } as WatchedReplay["players"];
}

/** One watch of states over any number of connections. */
export class Watched {
  readonly silence: number;
  private readonly attempts: Attempts;
  private states = new States();

  constructor(
    readonly request: WatchStateRequest,
    retry: Retry | false,
  ) {
    this.silence = Math.max(silenceOf(request), silentHeartbeats * Math.min(milliseconds(request.interval), 60_000));
    this.attempts = new Attempts(retry);
  }

  /** Records that a call begins. Its games have numbers of their own. */
  called(): void {
    this.attempts.called();
    this.states = new States();
  }

  /** Updates the states with a response. */
  take(response: WatchStateResponse): States {
    this.attempts.succeeded();
    this.states.apply(response);
    return this.states;
  }

  /** Returns how many ms to wait before the next attempt, or throws the error if there must be none. */
  delay(error: ReplaydError): number {
    return this.attempts.delay(error, true);
  }
}
