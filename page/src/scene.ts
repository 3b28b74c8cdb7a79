// Draws a game of Teeworlds: its map, its characters and their trails.

import type { Designed } from "./designed.js";
import { areaOf, circle, type Point } from "./draw.js";
import type { Game } from "./game.js";
import { type GameMap, tileSize } from "./map.js";
import type { Layer } from "./mapdata.js";
import { hook, type Played } from "./played.js";
import { type Camera, type Spot, Stage, type Thing } from "./stage.js";
import { colourOf, theme } from "./theme.js";
import { type Client, furthest, teamText, type TeeWorld } from "./world.js";

/** The length of trails in ticks. */
const trailTicks = 75;
const teeRadius = 15;
/** Below this radius in CSS pixels a character is a disc of this radius: feet, eyes and hooks would not be seen, but the player must be. */
const specks = 3;

export class Scene extends Stage<TeeWorld> {
  map: GameMap | undefined;
  /** The layers as they were designed, once they are there, and whether they show the walls. */
  design: { layers: Designed; complete: boolean } | undefined;
  /** What is calculated beside the game, if the daemon has the map for it. */
  played: Game<Played> | undefined;
  protected readonly scales = [0.02, 3] as const;
  protected readonly near = 0.9;

  protected spots(): Spot[] {
    const { world, tick } = this.game;
    return this.spotsOf(world.clients.values(), (client) => world.placeAt(client, tick)).sort((a, b) => a.id - b.id);
  }

  protected things(): Thing[] {
    const { world, tick } = this.game;
    return this.spots().map(({ id, x, y }) => ({ x, y, is: () => [world.clients.of(id).nameAt(tick), teamText(world.clients.of(id).teams.at(tick) ?? 0)].filter(Boolean).join(" · ") }));
  }

  protected grid(): number | undefined { return this.map ? undefined : tileSize * 4; }

  protected paint(c: CanvasRenderingContext2D, spots: Spot[], ratio: number): void {
    const { game, camera: { scale } } = this;
    const design = this.withDesign ? this.design : undefined;
    this.ground(c, ratio, design?.layers, (game.tick / game.ticksPerSecond) * 1000, ({ detail }) => !detail || scale > 0.1, !design?.complete);
    this.in(c, ratio);
    this.warm(c);
    const thin = 1 / scale;
    this.played?.accompany(game);
    for (const spot of spots) this.trail(c, game.world.clients.of(spot.id).places, spot, trailTicks, furthest, colourOf(spot.id), (left) => Math.max(thin, 2 + 11 * left));
    for (const client of game.world.clients.values()) this.death(c, client);
    this.played?.world.flying(c, game.tick);
    for (const spot of spots) {
      this.tee(c, game.world.clients.of(spot.id), spot);
      if (spot.id === this.followed) this.ring(c, spot.x, spot.y, Math.max(26, 2 * specks / scale), Math.max(2, 1.5 / scale));
    }
    this.names(c, ratio, spots, Math.max(34 * scale, 3 * specks), (id) => game.world.clients.of(id).nameAt(game.tick));
  }

  /** Draws the layers that are wanted as they were designed, at a time in milliseconds, and the physics over them. */
  protected ground(c: CanvasRenderingContext2D, ratio: number, layers: Designed | undefined, time: number, wanted: (layer: Layer) => boolean, physics: boolean): void {
    const { x, y, scale } = this.camera;
    const { width, height } = c.canvas;
    const drawn = layers?.draw(this.camera, ratio, width, height, time, wanted);
    if (drawn) c.drawImage(layers!.canvas, 0, 0);
    c.globalAlpha = drawn ? 0.55 : 1;
    if (physics) this.map?.draw(c, x, y, scale * ratio, width, height);
    c.globalAlpha = 1;
  }

  protected target(places: readonly Spot[]): Camera | undefined {
    const { map } = this;
    if (places.length === 0) {
      if (this.placed || !map) return undefined;
      Object.assign(this.camera, this.fit({ left: 0, top: 0, right: map.width * tileSize, bottom: map.height * tileSize }, 0));
      return undefined; // so that the camera jumps to the first character
    }
    const target = this.fit(areaOf(places)!, 420);
    target.scale = Math.min(target.scale, 0.9);
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

  private death(c: CanvasRenderingContext2D, client: Client): void {
    const { game } = this;
    for (let i = client.deaths.indexAt(game.tick); i >= 0; i--) {
      const { x, y } = client.deaths.values[i];
      const age = (game.tick - client.deaths.ticks[i]) / 30;
      if (age > 1) break;
      c.strokeStyle = colourOf(client.id);
      c.globalAlpha = 1 - age;
      c.lineWidth = 4 * (1 - age) + 0.5;
      circle(c, x, y, 14 + 40 * age);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  private tee(c: CanvasRenderingContext2D, client: Client, { x, y }: Point): void {
    const { game } = this;
    const t = theme();
    const colour = colourOf(client.id);
    if (teeRadius * this.camera.scale < specks) {
      c.fillStyle = colour;
      circle(c, x, y, specks / this.camera.scale);
      c.fill();
      return;
    }
    const tick = Math.floor(game.tick);
    const input = client.inputs.at(tick);
    const angle = input ? Math.atan2(input.targetY, input.targetX) : 0;
    const ahead = (far: number) => ({ x: x + Math.cos(angle) * far, y: y + Math.sin(angle) * far });
    const played = this.played?.world;
    const one = played?.at(client.id, game.tick);
    c.strokeStyle = c.fillStyle = colour;
    if (one) {
      this.canvas.dataset["played"] ??= "true";
      const whom = game.world.clients.get(one.hookedClientId ?? -1);
      const to = whom ? game.world.placeAt(whom, game.tick) : played!.hookAt(client.id, game.tick);
      if (to) hook(c, one.proof, { x, y }, to);
    } else if (input?.hook) hook(c, undefined, ahead(20), ahead(78)); // only the direction, as the file does not contain its length
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
    circle(c, x, y - 2, teeRadius);
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
    if (one) played!.tee(c, one, { x, y }, ahead);
    const age = (game.tick - (client.shots.ticks[client.shots.indexAt(tick)] ?? -Infinity)) / 8; // of the last shot
    if (age < 1) {
      c.fillStyle = t.finish;
      c.globalAlpha = 1 - age;
      circle(c, ahead(32).x, ahead(32).y, 4 + 6 * age);
      c.fill();
      c.globalAlpha = 1;
    }
  }
}
