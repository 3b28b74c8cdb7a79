// Where players have been, or died, as a picture over the ground.

import { areaOf, channels } from "./draw.js";
import type { Dot } from "./format.js";
import { theme } from "./theme.js";

/** The cells along the longer side of the part of the world that is covered. */
const cells = 96;

/** What a heat map shows, in the order in which a key chooses them, by the titles. */
export const heats = ["", "Where players have been", "Where players died"] as const;
export type Heat = (typeof heats)[number];

/** Draws dots so that places with more of them are warmer. The picture is drawn anew when there are others. */
export class HeatMap {
  private readonly picture = document.createElement("canvas");
  private key = "";
  private area = { left: 0, top: 0, size: 1 };

  /** Draws the dots that are wanted, into a context in world units. */
  draw(c: CanvasRenderingContext2D, dots: readonly Dot[], wanted: (dot: Dot) => boolean, key: string): void {
    if (key !== this.key) this.paint(dots, wanted, key);
    const { left, top, size } = this.area;
    c.imageSmoothingEnabled = true;
    c.drawImage(this.picture, left, top, this.picture.width * size, this.picture.height * size);
  }

  private paint(dots: readonly Dot[], wanted: (dot: Dot) => boolean, key: string): void {
    this.key = key;
    const { picture } = this;
    const { left, top, right, bottom } = areaOf(dots) ?? { left: 0, top: 0, right: 0, bottom: 0 };
    const size = Math.max(right - left, bottom - top, 1) / cells;
    const margin = 3;
    this.area = { left: left - margin * size, top: top - margin * size, size };
    const [width, height] = [right - left, bottom - top].map((long) => Math.ceil(long / size) + 2 * margin + 1);
    Object.assign(picture, { width, height });
    const heat = new Float32Array(width * height);
    for (const { x, y } of dots.filter(wanted)) { // each warms the cells around it
      const [column, row] = [Math.floor((x - this.area.left) / size), Math.floor((y - this.area.top) / size)];
      for (let dy = -2; dy <= 2; dy++) for (let dx = -2; dx <= 2; dx++) heat[(row + dy) * width + column + dx] += Math.exp(-(dx * dx + dy * dy) / 2);
    }
    const most = heat.reduce((a, b) => Math.max(a, b), 0);
    const context = picture.getContext("2d")!;
    const image = context.createImageData(width, height);
    const [cold, hot] = [theme().blue, theme().dire].map((hex) => channels(hex).slice(0, 3));
    heat.forEach((value, i) => {
      const part = Math.sqrt(value / most || 0); // few places have most, and the others are to be seen, too
      image.data.set([...cold.map((from, channel) => from + (hot[channel] - from) * part), part > 0.08 ? 60 + 170 * part : 0], i * 4);
    });
    context.putImageData(image, 0, 0);
  }
}
