// Draws a game: its map, who is there, and where they came from.

import type { Game } from "./game.js";
import { type GameMap, tileSize } from "./map.js";
import { colourOf, theme } from "./theme.js";
import { type Client, jumped, type Place } from "./world.js";

/** How far trails go back, in ticks. */
const trailTicks = 75;
const teeRadius = 15;

/** Where the picture looks at, in world units, and pixels of the page of a world unit. */
export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export class Scene {
  map: GameMap | undefined;
  camera: Camera = { x: 0, y: 0, scale: 0.8 };
  /** The client that the camera stays with. */
  followed: number | undefined;
  /** The camera shows everybody, until somebody moves it. */
  automatic = true;
  /** What the picture shows has been set at least once. */
  private placed = false;
  private readonly context: CanvasRenderingContext2D;
  private width = 0;
  private height = 0;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  /** Has the next picture begin where everybody is. */
  reset(): void {
    this.placed = false;
  }

  zoom(factor: number, atX = this.width / 2, atY = this.height / 2): void {
    const { camera } = this;
    const scale = Math.min(3, Math.max(0.02, camera.scale * factor));
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

  /** The client at a place of the page, undefined for none. */
  pick(game: Game, atX: number, atY: number): number | undefined {
    const { x, y, scale } = this.camera;
    let best: number | undefined;
    let nearest = 30 / scale;
    for (const client of game.world.clients.values()) {
      const place = game.world.placeAt(client, game.tick);
      if (!place) continue;
      const distance = Math.hypot(place.x - x - (atX - this.width / 2) / scale, place.y - y - (atY - this.height / 2) / scale);
      if (distance < nearest) [best, nearest] = [client.id, distance];
    }
    return best;
  }

  /** Draws a tick. Milliseconds have gone since the last picture. */
  draw(game: Game, milliseconds: number): void {
    const { canvas, context: c } = this;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    if (!width || !height) return;
    const t = theme();
    const here: { client: Client; place: NonNullable<Place> }[] = [];
    for (const client of game.world.clients.values()) {
      const place = game.world.placeAt(client, game.tick);
      if (place) here.push({ client, place });
    }
    here.sort((a, b) => a.client.id - b.client.id);
    this.look(here.map(({ client, place }) => ({ id: client.id, ...place })), milliseconds);

    const { x, y, scale } = this.camera;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = t.air;
    c.fillRect(0, 0, width, height);
    this.grid(c, width, height, scale * ratio);
    this.map?.draw(c, x, y, scale * ratio, width, height);
    c.setTransform(scale * ratio, 0, 0, scale * ratio, width / 2 - x * scale * ratio, height / 2 - y * scale * ratio);
    for (const { client } of here) this.trail(c, game, client);
    for (const client of game.world.clients.values()) this.death(c, game, client);
    for (const { client, place } of here) this.tee(c, game, client, place);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const taken: { x: number; y: number }[] = []; // where names are, so that none covers another
    for (const { client, place } of here) {
      const [at, down] = [(place.x - x) * scale, (place.y - y) * scale];
      if (this.followed !== client.id && taken.some((other) => Math.abs(other.x - at) < 56 && Math.abs(other.y - down) < 13)) continue;
      taken.push({ x: at, y: down });
      this.label(c, client.nameAt(game.tick), (place.x - x) * scale + this.width / 2, (place.y - 34 - y) * scale + this.height / 2,
        this.followed === client.id);
    }
  }

  private look(places: { id: number; x: number; y: number }[], milliseconds: number): void {
    const { camera } = this;
    const one = places.find(({ id }) => id === this.followed);
    if (!one && (!this.automatic || places.length === 0)) {
      if (!this.placed && this.map) {
        Object.assign(camera, { x: (this.map.width * tileSize) / 2, y: (this.map.height * tileSize) / 2 });
        camera.scale = Math.min(this.width / this.map.width, this.height / this.map.height) / tileSize;
      }
      return;
    }
    let target = { ...camera };
    if (one) Object.assign(target, { x: one.x, y: one.y });
    else {
      const xs = places.map((place) => place.x).sort((a, b) => a - b);
      const ys = places.map((place) => place.y).sort((a, b) => a - b);
      const [left, right, top, bottom] = [xs[0], xs.at(-1)!, ys[0], ys.at(-1)!];
      const margin = 420;
      target = {
        x: (left + right) / 2, y: (top + bottom) / 2,
        scale: Math.min(0.9, this.width / (right - left + 2 * margin), this.height / (bottom - top + 2 * margin)),
      };
    }
    if (this.map && !one) { // what lies beyond a map's edges is wall
      const inside = (at: number, tiles: number, seen: number) => {
        const [size, half] = [tiles * tileSize, seen / 2 / target.scale - tileSize];
        return size <= 2 * half ? size / 2 : Math.min(Math.max(at, half), size - half);
      };
      target.x = inside(target.x, this.map.width, this.width);
      target.y = inside(target.y, this.map.height, this.height);
    }
    const part = this.placed ? 1 - Math.exp(-milliseconds / (one ? 70 : 350)) : 1;
    camera.x += (target.x - camera.x) * part;
    camera.y += (target.y - camera.y) * part;
    camera.scale += (target.scale - camera.scale) * part;
    this.placed = true;
  }

  /** Where there is no map: lines that things move along. */
  private grid(c: CanvasRenderingContext2D, width: number, height: number, scale: number): void {
    if (this.map) return;
    let step = tileSize * 4;
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

  private trail(c: CanvasRenderingContext2D, game: Game, client: Client): void {
    const { places } = client;
    const now = Math.floor(game.tick);
    const points: { x: number; y: number }[] = [];
    let newer = game.world.placeAt(client, game.tick);
    for (let index = places.indexAt(now); index >= 0 && newer; index--) {
      points.push(newer);
      const older = places.values[index];
      if (game.tick - places.ticks[index] > trailTicks || !older || jumped(older, newer)) break;
      newer = older;
    }
    // In bands, of which each is one line: where lines that let through what is below them meet, there would be dots.
    const bands = 12;
    const each = Math.max(1, Math.ceil(points.length / bands));
    c.strokeStyle = colourOf(client.id);
    c.lineJoin = "round";
    c.lineCap = "butt";
    for (let from = 0; from + 1 < points.length; from += each) {
      const left = 1 - from / points.length;
      c.globalAlpha = 0.6 * left ** 1.5 + 0.03;
      c.lineWidth = 2 + 11 * left;
      c.beginPath();
      c.moveTo(points[from].x, points[from].y);
      for (const point of points.slice(from + 1, from + each + 1)) c.lineTo(point.x, point.y);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  private death(c: CanvasRenderingContext2D, game: Game, client: Client): void {
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

  private tee(c: CanvasRenderingContext2D, game: Game, client: Client, { x, y }: NonNullable<Place>): void {
    const t = theme();
    const colour = colourOf(client.id);
    const tick = Math.floor(game.tick);
    const aim = client.aims.at(tick);
    const angle = aim && (aim.x || aim.y) ? Math.atan2(aim.y, aim.x) : 0;
    if (aim?.hook) { // in which direction, not how far: the file does not tell
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
    if (this.followed === client.id) {
      c.strokeStyle = t.finish;
      c.lineWidth = 2;
      c.beginPath();
      c.arc(x, y, 26, 0, 7);
      c.stroke();
    }
  }

  private label(c: CanvasRenderingContext2D, name: string, x: number, y: number, strong: boolean): void {
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
}
