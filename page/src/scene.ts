// Draws a game of Teeworlds: its map, its characters and their trails.

import type { Designed } from "./designed.js";
import { type GameMap, tileSize } from "./map.js";
import { type Camera, type Spot, Stage, type Thing } from "./stage.js";
import type { Place } from "./steps.js";
import { colourOf, theme } from "./theme.js";
import { type Client, jumped, teamText, type TeeWorld } from "./world.js";

/** The length of trails in ticks. */
const trailTicks = 75;
const teeRadius = 15;
/** Below this radius in CSS pixels a character is a disc of this radius: feet, eyes and hooks would not be seen, but the player must be. */
const specks = 3;
/** The length of the shortest line of a trail, in CSS pixels. */
const shortest = 1.5;

export class Scene extends Stage<TeeWorld> {
  map: GameMap | undefined;
  /** The layers as they were designed, once they are there, and whether they show the walls. */
  design: { layers: Designed; complete: boolean } | undefined;
  protected readonly scales = [0.02, 3] as const;
  protected readonly near = 0.9;

  protected spots(): Spot[] {
    const { world, tick } = this.game;
    const spots: Spot[] = [];
    for (const client of world.clients.values()) {
      const place = world.placeAt(client, tick);
      if (place) spots.push({ id: client.id, ...place });
    }
    return spots.sort((a, b) => a.id - b.id);
  }

  protected things(): Thing[] {
    const { world, tick } = this.game;
    return this.spots().map(({ id, x, y }) => ({ x, y, is: () => [world.client(id).nameAt(tick), teamText(world.client(id).teams.at(tick) ?? 0)].filter(Boolean).join(" · ") }));
  }

  protected grid(): number | undefined {
    return this.map ? undefined : tileSize * 4;
  }

  protected paint(c: CanvasRenderingContext2D, spots: Spot[], ratio: number): void {
    const { game } = this;
    const { x, y, scale } = this.camera;
    const { width, height } = c.canvas;
    const design = this.withDesign ? this.design : undefined;
    if (design) {
      design.layers.draw(this.camera, ratio, width, height, (game.tick / game.ticksPerSecond) * 1000, ({ detail }) => !detail || scale > 0.1);
      c.drawImage(design.layers.canvas, 0, 0);
    }
    if (design) c.globalAlpha = 0.55;
    if (!design?.complete) this.map?.draw(c, x, y, scale * ratio, width, height);
    c.globalAlpha = 1;
    this.in(c, ratio);
    this.warm(c);
    for (const { id } of spots) this.trail(c, game.world.client(id));
    for (const client of game.world.clients.values()) this.death(c, client);
    for (const spot of spots) this.tee(c, game.world.client(spot.id), spot);
    this.names(c, ratio, spots, Math.max(34 * scale, 3 * specks), (id) => game.world.client(id).nameAt(game.tick));
  }

  protected target(places: readonly Spot[]): Camera | undefined {
    const { map } = this;
    if (places.length === 0) {
      if (this.placed || !map) return undefined;
      const size = { x: map.width * tileSize, y: map.height * tileSize };
      Object.assign(this.camera, { x: size.x / 2, y: size.y / 2, scale: Math.min(this.width / size.x, this.height / size.y) });
      return undefined; // so that the camera jumps to the first character
    }
    const xs = places.map((place) => place.x).sort((a, b) => a - b);
    const ys = places.map((place) => place.y).sort((a, b) => a - b);
    const [left, right, top, bottom] = [xs[0], xs.at(-1)!, ys[0], ys.at(-1)!];
    const margin = 420;
    const target = {
      x: (left + right) / 2, y: (top + bottom) / 2,
      scale: Math.min(0.9, this.width / (right - left + 2 * margin), this.height / (bottom - top + 2 * margin)),
    };
    if (map) { // beyond a map's edges is only wall
      const inside = (at: number, tiles: number, seen: number) => {
        const [size, half] = [tiles * tileSize, seen / 2 / target.scale - tileSize];
        return size <= 2 * half ? size / 2 : Math.min(Math.max(at, half), size - half);
      };
      target.x = inside(target.x, map.width, this.width);
      target.y = inside(target.y, map.height, this.height);
    }
    return target;
  }

