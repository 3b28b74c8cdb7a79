// Draws Source 2 demos from above: players, their ways and their health, and buildings.

import type { DemWorld, Player } from "./dem.js";
import { type Area, circle, line, stretch } from "./draw.js";
import { words } from "./draft.js";
import { Minimap } from "./minimap.js";
import type { Spot, Thing } from "./stage.js";
import { placeBetween } from "./steps.js";
import { theme } from "./theme.js";
import type { Walked } from "./walked.js";

/** The game, which determines colours and names. */
export type Title = "dota" | "cs" | "deadlock";

/** The edges of Dota's map. A demo does not contain them. */
const dotaEdges: Area = { left: -8700, right: 8700, top: -8700, bottom: 8700 };

/** Draws a match from above. */
export class DemStage extends Minimap<DemWorld> {
  constructor(canvas: HTMLCanvasElement, game: ConstructorParameters<typeof Minimap<DemWorld>>[1], private readonly title: Title, protected override readonly walked: Walked) {
    super(canvas, game);
  }

  protected area(): Area {
    if (this.overview) return this.overview.area;
    const { given, seen } = this.game.world;
    let area = given ?? (this.title === "dota" ? dotaEdges : undefined);
    if (seen && (!given || this.title === "dota")) {
      area = stretch(stretch(area, { x: seen.left, y: seen.top }), { x: seen.right, y: seen.bottom });
      const margin = this.title === "dota" ? 0 : 400;
      area = { left: area.left - margin, right: area.right + margin, top: area.top - margin, bottom: area.bottom + margin };
    }
    return area ?? { left: -4000, right: 4000, top: -4000, bottom: 4000 };
  }

  protected spots(): Spot[] {
    const { world, tick, ticksPerSecond } = this.game;
    const placeOf = (player: Player) => (player.teamAt(tick) < 2 ? undefined : placeBetween(player.places, tick, ticksPerSecond / 2, 900));
    return this.spotsOf(world.players.values(), placeOf).sort((a, b) => Number(this.alive(a.id)) - Number(this.alive(b.id)) || a.id - b.id); // draw the living over the dead
  }

  protected things(): Thing[] {
    const { world, tick } = this.game;
    const buildings = [...world.buildings.values()].filter(({ brief, lives }) => (brief ? lives.at(tick) : lives.at(tick) !== undefined)).map(({ x, y, name, brief, lives }): Thing => ({
      x, y, is: () => brief ? name : `${words(name)} · ${lives.at(tick) ? `${Math.round(lives.at(tick)! * 100)} % of its health` : "destroyed"}`,
    }));
    return [...buildings, ...this.spots().map(({ id, x, y }): Thing => ({ x, y, is: () => {
      const player = world.players.get(id)!;
      const { level, health, maxHealth, items } = player.stands.at(tick)!;
      return [player.nameAt(tick), player.heroAt(tick), level && `level ${level}`, player.aliveAt(tick) ? `${health ?? 0} of ${maxHealth || 100} health` : "dead", items.map(words).join(", ")].filter(Boolean).join(" · ");
    } }))];
  }

  private alive(id: number): boolean { return this.game.world.players.get(id)!.aliveAt(this.game.tick); }

  protected paint(c: CanvasRenderingContext2D, spots: Spot[], ratio: number): void {
    const { world, tick, ticksPerSecond } = this.game;
    const t = theme();
    this.ground(c, ratio);
    this.warm(c);
    for (const spot of spots) {
      const player = world.players.get(spot.id)!;
      if (this.alive(spot.id)) this.trail(c, player.places, spot, 4 * ticksPerSecond, 900, teamColour(this.title, player.teamAt(tick)), () => 2 / this.camera.scale);
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const building of world.buildings.values()) {
      const life = building.lives.at(tick);
      if (life === undefined) continue;
      const { x, y } = this.onPage(building);
      if (building.brief) {
        const { reach } = building.brief;
        circle(c, x, y, reach ? reach * this.camera.scale : 5);
        c.fillStyle = reach ? (building.name === "Fire" ? t.gold : t.neutral) : teamColour(this.title, building.team);
        c.globalAlpha = reach ? 0.5 : 0.95;
        if (life > 0) c.fill();
        c.globalAlpha = 1;
        continue;
      }
      const size = building.large ? 9 : 5;
      c.globalAlpha = life > 0 ? 0.95 : 0.25;
      c.fillStyle = life > 0 ? teamColour(this.title, building.team) : t.neutral;
      c.fillRect(x - size, y - size, 2 * size, 2 * size);
      c.globalAlpha = 1;
      if (life > 0 && life < 1) bar(c, x, y + size + 4, 2 * size + 4, life);
    }
    for (const spot of spots) this.draw1(c, world.players.get(spot.id)!, spot);
    const living = spots.filter(({ id }) => this.alive(id) || id === this.followed).reverse();
    this.names(c, ratio, living, 21, (id) => {
      const player = world.players.get(id)!;
      return player.heroAt(tick) || player.nameAt(tick);
    });
  }

  private draw1(c: CanvasRenderingContext2D, player: Player, spot: Spot): void {
    const { tick } = this.game;
    const t = theme();
    const { x, y } = this.onPage(spot);
    const colour = teamColour(this.title, player.teamAt(tick));
    if (!player.aliveAt(tick)) {
      c.strokeStyle = colour;
      c.globalAlpha = 0.65;
      c.lineWidth = 2.5;
      for (const dy of [-5, 5]) {
        line(c, { x: x - 5, y: y + dy }, { x: x + 5, y: y - dy });
        c.stroke();
      }
      c.globalAlpha = 1;
      if (this.followed === player.id) this.ring(c, x, y, 14, 2);
      return;
    }
    const { angles } = player.stands.at(tick)!;
    c.fillStyle = colour;
    c.strokeStyle = t.outline;
    c.lineWidth = 2;
    if (angles) { // the viewing direction
      const angle = (-angles.y * Math.PI) / 180;
      const at = (turn: number, far: number) => ({ x: x + Math.cos(angle + turn) * far, y: y + Math.sin(angle + turn) * far });
      line(c, at(0, 15), at(0.75, 9), at(-0.75, 9));
      c.fill();
    }
    circle(c, x, y, 9);
    c.fill();
    c.stroke();
    bar(c, x, y + 13, 26, player.healthAt(tick));
    if (this.followed === player.id) this.ring(c, x, y, 16, 2);
  }
}

/** Draws a health bar, in CSS pixels. */
function bar(c: CanvasRenderingContext2D, x: number, y: number, width: number, part: number): void {
  const t = theme();
  c.fillStyle = t.outline;
  c.fillRect(x - width / 2 - 1, y - 1, width + 2, 5);
  c.fillStyle = part > 0.5 ? t.start : part > 0.25 ? t.gold : t.dire;
  c.fillRect(x - width / 2, y, width * Math.min(1, Math.max(0, part)), 3);
}

export function teamColour(title: Title, team: number): string {
  const t = theme();
  if (team === 2) return title === "dota" ? t.radiant : t.gold;
  if (team === 3) return title === "dota" ? t.dire : t.blue;
  return t.neutral;
}

/** The colour of a player's line. Players of one team have similar colours. */
export function lineColour(title: Title, team: number, id: number): string {
  const hue = team === 3 ? (title === "dota" ? 2 : 212) : title === "dota" ? 105 : 42;
  const light = theme().name === "light" ? 34 : 62;
  const step = (id % 5) - 2;
  return `hsl(${(hue + step * 13 + 360) % 360} 65% ${light + step * 4}%)`;
}
