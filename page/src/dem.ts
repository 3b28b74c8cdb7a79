// Plays Source 2 demos: Dota 2, Counter-Strike 2 and Deadlock.

import type { Event, Filter, Replay } from "@replayd/client";
import { type Actor, CombatLogType, type CombatLog, type Event as DemEvent, type FactKill, type FactObjective, type FieldValue, ObjectiveType, type SampleEntity, type SamplePlayer } from "@replayd/client/gen/replayd/dem/v1/events_pb.js";
import { shortNumber } from "./chart.js";
import { timeText } from "./dom.js";
import { DemStage, lineColour, teamColour, type Title } from "./demstage.js";
import { drafted, draftFields, draftOf, words } from "./draft.js";
import { type Area, type Overview, type Point, stretch } from "./draw.js";
import { seldom, type Format, type Person, type Side, World } from "./format.js";
import { Lazy } from "./lazy.js";
import { type Place, Steps } from "./steps.js";
import { theme } from "./theme.js";
import { Walked } from "./walked.js";

/** What is on the map for a while: what it is, and how far it reaches in world units. */
const brief: Record<string, { is: string; reach?: number }> = {
  CDOTA_NPC_Observer_Ward: { is: "Observer ward" }, CDOTA_NPC_Observer_Ward_TrueSight: { is: "Sentry ward" },
  CSmokeGrenadeProjectile: { is: "Smoke", reach: 144 }, CInferno: { is: "Fire", reach: 120 },
};

/** The entities that are drawn besides the players, and others that say how the game stands, and what is asked of them. */
const buildings = {
  classes: ["CDOTA_BaseNPC_Tower", "CDOTA_BaseNPC_Barracks", "CDOTA_BaseNPC_Fort", "CNPC_TrooperBoss", "CNPC_Boss_Tier2", "CNPC_Boss_Tier3", ...Object.keys(brief)],
  fields: ["CBodyComponent.place", "m_iHealth", "m_iMaxHealth", "m_lifeState", "m_iTeamNum", "m_bDidSmokeEffect", "m_pEntity.m_nameStringableIndex"],
};
const sides = {
  classes: ["CDOTATeam", "CCSTeam", "CCitadelTeam", "CCSGameRulesProxy", "CCitadelGameRulesProxy"],
  fields: ["m_iTeamNum", "m_iHeroKills", "m_iScore", "m_szClanTeamname", "m_pGameRules.m_vMinimap*"],
};

/** What happened, and what people said. */
const said: Filter[] = [
  { kinds: ["chat", "fact_kill", "fact_objective", "fact_purchase", "fact_round", "fault"] },
  { kinds: ["combat_log"], dem: { types: ["COMBAT_LOG_TYPE_AEGIS_TAKEN", "COMBAT_LOG_TYPE_BUYBACK"] } },
  { kinds: ["entity_created", "entity_updated"], dem: { classes: ["CDOTAGamerulesProxy"], fields: draftFields } },
];

/** What somebody did to an objective. */
const done: Partial<Record<ObjectiveType, string>> = {
  [ObjectiveType.BOMB_PLANTED]: "planted the bomb", [ObjectiveType.BOMB_DEFUSED]: "defused the bomb", [ObjectiveType.ROSHAN]: "killed Roshan", [ObjectiveType.TORMENTOR]: "killed a Tormentor",
};

const nameOf = (one: Actor | undefined) => one?.name || words(one?.heroName ?? one?.unitName ?? "") || "somebody";
const number = (value: unknown) => (value === undefined ? undefined : Number(value));

/** A player over time: how the player stands, and where. */
export class Player {
  readonly stands = new Steps<SamplePlayer>();
  readonly places = new Steps<Place>();

  constructor(readonly id: number) {}

  /** The name, or that of the hero. */
  nameAt(tick: number): string {
    const now = this.stands.at(tick) ?? this.stands.values[0];
    return now?.name || words(now?.heroName ?? "") || `#${this.id}`;
  }

  heroAt(tick: number): string { return words(this.stands.at(tick)?.heroName ?? ""); }

  teamAt(tick: number): number { return this.stands.at(tick)?.team ?? 0; }

  aliveAt(tick: number): boolean {
    const now = this.stands.at(tick);
    return now?.alive ?? (now?.health ?? 1) > 0;
  }

  /** Health from 0 to 1. */
  healthAt(tick: number): number {
    const now = this.stands.at(tick);
    return this.aliveAt(tick) ? Math.min(1, (now?.health ?? 0) / (now?.maxHealth || 100)) : 0;
  }
}

