// The picture of a game: its camera, and the parts that all games share.

import { type Area, circle, line, type Point } from "./draw.js";
import type { World } from "./format.js";
import type { Game } from "./game.js";
import { type Heat, HeatMap } from "./heat.js";
import type { Place, Steps } from "./steps.js";
import { theme } from "./theme.js";

/** The centre of the picture in world units (y points down), and the scale in CSS pixels per world unit. */
export interface Camera extends Point { scale: number }

/** Something in the picture that a viewer may ask about: where it is, and what it is in a few words. */
export interface Thing extends Point { is: () => string }

/** The length of the shortest line of a trail, in CSS pixels. */
const shortest = 1.5;

/** How far from a player a viewer may tap to choose the player, and from a thing to ask about it, in CSS pixels. */
const reach = { pick: 30, ask: 16 };

/** A player in the picture. */
export interface Spot extends Point { id: number }

export abstract class Stage<W extends World = World> {
  camera: Camera = { x: 0, y: 0, scale: 0.8 };
  /** The player that the camera follows. */
  followed: number | undefined;
  /** The camera chooses its target itself, until the viewer moves it. */
  automatic = true;
  /** What is missing of the picture, in one sentence, or nothing. */
  note = "";
  /** Whether the ground is drawn as its designer made it, where there is such a design. */
  withDesign = true;
  /** What is drawn over the ground: where players have been or died, of the one that is followed or all. */
  heat: Heat = "";
  private readonly heatMap = new HeatMap();
  /** Everything that each tick needs, such as the map, has been loaded. */
  whole = true;
  protected width = 0;
  protected height = 0;
  /** The camera has been set at least once. */
  protected placed = false;
  /** The camera zooms in as soon as the followed player is present. */
  private nearer = false;
  private readonly context: CanvasRenderingContext2D;
  protected abstract readonly scales: readonly [least: number, most: number];

  constructor(readonly canvas: HTMLCanvasElement, protected readonly game: Game<W>) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  /** The players that are present at the clock's tick. */
  protected spots(): Spot[] { return []; }

  /** Those of some players who are somewhere. */
  protected spotsOf<P extends { id: number }>(players: Iterable<P>, placeOf: (player: P) => Place): Spot[] {
    return Array.from(players, (player) => ({ id: player.id, place: placeOf(player) })).flatMap(({ id, place }) => (place ? [{ id, ...place }] : []));
  }

  /** The target of an automatic camera, or undefined to stay. */
  protected abstract target(spots: readonly Spot[]): Camera | undefined;
  /** The minimum scale for following a player. */
  protected abstract readonly near: number;
  /** World units between lines of the grid, or undefined for no grid. */
  protected grid(): number | undefined { return undefined; }

  /** What there is to ask about; of things at the same place the last one is meant. */
  protected abstract things(): Thing[];
  /** Draws in pixels of the canvas. in() switches the context to world units. */
  protected abstract paint(c: CanvasRenderingContext2D, spots: Spot[], ratio: number): void;

  /** Makes the camera jump to its target in the next picture. */
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

  /** The player at a point of the page, or undefined. */
  pick(atX: number, atY: number): number | undefined { return this.nearest(this.spots(), { x: atX, y: atY }, reach.pick)?.id; }

  /** What is at a point of the page, in a few words, and where it is on the page. Undefined if there is nothing. */
  what(atX: number, atY: number): (Point & { text: string }) | undefined {
    const best = this.nearest(this.things(), { x: atX, y: atY }, reach.ask);
    return best && { text: best.is(), ...this.onPage(best) };
  }

  /** What is nearest to a point of the page, and not farther than most; the last one of those at one place. */
  private nearest<T extends Point>(all: readonly T[], at: Point, most: number): T | undefined {
    let best: T | undefined;
    for (const one of all) {
      const { x, y } = this.onPage(one);
      const distance = Math.hypot(x - at.x, y - at.y);
      if (distance <= most) [best, most] = [one, distance];
    }
    return best;
  }

