// What the daemon calculates of a DDNet game whose map it has: hooks, weapons, freezes, and what flies.

import type { Event, Replay } from "@replayd/client";
import { Proof, type Event as TeeEvent, type SampleCharacter, type SampleShot, Weapon } from "@replayd/client/gen/replayd/teehistorian/v1/events_pb.js";
import { circle, line, type Point } from "./draw.js";
import { World } from "./format.js";
import { Game } from "./game.js";
import { Lazy } from "./lazy.js";
import { type Place, placeBetween, Steps } from "./steps.js";
import { theme } from "./theme.js";

/** Characters are asked for as often as DDNet shows them to players. */
const every = 2; // ticks
/** A hook flies at most so far in that time, in world units. */
const furthest = 400;

/** How each weapon is held, and what it shoots is drawn: its length, its width and its colour. */
const arms: Partial<Record<Weapon, [length: number, width: number, colour: string]>> = {
  [Weapon.HAMMER]: [16, 8, "#b98a5a"], [Weapon.GUN]: [14, 4, "#8b95a7"], [Weapon.SHOTGUN]: [20, 5, "#a5713c"],
  [Weapon.GRENADE]: [20, 8, "#c2453d"], [Weapon.LASER]: [22, 4, "#5b8fe0"], [Weapon.NINJA]: [30, 3, "#dfe6f2"],
};

/** Draws what is proven as it is, and what is a guess with gaps and faintly. */
function as(c: CanvasRenderingContext2D, proof: Proof | undefined, draw: () => void): void {
  const known = proof === Proof.PROVEN || proof === Proof.APPEARED;
  c.save();
  c.setLineDash(known ? [] : [4, 6]);
  c.globalAlpha = known ? 1 : 0.6;
  draw();
  c.restore();
}

/** Draws a hook in the colour of the context. */
export function hook(c: CanvasRenderingContext2D, proof: Proof | undefined, from: Point, at: Point): void {
  as(c, proof, () => {
    c.lineWidth = 3;
    line(c, from, at);
    c.stroke();
    circle(c, at.x, at.y, 5);
    c.fill();
  });
}

/** What is loaded of it. It is a game beside the one that is shown, which waits for nothing of it, and goes on if the daemon refuses it. */
export class Played extends World {
  private readonly characters = new Lazy((_id: number) => new Steps<SampleCharacter>());
  private readonly hooks = new Lazy((_id: number) => new Steps<Place>());
  private readonly shots = new Steps<SampleShot[]>();

  static of(replay: Replay): Game<Played> {
    const around = { include: [{ kinds: ["sample_character" as const], ticks: { every } }, { kinds: ["sample_shot" as const], ticks: { every: 1 } }] };
    return new Game(replay, { around, whole: {}, stateless: true, world: (start) => new Played(start) });
  }

  protected take({ event }: Event, tick: number): void {
    const { kind } = event as TeeEvent;
    if (kind.case === "sampleCharacter") {
      const { clientId, hookX: x, hookY: y } = kind.value;
      this.characters.of(clientId).push(tick, kind.value);
      this.hooks.of(clientId).push(tick, x === undefined || y === undefined ? undefined : { x, y });
    } else if (kind.case === "sampleShot") this.shots.push(tick, [...this.shotsAt(tick), kind.value]);
  }

  protected *steps(): Iterable<Steps<unknown>> { yield* [this.shots, ...this.characters.values(), ...this.hooks.values()]; }

  private shotsAt(tick: number): SampleShot[] {
    return this.shots.ticks[this.shots.indexAt(tick)] === tick ? this.shots.at(tick)! : [];
  }

  /** A client's character at a time, if it is known. */
  at(id: number, time: number): SampleCharacter | undefined {
    const steps = this.characters.of(id);
    return time - steps.ticks[steps.indexAt(time)] < every ? steps.at(time) : undefined;
  }

  /** Where a client's hook is at a time at which its character is known, if it is out. */
  hookAt(id: number, time: number): Place { return placeBetween(this.hooks.of(id), time, every, furthest); }

  /** Draws what a character has in its hand, and that it is frozen. */
  tee(c: CanvasRenderingContext2D, { weapon, proof, freezeTicks, deepFrozen, liveFrozen }: SampleCharacter, { x, y }: Point, ahead: (far: number) => Point): void {
    as(c, proof, () => {
      const [length, width, colour] = arms[weapon] ?? [0, 0, ""];
      Object.assign(c, { strokeStyle: colour, lineWidth: width, lineCap: "butt" });
      line(c, ahead(15), ahead(15 + length));
      c.stroke();
      if (freezeTicks === 0 && !deepFrozen && !liveFrozen) return;
      Object.assign(c, { strokeStyle: theme().frost, fillStyle: theme().freeze, lineWidth: 3 });
      circle(c, x, y, 21);
      c.fill();
      c.stroke();
    });
  }

  /** Draws grenades and beams. */
  flying(c: CanvasRenderingContext2D, time: number): void {
    for (const { weapon, x, y, fromX, fromY, proof } of this.shotsAt(Math.floor(time))) as(c, proof, () => {
      Object.assign(c, { strokeStyle: arms[weapon]![2], lineWidth: arms[weapon]![1] });
      if (weapon === Weapon.GRENADE) circle(c, x, y, 6);
      else line(c, { x: fromX, y: fromY }, { x, y });
      c.stroke();
    });
  }
}