/** A building, or another fixed object with health. */
interface Building extends Point {
  team: number;
  large: boolean;
  /** Set for what is there for a while, with how far it reaches. */
  brief?: { reach?: number };
  /** Its name, or that of its kind. */
  name: string;
  /** Health from 0 to 1. */
  lives: Steps<number>;
  /** When it was there for the last time. */
  seen: number;
}

/** The loaded part of a match. */
export class DemWorld extends World {
  readonly players = new Lazy((id: number) => new Player(id));
  readonly buildings = new Map<string, Building>();
  readonly teamNames = new Map<number, string>();
  readonly scores = new Lazy((_team: number) => new Steps<number>());
  readonly clock = new Steps<{ time: number; paused: boolean }>();
  /** What could not be decoded, for the first time. */
  fault = "";
  /** The edges of the game's own minimap if the demo has them, and the area of all positions so far. */
  given: Area | undefined;
  seen: Area | undefined;

  /** Tells the ways of one stream from those of another. */
  private static streams = 0;
  private readonly stream = DemWorld.streams++;
  /** The tick of the last sample of an entity. */
  private sampledAt = -1;

  constructor(start: number, private readonly ticksPerSecond: number, private readonly walked = new Walked(200)) {
    super(start);
  }

  protected take(event: Event, tick: number): void {
    const { kind } = event.event as DemEvent;
    switch (kind.case) {
      case "entityUpdated":
        this.news.push(...drafted(kind.value.fields, event, tick));
        return;
      case "sampleEntity":
        return this.entity(event, kind.value, tick);
      case "samplePlayer":
        return this.sampled(kind.value, tick);
      case "tick": {
        const { gameTime, paused } = kind.value;
        if (gameTime === undefined) return;
        const known = this.timeAt(tick);
        const before = this.clock.values.at(-1);
        if (known === undefined || Math.abs(known - gameTime) > 0.1 || before!.paused !== paused) this.clock.push(tick, { time: gameTime, paused });
        return;
      }
      case "chat": {
        const { playerId, sender, text, entityIndex, playerName } = kind.value;
        const id = playerId ?? (entityIndex === undefined ? -1 : entityIndex - 1);
        this.news.push({ tick, kind: "chat", client: id, name: sender || playerName || this.nameOf(id, tick) || "somebody", text });
        return;
      }
      case "combatLog":
        return this.fought(kind.value, tick);
      case "factKill":
        return this.killed(kind.value, tick);
      case "factObjective":
        return this.taken(kind.value, tick);
      case "factPurchase":
        this.news.push({ tick, kind: "build", client: kind.value.buyer?.playerId ?? -1, text: words(kind.value.item) || "something that is not known" });
        return;
      case "factRound": {
        const { number, warmup, winnerName, reasonName } = kind.value;
        this.news.push({ tick, kind: "round", client: -1, text: `${winnerName ?? "Nobody"} won ${warmup ? "the warm-up" : number ? `round ${number}` : "the round"}${reasonName ? `: ${words(reasonName)}` : ""}` });
        return;
      }
      case "fault":
        if (!this.fault) this.news.push({ tick, kind: "fault", client: -1, text: `Some of the demo cannot be decoded: ${kind.value.detail}` });
        this.fault ||= kind.value.detail;
    }
  }

  /** Applies an entry of Dota's combat log. */
  private fought(entry: CombatLog, tick: number): void {
    switch (entry.type) {
      case CombatLogType.AEGIS_TAKEN:
        this.news.push({ tick, kind: "goal", client: this.ofHero(entry.attackerName), name: words(entry.attackerName), text: "took the Aegis" });
        return;
      case CombatLogType.BUYBACK: {
        const id = Number(entry.value);
        this.news.push({ tick, kind: "join", client: id, name: this.nameOf(id, tick) || `#${id}`, text: "bought back" });
      }
    }
  }

  private killed({ killer, victim, assists, weapon, headshot, throughSmoke, noScope, reincarnates }: FactKill, tick: number): void {
    const id = victim?.playerId ?? -1;
    if (victim?.place) this.dots.push({ tick, id, x: victim.place.x, y: -victim.place.y, died: true });
    const how = [
      weapon && ` with ${words(weapon)}`, assists.length > 0 && ` with help of ${assists.map(nameOf).join(", ")}`, headshot && ", headshot", throughSmoke && ", through smoke",
      noScope && ", without a scope", reincarnates && ", who comes back to life",
    ].filter(Boolean).join("");
    const other = killer !== undefined && (killer.playerId === undefined || killer.playerId !== victim?.playerId);
    if (other && killer.playerId !== undefined) this.news.push({ tick, kind: "death", client: killer.playerId, name: nameOf(killer), text: `killed ${nameOf(victim)}${how}` });
    else this.news.push({ tick, kind: "death", client: id, name: nameOf(victim), text: other ? `died to ${nameOf(killer)}` : "died" });
  }

