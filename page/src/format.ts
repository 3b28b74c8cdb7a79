// The interfaces between the player and a format.

import type { Batch, Event, Replay, StreamOptions } from "@replayd/client";
import type { Choice } from "./draft.js";
import type { Point } from "./draw.js";
import type { Game } from "./game.js";
import type { Stage } from "./stage.js";
import type { Steps } from "./steps.js";

/** The kinds of news. Marks of later kinds are drawn over earlier ones. News of the kind "build" have no marks. */
export const newsKinds = ["fault", "chat", "join", "leave", "team", "command", "draft", "round", "death", "save", "goal", "finish", "build"] as const;

/** A message about the game for the viewer. */
export interface News {
  tick: number;
  kind: (typeof newsKinds)[number];
  /** The number of the player that it is about, or -1 for none. */
  client: number;
  /** The player's name, if it was known when this was created. */
  name?: string;
  text: string;
  /** When it began, of what takes time. tick is its end. */
  began?: number;
}

/** The value of a chart's line, starting at a tick. */
export interface Sample {
  chart: string;
  tick: number;
  /** The player. */
  id: number;
  value: number;
}

/** Where a player was, or died, at a tick. */
export interface Dot extends Point { tick: number; id: number; died?: boolean }

/** The loaded part of a game. */
export abstract class World {
  /** The first and the last tick that are completely loaded. */
  from: number;
  to: number;
  readonly news: News[] = [];
  readonly samples: Sample[] = [];
  readonly dots: Dot[] = [];
  /** Ticks of the events that the time line's density counts. */
  readonly beats: number[] = [];

  /** start is the tick at which its stream begins. */
  constructor(readonly start: number) {
    this.from = start;
    this.to = start - 1;
  }

  protected abstract take(event: Event, tick: number): void;
  /** All values over time, which are dropped when they are old. */
  protected abstract steps(): Iterable<Steps<unknown>>;

  /** Applies a batch. The events of a state did not happen then: they hold from the start on. */
  apply(batch: Batch): void {
    for (const event of batch) {
      const tick = batch.state ? this.start : Math.max(0, event.tick);
      if (!batch.state) this.reach(tick);
      this.take(event, tick);
    }
  }

  /** Records that all ticks before a tick have arrived, and a part of the tick itself. */
  reach(tick: number): void {
    if (tick > this.to) this.to = tick;
  }

  /** Drops everything before a tick, except values that still hold at the tick. */
  trim(tick: number): void {
    if (tick <= this.from) return;
    this.from = tick;
    for (const steps of this.steps()) steps.trim(tick);
  }
}

/** A player in the lists. */
export interface Person {
  id: number;
  name: string;
  /** Further information, such as the hero. */
  note: string;
  colour: string;
  /** Whether the player is in the game now. */
  here: boolean;
  team: number;
  /** Health from 0 to 1. */
  health?: number;
  /** What the player carries. */
  carried?: string;
  /** A value for the end of the line, such as money. */
  value?: string;
}

/** A side of the game. */
export interface Side { team: number; name: string; colour: string; score?: string }

/** The parts of the player that depend on the format. */
export interface Format<W extends World = World> {
  /** The streams that show the game around the clock, and fill the time line and the charts of the whole game. */
  readonly around: StreamOptions;
  readonly whole: StreamOptions;
  /** Whether the world follows from the events alone, wherever a stream begins. */
  readonly stateless?: boolean;
  /** The titles of the charts over the time of the game, by their names. */
  readonly charts?: Readonly<Record<string, string>>;
  world(start: number): W;
  stage(canvas: HTMLCanvasElement, game: Game<W>): Stage<W>;
  people(world: W, tick: number): Person[];
  /** The sides in the order of their lists, unless all players of a game are in one list. */
  sides?(world: W, tick: number): Side[];
  person(world: W, id: number, tick: number): { name: string; colour: string };
  /** The draft before the game, given the marks of the time line. */
  draft?(marks: readonly News[]): Choice[];
  /** The text of the game's own clock. */
  clock?(world: W, tick: number): string;
  /** Why nothing is to be seen at a tick, as a sentence. Empty if something is. */
  missing?(world: W, tick: number): string;
  /** The title of the lists of what each player built or bought, if there are such. */
  readonly builds?: string;
}

/** How many ticks are between samples of a whole game: a second, and more in a long game, so that it has 480 of each player. */
export const seldom = ({ lastTick, ticksPerSecond = 50 }: Replay): number => Math.max(Math.round(ticksPerSecond), Math.floor((lastTick ?? 0) / 480));
