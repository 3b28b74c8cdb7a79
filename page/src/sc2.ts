// Plays StarCraft II replays. It draws only what the tracker reports. So units that neither fight nor are being built stay at
// their last reported position.

import type { Event, Filter, Kind, Replay } from "@replayd/client";
import { type Event as SC2Event, type PlayerInfo, Result, type SamplePlayer, StepEnd, type Unit, UnitClass, UnitEnd } from "@replayd/client/gen/replayd/sc2replay/v1/events_pb.js";
import { type Area, circle, type Point, stretch } from "./draw.js";
import { type Format, type News, type Person, World } from "./format.js";
import { Lazy } from "./lazy.js";
import { Minimap } from "./minimap.js";
import type { Spot, Thing } from "./stage.js";
import { Steps } from "./steps.js";
import { theme } from "./theme.js";

const changes: Kind[] = ["unit_born", "unit_init", "unit_done", "unit_died", "unit_owner_change", "unit_type_change", "unit_positions"];
const told: Kind[] = ["fact_build_step", "fact_unit", "fact_chat", "fact_engagement", "fact_supply_block", "game_user_leave", "player_leave"];
/** How players stand, as often as their clients report it. */
const stands: Filter = { kinds: ["sample_player"], ticks: { every: 80 } };

/** Names such as "CommandCenterFlying" as readable words. */
const words = (name: string): string => name.replace(/([a-z])([A-Z0-9])/g, "$1 $2").replace(/^Upgrade /, "");

/** A unit's state over time. */
class Track {
  readonly places = new Steps<Point>();
  readonly owners = new Steps<number>();
  readonly kinds = new Steps<{ name: string; kind: UnitClass }>();
  done: number;
  died = Infinity;

  constructor(readonly tag: number, readonly born: number, building: boolean) {
    this.done = building ? Infinity : born;
  }
}

/** The loaded part of a game. */
export class SC2World extends World {
  readonly economies = new Lazy((_player: number) => new Steps<SamplePlayer>());
  /** The living units by index, and all units that lived in the loaded part. */
  readonly alive = new Map<number, Track>();
  tracks: Track[] = [];
  seen: Area | undefined;

  constructor(start: number, private readonly names: ReadonlyMap<number, string>, private readonly ticksPerSecond = 16) {
    super(start);
  }

  protected take({ event }: Event, tick: number): void {
    const { kind, player } = event as SC2Event;
    const by = player?.playerId ?? -1;
    switch (kind.case) {
      case "unitState":
      case "unitBorn":
      case "unitInit": {
        const { unit, x, y, controlPlayerId } = kind.value;
        const building = kind.case === "unitState" ? kind.value.underConstruction : kind.case === "unitInit";
        if (unit) this.appear(unit, tick, controlPlayerId, x, y, building);
        break;
      }
      case "factBuildStep": {
        const { name, upgrade, unit, beganTick, reckonedTick, end } = kind.value;
        if (end !== StepEnd.COMPLETE) break;
        const began = beganTick ?? reckonedTick ?? tick;
        if (upgrade || unit?.class) this.news.push({ tick, kind: "build", client: by, text: words(name), began });
        break;
      }
      case "factUnit": {
        const { unit, end, x, y, killerPlayerId: killer } = kind.value;
        if (end !== UnitEnd.KILLED || !unit?.class || by <= 0) break;
        this.beats.push(tick);
        this.dots.push({ tick, id: by, x, y: -y, died: true });
        if (unit.class !== UnitClass.STRUCTURE || !killer || killer === by) break;
        this.tell("goal", killer, tick, `destroyed ${this.nameOf(by)}'s ${words(unit.typeName ?? "")}`);
        break;
      }
      case "unitDone": {
        const track = this.track(kind.value.unit);
        if (track) track.done = tick;
        break;
      }
      case "unitDied": {
        const { unit, x, y } = kind.value;
        const track = this.track(unit);
        if (!unit || !track) break;
        track.places.push(tick, this.place(x, y));
        track.died = tick;
        this.alive.delete(unit.tag >>> 18);
        break;
      }
      case "unitOwnerChange":
        this.track(kind.value.unit)?.owners.push(tick, kind.value.controlPlayerId);
        break;
      case "unitTypeChange": {
        const { unit } = kind.value;
        if (unit) this.track(unit)?.kinds.push(tick, { name: unit.typeName ?? "", kind: unit.class });
        break;
      }
      case "unitPositions":
        for (const { unit, x, y } of kind.value.positions) this.track(unit)?.places.push(tick, this.place(x, y));
        break;
      case "samplePlayer":
        this.economy(kind.value, tick);
        break;
      case "factChat":
        this.tell("chat", by, tick, kind.value.text, kind.value.name);
        break;
      case "factEngagement": {
        const { beganTick: began, sides } = kind.value;
        const lost = sides.map(({ playerId, armyLost, workersLost, structuresLost }) => `${this.nameOf(playerId)} lost ${armyLost + workersLost + structuresLost}`);
        this.news.push({ tick, kind: "death", client: -1, text: `A fight: ${lost.join(", ")}`, began });
        break;
      }
      case "factSupplyBlock": {
        const { playerId, beganTick: began, maxed } = kind.value;
        if (!maxed) this.news.push({ tick, kind: "command", client: playerId, text: `had no supply left for ${Math.round((tick - began) / this.ticksPerSecond)} s`, began });
        break;
      }
      case "gameUserLeave":
      case "playerLeave":
        this.tell("leave", by, tick, "left", player?.name);
    }
  }

