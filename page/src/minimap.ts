// A map that shows only its edges and the positions of players, for Source 2 demos and StarCraft II.

import { type Area, type Overview, spread } from "./draw.js";
import type { World } from "./format.js";
import { type Camera, Stage } from "./stage.js";
import { theme } from "./theme.js";
import type { Walked } from "./walked.js";

export abstract class Minimap<W extends World> extends Stage<W> {
  protected get scales(): readonly [number, number] {
    const all = this.all(1);
    return [all.scale / 2, all.scale * 40];
  }

  protected get near(): number { return this.all(1).scale * 3; }

  /** The edges of the map, as far as they are known. */
  protected abstract area(): Area;

  private all(part: number): Camera {
    const area = this.area();
    const { x, y, scale } = this.fit(area, Math.max(area.right - area.left, area.bottom - area.top, 1) * 0.02);
    return { x, y, scale: scale * part };
  }

  protected target(): Camera { return this.all(0.96); }

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
    if (this.overview) return spread(c, this.overview);
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
}