  private trail(c: CanvasRenderingContext2D, client: Client): void {
    const { game } = this;
    const { places } = client;
    const now = Math.floor(game.tick);
    const points: { x: number; y: number }[] = [];
    const near = (shortest / this.camera.scale) ** 2;
    let newer = game.world.placeAt(client, game.tick);
    for (let index = places.indexAt(now); index >= 0 && newer; index--) {
      const last = points.at(-1);
      if (!last || (last.x - newer.x) ** 2 + (last.y - newer.y) ** 2 >= near) points.push(newer);
      const older = places.values[index];
      if (game.tick - places.ticks[index] > trailTicks || !older || jumped(older, newer)) break;
      newer = older;
    }
    // Draw the trail in bands of one line each. Separate translucent lines would overlap where they meet, and show dots.
    const bands = Math.min(12, Math.max(2, Math.ceil(this.camera.scale * 20))); // from afar nobody sees them
    const each = Math.max(1, Math.ceil(points.length / bands));
    c.strokeStyle = colourOf(client.id);
    c.lineJoin = "round";
    c.lineCap = "butt";
    const thin = 1 / this.camera.scale;
    for (let from = 0; from + 1 < points.length; from += each) {
      const left = 1 - from / points.length;
      c.globalAlpha = 0.6 * left ** 1.5 + 0.03;
      c.lineWidth = Math.max(thin, 2 + 11 * left);
      c.beginPath();
      c.moveTo(points[from].x, points[from].y);
      for (let i = from + 1; i < Math.min(from + each + 1, points.length); i++) c.lineTo(points[i].x, points[i].y);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  private death(c: CanvasRenderingContext2D, client: Client): void {
    const { game } = this;
    for (let i = client.deaths.length - 1; i >= 0; i--) {
      const { tick, x, y } = client.deaths[i];
      const age = (game.tick - tick) / 30;
      if (age > 1) break;
      if (age < 0) continue;
      c.strokeStyle = colourOf(client.id);
      c.globalAlpha = 1 - age;
      c.lineWidth = 4 * (1 - age) + 0.5;
      c.beginPath();
      c.arc(x, y, 14 + 40 * age, 0, 7);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  private tee(c: CanvasRenderingContext2D, client: Client, { x, y }: NonNullable<Place>): void {
    const { game } = this;
    const t = theme();
    const colour = colourOf(client.id);
    if (teeRadius * this.camera.scale < specks) {
      c.fillStyle = colour;
      c.beginPath();
      c.arc(x, y, specks / this.camera.scale, 0, 7);
      c.fill();
      if (this.followed === client.id) this.ring(c, x, y);
      return;
    }
    const tick = Math.floor(game.tick);
    const aim = client.aims.at(tick);
    const angle = aim && (aim.x || aim.y) ? Math.atan2(aim.y, aim.x) : 0;
    if (aim?.hook) { // only the direction, because the file does not contain the hook's length
      c.strokeStyle = colour;
      c.globalAlpha = 0.9;
      c.lineWidth = 3;
      c.setLineDash([7, 5]);
      c.beginPath();
      c.moveTo(x + Math.cos(angle) * 20, y + Math.sin(angle) * 20);
      c.lineTo(x + Math.cos(angle) * 74, y + Math.sin(angle) * 74);
      c.stroke();
      c.setLineDash([]);
      c.beginPath();
      c.arc(x + Math.cos(angle) * 78, y + Math.sin(angle) * 78, 4, 0, 7);
      c.stroke();
      c.globalAlpha = 1;
    }
    const walked = Math.sin(x / 14) * 3;
    c.lineWidth = 3;
    c.strokeStyle = t.outline;
    c.fillStyle = colour;
    for (const side of [-1, 1]) { // feet
      c.beginPath();
      c.ellipse(x + side * 7 + walked * side * 0.5, y + 11 - Math.max(0, walked * side) * 0.7, 8, 4.5, 0, 0, 7);
      c.stroke();
      c.fill();
    }
    c.beginPath();
    c.arc(x, y - 2, teeRadius, 0, 7);
    c.stroke();
    c.fill();
    c.fillStyle = "#ffffff2e"; // light from above
    c.beginPath();
    c.ellipse(x - 3, y - 8, 7, 4, -0.5, 0, 7);
    c.fill();
    const [ex, ey] = [x + Math.cos(angle) * 6, y - 3 + Math.sin(angle) * 5];
    for (const side of [-1, 1]) {
      c.fillStyle = t.eye;
      c.beginPath();
      c.ellipse(ex + side * 4.2, ey, 3.6, 4.8, 0, 0, 7);
      c.fill();
      c.fillStyle = "#0b0e15";
      c.beginPath();
      c.ellipse(ex + side * 4.2 + Math.cos(angle) * 1.5, ey + Math.sin(angle) * 1.8, 1.8, 2.4, 0, 0, 7);
      c.fill();
    }
    const shot = client.shots.findLast((at) => at <= tick);
    const age = shot === undefined ? 1 : (game.tick - shot) / 8;
    if (age < 1) {
      c.fillStyle = t.finish;
      c.globalAlpha = 1 - age;
      c.beginPath();
      c.arc(x + Math.cos(angle) * 32, y + Math.sin(angle) * 32, 4 + 6 * age, 0, 7);
      c.fill();
      c.globalAlpha = 1;
    }
    if (this.followed === client.id) this.ring(c, x, y);
  }

  private ring(c: CanvasRenderingContext2D, x: number, y: number): void {
    c.strokeStyle = theme().finish;
    c.lineWidth = Math.max(2, 1.5 / this.camera.scale);
    c.beginPath();
    c.arc(x, y, Math.max(26, 2 * specks / this.camera.scale), 0, 7);
    c.stroke();
  }
}