  private tell(kind: News["kind"], client: number, tick: number, text: string, name = this.names.get(client)): void {
    this.news.push({ tick, kind, client, text, ...(name ? { name } : {}) });
  }

  private nameOf(id: number): string { return this.names.get(id) ?? `player ${id}`; }

  private place(x: number, y: number): Point {
    const place = { x, y: -y };
    this.seen = stretch(this.seen, place);
    return place;
  }

  private appear(unit: Unit, tick: number, owner: number, x: number, y: number, building: boolean): void {
    const index = unit.tag >>> 18;
    const before = this.alive.get(index);
    if (before) before.died = Math.min(before.died, tick);
    const track = new Track(unit.tag, tick, building);
    track.owners.push(tick, owner);
    track.kinds.push(tick, { name: unit.typeName ?? "", kind: unit.class });
    track.places.push(tick, this.place(x, y));
    this.alive.set(index, track);
    this.tracks.push(track);
  }

  private track(unit: Unit | undefined): Track | undefined {
    const track = unit && this.alive.get(unit.tag >>> 18);
    return track?.tag === unit?.tag ? track : undefined;
  }

  private economy(now: SamplePlayer, tick: number): void {
    if (now.statsTick === undefined) return;
    const id = now.playerId;
    this.economies.of(id).push(tick, now);
    const sum = (a = 0, b = 0) => a + b;
    const charts = {
      army: sum(now.armyMinerals, now.armyVespene), supply: sum(now.supplyUsed), workers: sum(now.workersActive),
      income: sum(now.mineralsRate, now.vespeneRate), bank: sum(now.minerals, now.vespene),
    };
    for (const [chart, value] of Object.entries(charts)) this.samples.push({ chart, tick, id, value });
  }

  override trim(tick: number): void {
    this.tracks = this.tracks.filter(({ died }) => died >= tick - 100);
    super.trim(tick);
  }

  protected *steps(): Iterable<Steps<unknown>> {
    for (const { places, owners, kinds } of this.tracks) yield* [places, owners, kinds];
    yield* this.economies.values();
  }
}

/** The number of gameloops for which a dead unit is still shown. */
const fade = 24;

class SC2Stage extends Minimap<SC2World> {
  constructor(canvas: HTMLCanvasElement, game: ConstructorParameters<typeof Minimap<SC2World>>[1], private readonly colours: (id: number) => string, private readonly owners: ReadonlyMap<number, string>) {
    super(canvas, game);
  }

  protected area(): Area {
    const { seen } = this.game.world;
    const area = seen ?? { left: 0, right: 100, top: -100, bottom: 0 };
    const margin = 6;
    return { left: area.left - margin, right: area.right + margin, top: area.top - margin, bottom: area.bottom + margin };
  }

  /** What is drawn at the clock's tick: structures first, and armies last, over the others. */
  private here(): Track[] {
    const { world, tick } = this.game;
    const order = (track: Track) => [UnitClass.STRUCTURE, UnitClass.WORKER, UnitClass.ARMY].indexOf(track.kinds.at(tick)?.kind ?? 0);
    return world.tracks.filter(({ born, died }) => born <= tick && died + fade > tick).map((track) => ({ track, rank: order(track) })).sort((a, b) => a.rank - b.rank).map(({ track }) => track);
  }

  protected things(): Thing[] {
    const { tick } = this.game;
    return this.here().filter(({ died, places }) => died > tick && places.at(tick)).map((track) => ({ ...track.places.at(tick)!, is: () => {
      const owner = track.owners.at(tick) ?? 0;
      return [words(track.kinds.at(tick)?.name ?? "") || "unit", owner > 0 && (this.owners.get(owner) ?? `player ${owner}`), track.done > tick && "under construction"].filter(Boolean).join(" · ");
    } }));
  }