  private taken({ type, actor, name, denied }: FactObjective, tick: number): void {
    const goal = (text: string, by?: Actor) => this.news.push({ tick, kind: "goal", client: by?.playerId ?? -1, ...(by && { name: nameOf(by) }), text });
    if (type === ObjectiveType.BOMB_EXPLODED || type === ObjectiveType.MID_BOSS_SPAWNED) goal(type === ObjectiveType.BOMB_EXPLODED ? "The bomb exploded" : "The mid boss came");
    else if (type === ObjectiveType.BUILDING) goal(`${words(name ?? "") || "A building"} fell${denied ? ", denied" : ""}`);
    else goal(done[type] ?? "took an objective", actor ?? ({} as Actor));
  }

  /** Records how a player stands. */
  private sampled(now: SamplePlayer, tick: number): void {
    const player = this.players.of(now.playerId);
    const before = player.stands.values.at(-1);
    if (before && (now.health ?? 0) < (before.health ?? 0) && this.beats.at(-1) !== tick) this.beats.push(tick);
    player.stands.push(tick, now);
    const place = now.place && { x: now.place.x, y: -now.place.y };
    player.places.note(tick, place, (a, b) => a?.x === b?.x && a?.y === b?.y);
    if (place) {
      this.seen = stretch(this.seen, place);
      this.dots.push({ tick, id: player.id, ...place });
      this.walked.to(`${this.stream} ${player.id}`, place);
    }
    const value = now.netWorth ?? now.money;
    if (value !== undefined) this.samples.push({ chart: "worth", tick, id: player.id, value });
  }

  /** Records the state of what is not a player. */
  private entity(event: Event, { index, serial, class: name, fields }: SampleEntity, tick: number): void {
    const own = new Map(fields.map((one): [string, FieldValue] => [event.string(one.field), one]));
    const vector = (field: string) => {
      const value = own.get(field)?.value;
      return value?.case === "vector" ? value.value : undefined;
    };
    const count = (field: string) => number(own.get(field)?.value.value);
    const place = vector("CBodyComponent.place");
    const health = count("m_iHealth");
    const team = count("m_iTeamNum") ?? 0;
    const kind = event.string(name);
    if (tick !== this.sampledAt) for (const one of this.buildings.values()) if (one.seen < this.sampledAt) one.lives.note(this.sampledAt, 0);
    this.sampledAt = tick;
    if (buildings.classes.includes(kind)) {
      if (kind === "CSmokeGrenadeProjectile" && !own.get("m_bDidSmokeEffect")?.value.value) return; // it flies
      const key = `${index} ${serial}`;
      if (!this.buildings.has(key) && place) {
        const at = { x: place.x, y: -place.y };
        this.seen = stretch(this.seen, at);
        this.buildings.set(key, { ...at, team, large: /Fort|Tier3/.test(kind), brief: brief[kind], name: brief[kind]?.is || own.get("m_pEntity.m_nameStringableIndex")?.name || kind, lives: new Steps(), seen: tick });
      }
      const building = this.buildings.get(key);
      if (!building) return;
      Object.assign(building, { team, seen: tick });
      building.lives.note(tick, count("m_lifeState") ? 0 : Math.max(0, Math.min(1, (health ?? 1) / (count("m_iMaxHealth") || 1))));
    } else if (sides.classes.includes(kind)) {
      const [least, most] = [vector("m_pGameRules.m_vMinimapMins"), vector("m_pGameRules.m_vMinimapMaxs")];
      if (least && most && most.x > least.x && most.y > least.y) this.given = { left: least.x, right: most.x, top: -most.y, bottom: -least.y };
      const named = own.get("m_szClanTeamname")?.value;
      if (named?.case === "text" && named.value) this.teamNames.set(team, named.value);
      const score = count("m_iHeroKills") ?? count("m_iScore");
      if (score !== undefined) this.scores.of(team).note(tick, score);
    }
  }

  /** The player of a hero, or -1 if there is none. */
  private ofHero(name: string): number {
    return [...this.players.values()].find(({ stands }) => stands.values.at(-1)?.heroName === name)?.id ?? -1;
  }

  nameOf(id: number, tick: number): string { return this.players.get(id)?.nameAt(Math.max(tick, this.from)) ?? ""; }

  /** The game's clock in seconds, or undefined if the game has none. */
  timeAt(tick: number): number | undefined {
    const index = this.clock.indexAt(tick);
    if (index < 0) return undefined;
    const { time, paused } = this.clock.values[index];
    return paused ? time : time + (tick - this.clock.ticks[index]) / this.ticksPerSecond;
  }

