// The picture of a game: where it looks at, and what is the same for all games.

import type { World } from "./format.js";
import type { Game } from "./game.js";
import { theme } from "./theme.js";

/** Where the picture looks at, in world units (y down), and pixels of the page of a world unit. */
export interface Camera {
  x: number;
  y: number;
  scale: number;
}

/** Someone who is in the picture. */
export interface Spot {
  id: number;
  x: number;
  y: number;
}

export abstract class Stage<W extends World = World> {
  camera: Camera = { x: 0, y: 0, scale: 0.8 };
  /** The player that the camera stays with. */
  followed: number | undefined;
  /** The camera looks where the game is, until somebody moves it. */
  automatic = true;
  /** Nothing is missing that is drawn of every tick. */
  whole = true;
  protected width = 0;
  protected height = 0;
  /** What the picture shows has been set at least once. */
  protected placed = false;
  /** Who is followed is to be seen from near when he is there. */
  private nearer = false;
  private readonly context: CanvasRenderingContext2D;
  protected abstract readonly scales: readonly [least: number, most: number];

  constructor(readonly canvas: HTMLCanvasElement, protected readonly game: Game<W>) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  /** Who is there at the clock's tick. */
  protected abstract spots(): Spot[];
  /** Where an automatic camera looks; undefined to stay. */
  protected abstract target(spots: readonly Spot[]): Camera | undefined;
  /** The scale at which one is followed, at least. */
  protected abstract readonly near: number;
  /** World units between lines of the grid; undefined for none. */
  protected abstract grid(): number | undefined;
  /** Draws in pixels of the canvas; in() has the context draw in world units. */
  protected abstract paint(c: CanvasRenderingContext2D, spots: Spot[], ratio: number): void;

  /** Has the next picture begin where the game is. */
  reset(): void {
    this.placed = false;
  }

  follow(id: number | undefined): void {
    this.followed = id;
    this.nearer = id !== undefined;
  }

  showAll(): void {
    this.automatic = true;
    this.followed = undefined;
  }

  zoom(factor: number, atX = this.width / 2, atY = this.height / 2): void {
    const { camera } = this;
    const scale = Math.min(this.scales[1], Math.max(this.scales[0], camera.scale * factor));
    const change = 1 / camera.scale - 1 / scale;
    if (this.followed === undefined) {
      camera.x += (atX - this.width / 2) * change;
      camera.y += (atY - this.height / 2) * change;
      this.automatic = false;
    }
    camera.scale = scale;
  }

  pan(dx: number, dy: number): void {
    this.automatic = false;
    this.followed = undefined;
    this.camera.x -= dx / this.camera.scale;
    this.camera.y -= dy / this.camera.scale;
  }

  /** The player at a place of the page, undefined for none. */
  pick(atX: number, atY: number): number | undefined {
    const { x, y, scale } = this.camera;
    let best: number | undefined;
    let nearest = 30 / scale;
    for (const spot of this.spots()) {
      const distance = Math.hypot(spot.x - x - (atX - this.width / 2) / scale, spot.y - y - (atY - this.height / 2) / scale);
      if (distance < nearest) [best, nearest] = [spot.id, distance];
    }
    return best;
  }

  /** Draws the clock's tick. Milliseconds have gone since the last picture. */
  draw(milliseconds: number): void {
    const { canvas, context: c } = this;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    if (!width || !height) return;
    const spots = this.spots();
    this.look(spots, milliseconds);
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = theme().air;
    c.fillRect(0, 0, width, height);
    this.lines(c, width, height, this.camera.scale * ratio);
    this.paint(c, spots, ratio);
  }

  private look(spots: Spot[], milliseconds: number): void {
    const { camera } = this;
    const one = spots.find(({ id }) => id === this.followed);
    if (one && this.nearer) {
      this.nearer = false;
      camera.scale = Math.max(camera.scale, this.near);
    }
    const target = one ? { ...camera, x: one.x, y: one.y } : this.automatic ? this.target(spots) : undefined;
    if (!target) return;
    const part = this.placed ? 1 - Math.exp(-milliseconds / (one ? 70 : 350)) : 1;
    camera.x += (target.x - camera.x) * part;
    camera.y += (target.y - camera.y) * part;
    camera.scale += (target.scale - camera.scale) * part;
    this.placed ||= this.game.ready && this.whole; // what is known before that may look elsewhere
  }

  /** Has a context draw in world units. */
  protected in(c: CanvasRenderingContext2D, ratio: number): void {
    const { x, y, scale } = this.camera;
    c.setTransform(scale * ratio, 0, 0, scale * ratio, c.canvas.width / 2 - x * scale * ratio, c.canvas.height / 2 - y * scale * ratio);
  }

  /** Where a place is on the page. */
  protected onPage({ x, y }: { x: number; y: number }): { x: number; y: number } {
    const { camera } = this;
    return { x: (x - camera.x) * camera.scale + this.width / 2, y: (y - camera.y) * camera.scale + this.height / 2 };
  }

  private lines(c: CanvasRenderingContext2D, width: number, height: number, scale: number): void {
    let step = this.grid();
    if (step === undefined) return;
    while (step * scale < 40) step *= 2;
    const { x, y } = this.camera;
    c.fillStyle = theme().grid;
    for (let gx = Math.floor((x - width / 2 / scale) / step) * step; (gx - x) * scale < width / 2; gx += step) {
      c.fillRect(Math.round((gx - x) * scale + width / 2), 0, 1, height);
    }
    for (let gy = Math.floor((y - height / 2 / scale) / step) * step; (gy - y) * scale < height / 2; gy += step) {
      c.fillRect(0, Math.round((gy - y) * scale + height / 2), width, 1);
    }
  }

  /** Writes names over those who are there, in pixels of the page, so that none covers another but that of who is followed. */
  protected names(c: CanvasRenderingContext2D, ratio: number, spots: readonly Spot[], above: number, nameOf: (id: number) => string): void {
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const taken: { x: number; y: number }[] = [];
    for (const spot of spots) {
      const at = this.onPage(spot);
      if (this.followed !== spot.id && taken.some((other) => Math.abs(other.x - at.x) < 56 && Math.abs(other.y - at.y) < 13)) continue;
      taken.push(at);
      label(c, nameOf(spot.id), at.x, at.y - above, this.followed === spot.id);
    }
  }
}

export function label(c: CanvasRenderingContext2D, name: string, x: number, y: number, strong: boolean): void {
  const t = theme();
  c.font = `${strong ? 700 : 600} 12px system-ui, sans-serif`;
  c.textAlign = "center";
  c.lineJoin = "round";
  c.lineWidth = 4;
  c.strokeStyle = t.halo;
  c.strokeText(name, x, y);
  c.fillStyle = strong ? t.finish : t.label;
  c.fillText(name, x, y);
}