  protected paint(c: CanvasRenderingContext2D, _: Spot[], ratio: number): void {
    const { tick } = this.game;
    const t = theme();
    this.ground(c, ratio);
    this.warm(c);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const zoom = Math.max(1, Math.sqrt(this.camera.scale / 4));
    for (const track of this.here()) {
      const at = track.places.at(tick);
      const owner = track.owners.at(tick) ?? 0;
      const { kind } = track.kinds.at(tick) ?? { kind: UnitClass.UNSPECIFIED };
      if (!at) continue;
      const { x, y } = this.onPage(at);
      const colour = owner > 0 ? this.colours(owner) : t.neutral;
      if (track.died <= tick) {
        if (owner === 0) continue;
        const age = (tick - track.died) / fade;
        c.strokeStyle = colour;
        c.globalAlpha = 1 - age;
        c.lineWidth = 2;
        circle(c, x, y, (3 + 9 * age) * zoom);
        c.stroke();
        c.globalAlpha = 1;
        continue;
      }
      c.fillStyle = colour;
      c.strokeStyle = t.outline;
      c.lineWidth = 1;
      if (owner === 0) { // minerals, gas, rocks
        c.globalAlpha = 0.35;
        c.fillRect(x - 2 * zoom, y - 2 * zoom, 4 * zoom, 4 * zoom);
      } else if (kind === UnitClass.STRUCTURE) {
        const size = 5.5 * zoom;
        c.globalAlpha = track.done > tick ? 0.4 : 0.85;
        c.fillRect(x - size, y - size, 2 * size, 2 * size);
        c.globalAlpha = 1;
        c.strokeRect(x - size, y - size, 2 * size, 2 * size);
      } else {
        const army = kind === UnitClass.ARMY;
        c.globalAlpha = kind === UnitClass.UNSPECIFIED ? 0.4 : 1;
        circle(c, x, y, (army ? 4 : 2.4) * zoom);
        c.fill();
        if (army) c.stroke();
      }
      c.globalAlpha = 1;
    }
  }
}

export function sc2(replay: Replay): Format<SC2World> {
  const infos = (replay.header.case === "sc2replay" ? replay.header.value.players : []).filter(({ observer, ref }) => !observer && ref?.playerId !== undefined);
  const names = new Map(infos.map((info): [number, string] => [info.ref!.playerId!, info.ref!.name || info.difficulty || `player ${info.ref!.playerId}`]));
  // Players may have chosen the same colour. These hues are easy to distinguish.
  const hues = [4, 212, 142, 42, 280, 180, 320, 90, 24, 240, 60, 300, 160, 200];
  const colourOf = (id: number) => `hsl(${hues[(id - 1 + hues.length) % hues.length]} ${theme().name === "light" ? "62% 40%" : "70% 64%"})`;
  const note = (info: PlayerInfo) => [info.race || info.pickedRace, info.result === Result.WIN && "won", (info.mmr ?? 0) > 0 && `${info.mmr} MMR`].filter(Boolean).join(" · ");
  return {
    around: { include: [{ kinds: changes }, stands] }, whole: { include: [{ kinds: told }, stands] },
    charts: { army: "Army", income: "Income", supply: "Supply", workers: "Workers", bank: "In the bank" },
    builds: "Build order",
    world: (start) => new SC2World(start, names, replay.ticksPerSecond || 16),
    stage: (canvas, game) => new SC2Stage(canvas, game, colourOf, names),
    people: (world, tick) => {
      const ids = new Set([...names.keys(), ...world.economies.keys()].filter((id) => id > 0));
      return [...ids].sort((a, b) => a - b).map((id): Person => {
        const info = infos.find(({ ref }) => ref?.playerId === id);
        const now = world.economies.get(id)?.at(tick);
        return {
          id, name: names.get(id) ?? `player ${id}`, team: info?.team ?? 0, colour: colourOf(id), here: true,
          note: [info && note(info), now && `army ${(now.armyMinerals ?? 0) + (now.armyVespene ?? 0)}`, now && `${now.workers} worker${now.workers === 1 ? "" : "s"}`].filter(Boolean).join(" · "),
          ...(now ? { value: `${Math.round(now.supplyUsed ?? 0)}/${Math.round(now.supplyMade ?? 0)}` } : {}),
        };
      });
    },
    missing: ({ tracks, economies, start, to }) => (tracks.length > 0 || economies.size > 0 || to < start + 16 ? "" // a second of it is there
      : "This replay does not say what units did, so there is no picture: the game records that since version 2.0.8."),
    person: (_, id) => ({ name: names.get(id) ?? (id > 0 ? `player ${id}` : ""), colour: id > 0 ? colourOf(id) : theme().neutral }),
  };
}
