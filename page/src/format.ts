// What a player needs to know of a format.

import type { Batch, StreamOptions } from "@replayd/client";
import type { Game } from "./game.js";
import type { Stage } from "./stage.js";

/** What news are about, in the order in which their marks are drawn over each other. Those of "build" are no marks. */
export const newsKinds = ["chat", "join", "leave", "team", "command", "round", "death", "save", "goal", "finish", "build"] as const;

/** Something to tell people. */
export interface News {
  tick: number;
  kind: (typeof newsKinds)[number];
  /** The number of the player it is about, -1 for none. */
  client: number;
  /** The player's name, where it was known when this was made. */
  name?: string;
  text: string;
}

/** The value of a line of a chart from a tick on. */
export interface Sample {
  chart: string;
  tick: number;
  /** The player. */
  id: number;
  value: number;
}

/** A stretch of a game. */
export interface World {
  /** The tick at which its stream began. */
  readonly start: number;
  /** The first tick of which everything is known, and the last. */
  from: number;
  to: number;
  readonly news: News[];
  readonly samples: Sample[];
  /** Ticks at which something happened that makes the time line denser. */
  readonly beats: number[];
  apply(batch: Batch): void;
  /** Takes note that everything before a tick has come, and some of it. */
  reach(tick: number): void;
  /** Forgets what happened before a tick, but what still holds there. */
  trim(tick: number): void;
}

/** Someone who plays. */
export interface Person {
  id: number;
  name: string;
  /** What else there is to say, such as a hero. */
  note: string;
  colour: string;
  /** Whether the game has him now. */
  here: boolean;
  team: number;
  /** Health from 0 to 1. */
  health?: number;
  /** What stands at the end of the line, such as money. */
  value?: string;
}

/** A side of the game. */
export interface Side {
  team: number;
  name: string;
  colour: string;
  score?: string;
}

/** A chart over the time of a game. */
export interface Chart {
  name: string;
  title: string;
}

/** How a format is played. */
export interface Format<W extends World = World> {
  /** What is streamed to show the game around the clock, and for the time line and the charts of all of it. */
  readonly around: StreamOptions;
  readonly whole: StreamOptions;
  readonly charts: readonly Chart[];
  /** Ticks in a second of those who watch, where the replay's own seconds are others. */
  readonly ticksPerSecond?: number;
  world(start: number): W;
  stage(canvas: HTMLCanvasElement, game: Game<W>): Stage<W>;
  people(world: W, tick: number): Person[];
  /** The sides, in the order in which they are listed. None where the players of a game are one list. */
  sides(world: W, tick: number): Side[];
  person(world: W, id: number, tick: number): { name: string; colour: string };
  /** What the game's own clock says. */
  clock?(world: W, tick: number): string;
  /** Whether there are lists of what each player built. */
  readonly builds?: boolean;
}