  protected *steps(): Iterable<Steps<unknown>> {
    for (const { stands, places } of this.players.values()) yield* [stands, places];
    for (const { lives } of this.buildings.values()) yield lives;
    yield* this.scores.values();
    yield this.clock;
  }
}

function titleOf(replay: Replay): Title {
  const file = replay.header.case === "dem" ? replay.header.value.fileHeader : undefined;
  const text = `${file?.game} ${file?.gameDirectory}`;
  return /citadel|deadlock/i.test(text) ? "deadlock" : /csgo|cs2/i.test(text) ? "cs" : "dota";
}

const sideNames: Record<Title, [string, string]> = {
  dota: ["Radiant", "Dire"], cs: ["Terrorists", "Counter-Terrorists"], deadlock: ["Amber Hand", "Sapphire Flame"],
};

export function dem(replay: Replay, overview: Promise<Overview | string>): Format<DemWorld> {
  const title = titleOf(replay);
  const ticksPerSecond = replay.ticksPerSecond ?? (title === "dota" ? 30 : 64);
  const walked = new Walked(title === "dota" ? 350 : 160);
  const every = (seconds: number) => ({ every: Math.max(1, Math.round(seconds * ticksPerSecond)) });
  const players = (ticks: { every: number }): Filter => ({ kinds: ["sample_player"], ticks });
  const playerOf = (world: DemWorld, id: number, tick: number) => {
    const stands = world.players.get(id)?.stands;
    const team = (stands?.at(Math.max(tick, world.from)) ?? stands?.values[0])?.team ?? 0;
    return { name: world.nameOf(id, tick), colour: team ? lineColour(title, team, id) : theme().neutral };
  };
  return {
    around: {
      include: [
        players(every(title === "dota" ? 1 / 4 : 1 / 8)), { kinds: ["tick"] }, ...said,
        ...[buildings, sides].map((dem): Filter => ({ kinds: ["sample_entity"], ticks: every(2), dem })),
      ],
    },
    whole: { include: [players({ every: seldom(replay) }), ...said] },
    stateless: true, ...(title !== "cs" && { builds: "Purchases" }),
    charts: { worth: { cs: "Money", deadlock: "Souls", dota: "Net worth" }[title] },
    world: (start) => new DemWorld(start, ticksPerSecond, walked),
    stage: (canvas, game) => {
      const stage = new DemStage(canvas, game, title, walked);
      void stage.take(overview);
      return stage;
    },
    people: (world, tick) => [...world.players.values()].filter((player) => player.teamAt(tick) >= 2).map((player): Person => {
      const { level, team, items, netWorth, money, kills, deaths, assists } = player.stands.at(tick)!;
      const [name, hero, here] = [player.nameAt(tick), player.heroAt(tick), player.aliveAt(tick)];
      const worth = netWorth ?? money;
      return {
        id: player.id, name, colour: lineColour(title, team, player.id), team,
        note: [hero !== name && hero, level !== undefined && `level ${level}`, [kills, deaths, assists].every((one) => one !== undefined) && `${kills}/${deaths}/${assists}`, !here && "dead"].filter(Boolean).join(" · "),
        carried: items.map(words).join(", "), here, health: player.healthAt(tick),
        ...(worth !== undefined ? { value: title === "cs" ? `$${worth}` : shortNumber(worth) } : {}),
      };
    }).sort((a, b) => a.team - b.team || a.id - b.id),
    sides: (world, tick): Side[] => [2, 3].map((team) => {
      const score = world.scores.get(team)?.at(tick);
      const named = title === "cs" ? world.teamNames.get(team) : undefined;
      const name = named && !/^(TERRORIST|CT)$/.test(named) ? named : sideNames[title][team - 2];
      return { team, name, colour: teamColour(title, team), ...(score === undefined ? {} : { score: String(score) }) };
    }),
    missing: ({ players, buildings, fault, start }, tick) => {
      if (tick < start + ticksPerSecond || buildings.size > 0 || [...players.values()].some(({ places }) => places.at(tick))) return "";
      return fault ? `This part of the demo cannot be shown, since it cannot be decoded: ${fault}` : "No player is in the game at this moment.";
    },
    person: playerOf,
    ...(title === "dota" && { draft: (marks) => draftOf((replay.header.case === "dem" && replay.header.value.fileInfo?.match?.draft) || [], marks) }),
    clock: (world, tick) => {
      const time = world.timeAt(tick);
      return time === undefined ? "" : `${time < 0 ? "-" : ""}${timeText(Math.abs(time))}`;
    },
  };
}
