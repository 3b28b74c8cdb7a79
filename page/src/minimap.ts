// A map that shows only its edges and the positions of players, for Source 2 demos and StarCraft II.

import { type Area, line } from "./draw.js";
import type { World } from "./format.js";
import { type Camera, Stage } from "./stage.js";
import { Steps, type Place } from "./steps.js";
import type { Overview } from "./overview.js";
import { theme } from "./theme.js";
import type { Walked } from "./walked.js";

export abstract class Minimap<W extends World> extends Stage<W> {
  protected get scales(): readonly [number, number] {
    const all = this.all(1);
    return [all.scale / 2, all.scale * 40];
  }

  protected get near(): number {
    return this.all(1).scale * 3;
  }

  /** The edges of the map, as far as they are known. */
  protected abstract area(): Area;

  private all(margin: number): Camera {
    const { left, right, top, bottom } = this.area();
    const size = Math.max(right - left, bottom - top, 1) * 0.02;
    return {
      x: (left + right) / 2, y: (top + bottom) / 2,
      scale: margin * Math.min(this.width / (right - left + 2 * size), this.height / (bottom - top + 2 * size)) || 1,
    };
  }

  protected target(): Camera {
    return this.all(0.96);
  }

  protected grid(): undefined {
    return undefined;
  }

  /** The picture of the map, if the daemon has one. */
  protected overview: Overview | undefined;

  /** Where players have been, which is drawn in place of a picture. */
  protected readonly walked: Walked | undefined;

  /** Waits for the picture of the map, or why there is none. Until then the stage is not whole. */
  async take(picture: Promise<Overview | string>): Promise<void> {
    this.whole = false;
    const found = await picture;
    if (typeof found === "string") this.note = found;
    else this.overview = found;
    this.whole = true;
  }

  /** Draws the ground within the edges, with grid lines or the picture of the map. Leaves the context in world units. */
  protected ground(c: CanvasRenderingContext2D, ratio: number): void {
    const { left, right, top, bottom } = this.area();
    const t = theme();
    this.in(c, ratio);
    c.fillStyle = t.ground;
    c.beginPath();
    c.roundRect(left, top, right - left, bottom - top, (right - left) * 0.015);
    c.fill();
    const thin = 1 / this.camera.scale;
    if (this.overview) {
      const { picture, area } = this.overview;
      c.drawImage(picture, area.left, area.top, area.right - area.left, area.bottom - area.top);
      return;
    }
    if (this.walked) {
      c.fillStyle = t.wall;
      c.globalAlpha = 0.6;
      c.fill(this.walked.path());
      c.globalAlpha = 1;
    }
    c.fillStyle = t.groundLine;
    for (let i = 1; i < 8; i++) {
      c.fillRect(left + ((right - left) * i) / 8, top, thin, bottom - top);
      c.fillRect(left, top + ((bottom - top) * i) / 8, right - left, thin);
    }
    c.strokeStyle = t.wallEdge;
    c.lineWidth = 1.5 * thin;
    c.beginPath();
    c.roundRect(left, top, right - left, bottom - top, (right - left) * 0.015);
    c.stroke();
  }

  /** Draws the trail of an object, in world units. The trail ends at a step longer than furthest, which is a teleport. */
  protected trail(c: CanvasRenderingContext2D, places: Steps<Place>, now: Place, ticks: number, colour: string, furthest: number): void {
    const { tick } = this.game;
    let newer = now;
    c.strokeStyle = colour;
    c.lineWidth = 2 / this.camera.scale;
    for (let index = places.indexAt(tick); index >= 0 && newer; index--) {
      const older = places.values[index];
      const age = (tick - places.ticks[index]) / ticks;
      if (age > 1 || !older || Math.abs(older.x - newer.x) + Math.abs(older.y - newer.y) > furthest) break;
      c.globalAlpha = 0.6 * (1 - age);
      line(c, newer, older);
      c.stroke();
      newer = older;
    }
    c.globalAlpha = 1;
  }
}