  /** Draws the clock's tick. milliseconds is the time since the last picture. */
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
    this.placed ||= this.game.ready && this.whole; // until then the target may still change
  }

  /** Draws the heat map, if the viewer wants it, into a context in world units. */
  protected warm(c: CanvasRenderingContext2D): void {
    const { heat, followed, game: { told: { dots } } } = this;
    const died = heat === "Where players died";
    if (heat) this.heatMap.draw(c, dots, (dot) => (dot.died ?? false) === died && (followed === undefined || dot.id === followed), [heat, followed, dots.length >> 6, theme().name].join());
  }

  /** Switches a context to world units. */
  protected in(c: CanvasRenderingContext2D, ratio: number): void {
    const { x, y, scale } = this.camera;
    c.setTransform(scale * ratio, 0, 0, scale * ratio, c.canvas.width / 2 - x * scale * ratio, c.canvas.height / 2 - y * scale * ratio);
  }

  /** The position of a point of the world on the page. */
  protected onPage({ x, y }: Point): Point {
    const { camera } = this;
    return { x: (x - camera.x) * camera.scale + this.width / 2, y: (y - camera.y) * camera.scale + this.height / 2 };
  }

  /** The camera that shows an area with a margin around it. */
  protected fit({ left, top, right, bottom }: Area, margin: number): Camera {
    const scale = Math.min(this.width / (right - left + 2 * margin), this.height / (bottom - top + 2 * margin));
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale: scale || 1 };
  }

  /**
   * Draws the way to a place in world units, as far as it goes back in ticks, and to a step longer than furthest, which is a teleport. The
   * width is given by the part of the way that is left. It is drawn in bands of one line each: separate translucent lines would overlap
   * where they meet, and show dots.
   */
  protected trail(c: CanvasRenderingContext2D, places: Steps<Place>, now: Place, ticks: number, furthest: number, colour: string, width: (left: number) => number): void {
    const { tick } = this.game;
    const points: Point[] = [];
    let newer = now;
    for (let index = places.indexAt(tick); index >= 0 && newer; index--) {
      const last = points.at(-1);
      if (!last || Math.hypot(last.x - newer.x, last.y - newer.y) * this.camera.scale >= shortest) points.push(newer);
      const older = places.values[index];
      if (tick - places.ticks[index] > ticks || !older || Math.abs(older.x - newer.x) + Math.abs(older.y - newer.y) > furthest) break;
      newer = older;
    }
    const bands = Math.min(12, Math.max(3, points.length >> 3)); // of a short way nobody sees more
    const each = Math.max(1, Math.ceil(points.length / bands));
    c.strokeStyle = colour;
    c.lineJoin = "round";
    c.lineCap = "butt";
    for (let from = 0; from + 1 < points.length; from += each) {
      const left = 1 - from / points.length;
      c.globalAlpha = 0.6 * left ** 1.5 + 0.03;
      c.lineWidth = width(left);
      line(c, ...points.slice(from, from + each + 1));
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  /** Draws the ring around the player that is followed. */
  protected ring(c: CanvasRenderingContext2D, x: number, y: number, radius: number, width: number): void {
    c.strokeStyle = theme().finish;
    c.lineWidth = width;
    circle(c, x, y, radius);
    c.stroke();
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

  /** Draws the names above the players, in CSS pixels. Names do not overlap, except that of the followed player. */
  protected names(c: CanvasRenderingContext2D, ratio: number, spots: readonly Spot[], above: number, nameOf: (id: number) => string): void {
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const taken: Point[] = [];
    for (const spot of spots) {
      const at = this.onPage(spot);
      if (this.followed !== spot.id && taken.some((other) => Math.abs(other.x - at.x) < 56 && Math.abs(other.y - at.y) < 13)) continue;
      taken.push(at);
      label(c, ratio, nameOf(spot.id), at.x, at.y - above, this.followed === spot.id);
    }
  }
}

/** Names as pictures, by what they look like. Drawing a text with its outline anew in each frame takes long. */
const labels = new Map<string, HTMLCanvasElement>();
const keptLabels = 500;

/** Draws a name with its middle at x, and its base line at y. The context's units are CSS pixels, of which ratio says how many pixels each has. */
export function label(c: CanvasRenderingContext2D, ratio: number, name: string, x: number, y: number, strong: boolean): void {
  const key = `${strong} ${ratio} ${theme().name} ${name}`;
  if (!labels.has(key) && labels.size >= keptLabels) labels.clear();
  const picture = labels.get(key) ?? labelOf(name, strong, ratio);
  labels.set(key, picture);
  const [width, height] = [picture.width / ratio, picture.height / ratio];
  const whole = (at: number) => Math.round(at * ratio) / ratio; // between pixels it would be blurred
  c.drawImage(picture, whole(x - width / 2), whole(y - height + below), width, height);
}

/** How far a label reaches below its base line, and how wide it is at most, in CSS pixels. */
const below = 6;
const widest = 400;

function labelOf(name: string, strong: boolean, ratio: number): HTMLCanvasElement {
  const t = theme();
  const picture = document.createElement("canvas");
  const c = picture.getContext("2d")!;
  const font = `${strong ? 700 : 600} 12px system-ui, sans-serif`;
  c.font = font;
  const [width, height] = [Math.min(widest, Math.ceil(c.measureText(name).width / 2) * 2 + 8), 24];
  Object.assign(picture, { width: Math.ceil(width * ratio), height: Math.ceil(height * ratio) }); // which resets the context
  Object.assign(c, { font, textAlign: "center", lineJoin: "round", lineWidth: 4, strokeStyle: t.halo, fillStyle: strong ? t.finish : t.label });
  c.scale(ratio, ratio);
  c.strokeText(name, width / 2, height - below);
  c.fillText(name, width / 2, height - below);
  return picture;
}
