// Plays Source 2 demos: Dota 2, Counter-Strike 2 and Deadlock.

import { type Batch, type Entity, EntityState, type Event, type Filter, type Kind, type Replay } from "@replayd/client";
import { CombatLogType, type CombatLog, type Damage, type GameEvent, type Kill } from "@replayd/client/gen/replayd/dem/v1/events_pb.js";
import { shortNumber } from "./chart.js";
import { timeText } from "./dom.js";
import { DemStage, lineColour, teamColour, type Title } from "./demstage.js";
import { bare, draftOf, Drafting, words } from "./draft.js";
import type { Format, News, Person, Sample, Side, World } from "./format.js";
import { type Area, stretch } from "./minimap.js";
import type { Overview } from "./overview.js";
import { type Place, Steps } from "./steps.js";
import { theme } from "./theme.js";
import { Walked } from "./walked.js";

const heroes = "CDOTA_Unit_Hero_*";
const buildings = ["CDOTA_BaseNPC_Tower", "CDOTA_BaseNPC_Barracks", "CDOTA_BaseNPC_Fort", "CNPC_TrooperBoss", "CNPC_Boss_Tier2", "CNPC_Boss_Tier3"];
const controllers = ["CDOTAPlayerController", "CCSPlayerController", "CCitadelPlayerController"];
const pawns = ["CCSPlayerPawn", "CCitadelPlayerPawn"];
const teams = ["CDOTATeam", "CCSTeam", "CCitadelTeam"];
const others = ["CDOTA_PlayerResource", "CDOTA_DataRadiant", "CDOTA_DataDire", "CDOTAGamerulesProxy", "CCSGameRulesProxy", "CCitadelGameRulesProxy"];
const classes = [heroes, ...buildings, ...controllers, ...pawns, ...teams, ...others];

/** Fields that identify players, and their possessions. */
const whoFields = [
  "m_iTeamNum", "m_iszPlayerName", "m_hAssignedHero", "m_hPlayerPawn", "m_hHeroPawn", "m_hPawn", "m_iPlayerID", "m_nPlayerID",
  "m_hReplicatingOtherHeroModel", "m_vecPlayerData.*.m_iszPlayerName", "m_vecPlayerTeamData.*.m_hSelectedHero",
  "m_vecPlayerTeamData.*.m_nSelectedHeroID", "m_pEntity.m_nameStringableIndex", "m_vecPlayerTeamData.*.m_iTeamSlot", "m_vecDataTeam.*.m_iNetWorth", "m_pInGameMoneyServices.m_iAccount", "*m_iGoldNetWorth",
  "*m_bAlive", "m_bPawnIsAlive", "m_lifeState", "m_pGameRules.m_totalRoundsPlayed",
  "m_pGameRules.m_BannedHeroes.*", "m_pGameRules.m_SelectedHeroes.*",
];
/** Fields of the players' state at a tick, as shown. */
const nowFields = [
  "CBodyComponent.place", "CBodyComponent.m_angRotation",
  "m_angEyeAngles", "m_iHealth", "m_iMaxHealth", "m_iPawnHealth", "m_iCurrentLevel", "*m_iLevel", "m_iScore", "m_iHeroKills", "m_szTeamname",
  "m_szClanTeamname", "m_vecPlayerTeamData.*.m_iKills", "m_vecPlayerTeamData.*.m_iDeaths", "m_vecPlayerTeamData.*.m_iAssists",
  "m_pActionTrackingServices.m_matchStats*", "*m_iPlayerKills", "*m_iDeaths", "*m_iPlayerAssists", "m_pGameRules.m_vMinimap*",
];
/** What happened, and what people said. Each game tells kills in its own way. */
const said: Kind[] = ["chat", "combat_log", "game_event", "kill", "fault"];
/** Also asked for in Deadlock, where nothing else tells of fights. */
const fights: Kind[] = ["damage"];

/** Filters for the entity events with only these fields. Entity events without fields need a separate filter. */
function entitiesWith(fields: string[]): Filter[] {
  return [
    { kinds: [...EntityState.kinds], dem: { classes, fields } },
    { kinds: ["entity_left", "entity_deleted"], dem: { classes } },
  ];
}

const padded = (index: number) => String(index).padStart(4, "0");
const handleOf = ({ index, serial }: Entity) => index | ((serial & 0x3ff) << 14);
const number = (value: unknown) => (value === undefined ? undefined : Number(value));
/** The handle of the body of a controller's player. */
const pawnOf = (controller: Entity) => number(controller.get("m_hPlayerPawn") ?? controller.get("m_hHeroPawn") ?? controller.get("m_hPawn"));

interface Life {
  now: number;
  most: number;
  alive: boolean;
}

/** A player's state over time. */
export class Player {
  readonly names = new Steps<string>();
  readonly heroes = new Steps<string>();
  readonly teams = new Steps<number>();
  readonly places = new Steps<Place>();
  readonly angles = new Steps<number>();
  readonly lives = new Steps<Life>();
  readonly levels = new Steps<number>();
  readonly worths = new Steps<number>();
  readonly scores = new Steps<string>();

  constructor(readonly id: number) {}
}

/** A building, or another fixed object with health. */
interface Building {
  team: number;
  x: number;
  y: number;
  large: boolean;
  /** Its name, or that of its kind. */
  name: string;
  /** Health from 0 to 1. */
  lives: Steps<number>;
}

/** The loaded part of a match. */
export class DemWorld implements World {
  readonly news: News[] = [];
  readonly samples: Sample[] = [];
  readonly beats: number[] = [];
  readonly players = new Map<number, Player>();
  readonly buildings = new Map<Entity, Building>();
  readonly teamNames = new Map<number, string>();
  readonly scores = new Map<number, Steps<number>>();
  readonly clock = new Steps<{ time: number; paused: boolean }>();
  /** What could not be decoded, for the first time. */
  fault = "";
  /** The edges of the game's own minimap if the demo has them, and the area of all positions so far. */
  given: Area | undefined;
  seen: Area | undefined;
  from: number;
  to: number;

  private readonly state = new EntityState();
  /** The entities that look reads at the end of each tick. */
  private readonly watched = new Map<number, Entity>();
  private readonly sampled = new Map<number, number>();
  /** When a kill of a player was told. */
  private readonly killedAt = new Map<number, number>();
  private open = -1;
  private readonly drafts = new Drafting();

  constructor(readonly start: number, private readonly ticksPerSecond: number, private readonly walked = new Walked(200)) {
    this.from = start;
    this.to = start - 1;
  }

  apply(batch: Batch): void {
    for (const event of batch) {
      const tick = batch.state ? this.start : Math.max(0, event.tick);
      if (tick > this.open && this.open >= 0) this.look(this.open); // the earlier tick is complete
      this.open = tick;
      if (!batch.state) this.reach(tick);
      this.take(event, tick);
    }
    if (this.open >= 0 && (!batch.state || batch.complete)) this.look(this.open);
  }

  reach(tick: number): void {
    if (tick > this.to) this.to = tick;
  }

  private take(event: Event, tick: number): void {
    const { kind } = event.event;
    switch (kind.case) {
      case "entityCreated":
      case "entityUpdated":
      case "entityEntered":
      case "entityLeft":
      case "entityDeleted": {
        const entity = this.state.apply(event);
        if (!entity) return;
        if (kind.case === "entityDeleted") {
          if (this.watched.get(entity.index) === entity) this.watched.delete(entity.index);
          this.buildings.get(entity)?.lives.note(tick, 0);
        } else this.watched.set(entity.index, entity);
        return;
      }
      case "sampleEntity": {
        const { index, fields } = kind.value;
        for (const { value } of fields) if (value.case === "vector") this.walked.to(`sample ${index}`, { x: value.value.x, y: -value.value.y });
        return;
      }
      case "tick": {
        if (kind.value.$typeName !== "replayd.dem.v1.Tick" || kind.value.gameTime === undefined) return;
        const { gameTime, paused } = kind.value;
        const known = this.timeAt(tick);
        const before = this.clock.values.at(-1);
        if (known === undefined || Math.abs(known - gameTime) > 0.1 || before!.paused !== paused) this.clock.push(tick, { time: gameTime, paused });
        return;
      }
      case "chat":
        if (kind.value.$typeName === "replayd.dem.v1.Chat") {
          const { playerId, sender, text, entityIndex, playerName } = kind.value;
          const id = playerId ?? (entityIndex === undefined ? -1 : entityIndex - 1);
          const name = sender || playerName || this.nameOf(id, tick) || "somebody";
          this.news.push({ tick, kind: "chat", client: id, name, text });
        }
        return;
      case "combatLog":
        return this.fought(kind.value, tick);
      case "gameEvent":
        return this.happened(kind.value, tick);
      case "kill":
        return this.killed(kind.value, tick);
      case "damage":
        if (kind.value.$typeName === "replayd.dem.v1.Damage") this.hurt(kind.value, tick);
        return;
      case "fault":
        if (!this.fault) this.news.push({ tick, kind: "fault", client: -1, text: `Some of the demo cannot be decoded: ${kind.value.detail}` });
        this.fault ||= kind.value.detail;
    }
  }

  /** Applies an entry of Dota's combat log. */
  private fought(entry: CombatLog, tick: number): void {
    switch (entry.type) {
      case CombatLogType.DAMAGE:
        if (entry.isAttackerHero && entry.isTargetHero && !entry.targetIsSelf) this.beats.push(tick);
        return;
      case CombatLogType.DEATH: {
        if (!entry.isTargetHero || entry.isTargetIllusion) return;
        const target = this.ofHero(entry.targetName);
        const attacker = this.ofHero(entry.attackerName);
        const victim = this.nameOf(target, tick) || words(entry.targetName);
        if (entry.isAttackerHero && entry.attackerName !== entry.targetName) {
          const by = entry.inflictorName && entry.inflictorName !== "dota_unknown" ? ` with ${words(entry.inflictorName)}` : "";
          this.news.push({ tick, kind: "death", client: attacker, name: this.nameOf(attacker, tick) || words(entry.attackerName), text: `killed ${victim}${by}` });
        } else this.news.push({ tick, kind: "death", client: target, name: victim, text: entry.attackerName && entry.attackerName !== entry.targetName ? `died to ${words(entry.attackerName)}` : "died" });
        return;
      }
      case CombatLogType.TEAM_BUILDING_KILL:
        this.news.push({ tick, kind: "goal", client: -1, text: `${words(entry.targetName) || "A building"} fell` });
        return;
      case CombatLogType.AEGIS_TAKEN:
        this.news.push({ tick, kind: "goal", client: this.ofHero(entry.attackerName), name: words(entry.attackerName), text: "took the Aegis" });
        return;
      case CombatLogType.BUYBACK: {
        const id = Number(entry.value);
        this.news.push({ tick, kind: "join", client: id, name: this.nameOf(id, tick) || `#${id}`, text: "bought back" });
      }
    }
  }

  /** Applies a kill of Deadlock. */
  private killed({ victimIndex, attackerIndex, scorerIndex, assisterIndexes }: Kill, tick: number): void {
    const victim = this.ofPawn(victimIndex);
    if (victim < 0) return;
    const name = this.nameOf(victim, tick);
    // The entities may have told it already.
    const told = this.news.findLastIndex(({ kind, client, text, tick: at }) => kind === "death" && client === victim && text === "died" && tick - at < this.ticksPerSecond);
    if (told >= 0) this.news.splice(told, 1);
    this.killedAt.set(victim, tick);
    const attacker = [scorerIndex, attackerIndex].map((index) => this.ofPawn(index)).find((id) => id >= 0 && id !== victim);
    if (attacker === undefined) {
      this.news.push({ tick, kind: "death", client: victim, name, text: "died" });
      return;
    }
    const helpers = assisterIndexes.map((index) => this.ofPawn(index)).filter((id) => id >= 0 && id !== attacker).map((id) => this.nameOf(id, tick));
    const help = helpers.length ? ` with help of ${helpers.join(", ")}` : "";
    this.news.push({ tick, kind: "death", client: attacker, name: this.nameOf(attacker, tick), text: `killed ${name}${help}` });
  }

  /** Applies damage that players do each other. */
  private hurt({ victimIndex, attackerIndex }: Damage, tick: number): void {
    const [victim, attacker] = [this.ofPawn(victimIndex), this.ofPawn(attackerIndex)];
    if (victim >= 0 && attacker >= 0 && victim !== attacker && this.beats.at(-1) !== tick) this.beats.push(tick);
  }

  /** The player whose body is in a slot, or -1 if there is none. */
  private ofPawn(index: number | undefined): number {
    if (index === undefined || !pawns.includes(this.watched.get(index)?.className ?? "")) return -1;
    for (const entity of this.watched.values()) {
      if (controllers.includes(entity.className) && ((pawnOf(entity) ?? 0xffffff) & 0x3fff) === index) return entity.index - 1;
    }
    return -1;
  }

  /** Applies a game event. It identifies players by slot. */
  private happened({ name, keys }: GameEvent, tick: number): void {
    const keyOf = (key: string) => keys.find((one) => one.name === key);
    const value = (key: string) => keyOf(key)?.value.value;
    const who = (key: string) => {
      const slot = number(value(key)) ?? 0xffff;
      return (slot & 0xff) === 0xff ? -1 : slot & 0xff;
    };
    const nameIn = (key: string) => keyOf(key)?.playerName || this.nameOf(who(key), tick) || "somebody";
    const goal = (key: string, text: string) => this.news.push({ tick, kind: "goal", client: who(key), name: nameIn(key), text });
    switch (name) {
      case "player_death": {
        const [victim, attacker] = [who("userid"), who("attacker")];
        const target = nameIn("userid");
        const weapon = String(value("weapon") ?? "").replaceAll("_", " ");
        const how = [weapon && ` with ${weapon}`, value("headshot") === true && ", headshot"].filter(Boolean).join("");
        if (attacker >= 0 && attacker !== victim) this.news.push({ tick, kind: "death", client: attacker, name: nameIn("attacker"), text: `killed ${target}${how}` });
        else this.news.push({ tick, kind: "death", client: victim, name: target, text: "died" });
        return;
      }
      case "player_hurt":
        this.beats.push(tick);
        return;
      case "round_start": {
        const rules = [...this.watched.values()].find(({ className }) => className === "CCSGameRulesProxy");
        const played = number(rules?.get("m_pGameRules.m_totalRoundsPlayed"));
        this.news.push({ tick, kind: "round", client: -1, text: played === undefined ? "A round begins" : `Round ${played + 1} begins` });
        return;
      }
      case "round_end": {
        const winner = number(value("winner"));
        this.news.push({ tick, kind: "round", client: -1, text: `${winner === 2 ? "Terrorists" : winner === 3 ? "Counter-Terrorists" : "Nobody"} won the round` });
        return;
      }
      case "begin_new_match":
        this.news.push({ tick, kind: "round", client: -1, text: "The match begins" });
        return;
      case "bomb_planted":
        goal("userid", "planted the bomb");
        return;
      case "bomb_defused":
        goal("userid", "defused the bomb");
        return;
      case "bomb_exploded":
        this.news.push({ tick, kind: "goal", client: -1, text: "The bomb exploded" });
    }
  }

  /** Records the state of the watched entities at the end of a tick. */
  private look(tick: number): void {
    const all = [...this.watched.values()];
    const resource = all.find(({ className }) => className === "CDOTA_PlayerResource");
    const chosen = new Map<number | string, number>(); // players by their heroes' handles, or by the heroes' names
    if (resource) {
      for (let id = 0; id < 24; id++) {
        const handle = number(resource.get(`m_vecPlayerTeamData.${padded(id)}.m_hSelectedHero`));
        const name = resource.names.get(`m_vecPlayerTeamData.${padded(id)}.m_nSelectedHeroID`);
        if (handle !== undefined && handle !== 0xffffff) chosen.set(handle, id);
        else if (name) chosen.set(name, id);
      }
    }
    for (const entity of all) {
      const { className } = entity;
      if (className.startsWith("CDOTA_Unit_Hero_")) this.hero(entity, tick, all, resource, chosen);
      else if (className === "CCSPlayerController" || className === "CCitadelPlayerController") this.controlled(entity, tick);
      else if (buildings.includes(className)) this.building(entity, tick);
      else if (teams.includes(className)) {
        const team = number(entity.get("m_iTeamNum")) ?? 0;
        const name = String(entity.get("m_szClanTeamname") || entity.get("m_szTeamname") || "");
        if (name) this.teamNames.set(team, name);
        const score = number(className === "CDOTATeam" ? entity.get("m_iHeroKills") : entity.get("m_iScore"));
        if (score !== undefined) {
          let scores = this.scores.get(team);
          if (!scores) this.scores.set(team, (scores = new Steps()));
          scores.note(tick, score);
        }
      } else if (className === "CDOTAGamerulesProxy") this.news.push(...this.drafts.look(entity, tick));
      else if (className.endsWith("GameRulesProxy")) {
        const [least, most] = ["m_vMinimapMins", "m_vMinimapMaxs"].map((name) => entity.get(`m_pGameRules.${name}`) as number[] | undefined);
        if (least && most && most[0] > least[0] && most[1] > least[1]) this.given = { left: least[0], right: most[0], top: -most[1], bottom: -least[1] };
      }
    }
  }

  private hero(entity: Entity, tick: number, all: Entity[], resource: Entity | undefined, chosen: Map<number | string, number>): void {
    const model = number(entity.get("m_hReplicatingOtherHeroModel"));
    if (model !== undefined && model !== 0xffffff) return; // an illusion
    const handle = handleOf(entity);
    const known = chosen.get(handle) ?? chosen.get(entity.name);
    const id = known ?? number(entity.get("m_iPlayerID") ?? entity.get("m_nPlayerID"));
    if (id === undefined || id < 0 || (known === undefined && [...chosen.values()].includes(id))) return;
    const player = this.player(id);
    const controller = all.find((one) => one.className === "CDOTAPlayerController" && one.get("m_hAssignedHero") === handle);
    const name = String(resource?.get(`m_vecPlayerData.${padded(id)}.m_iszPlayerName`) || controller?.get("m_iszPlayerName") || "");
    player.names.note(tick, name || words(entity.className));
    player.heroes.note(tick, entity.className);
    const team = number(entity.get("m_iTeamNum")) ?? 0;
    this.body(player, entity, tick, team, number(entity.get("m_iHealth")), number(entity.get("m_iMaxHealth")), number(entity.get("m_lifeState")) === 0);
    const level = number(entity.get("m_iCurrentLevel"));
    if (level !== undefined) player.levels.note(tick, level);
    const slot = number(resource?.get(`m_vecPlayerTeamData.${padded(id)}.m_iTeamSlot`)) ?? id % 5;
    const data = all.find(({ className }) => className === (team === 3 ? "CDOTA_DataDire" : "CDOTA_DataRadiant"));
    this.worth(player, tick, number(data?.get(`m_vecDataTeam.${padded(slot < 0 ? id % 5 : slot)}.m_iNetWorth`)));
    const count = ["m_iKills", "m_iDeaths", "m_iAssists"].map((field) => number(resource?.get(`m_vecPlayerTeamData.${padded(id)}.${field}`)));
    if (count.every((one) => one !== undefined)) player.scores.note(tick, count.join("/"));
  }

  /** Records a player whose body is a separate entity. */
  private controlled(entity: Entity, tick: number): void {
    const team = number(entity.get("m_iTeamNum")) ?? 0;
    const id = entity.index - 1;
    if (team < 2) {
      this.players.get(id)?.teams.note(tick, team);
      return;
    }
    const own = (name: string) => number(entity.get(name) ?? entity.get(`m_PlayerDataGlobal.${name}`));
    const pawn = this.state.byHandle(pawnOf(entity) ?? 0xffffff);
    const player = this.player(id);
    player.names.note(tick, String(entity.get("m_iszPlayerName") ?? "") || `#${id}`);
    const living = entity.get("m_bPawnIsAlive") ?? entity.get("m_bAlive") ?? entity.get("m_PlayerDataGlobal.m_bAlive") ?? number(pawn?.get("m_lifeState")) === 0;
    const was = player.lives.values.at(-1)?.alive;
    if (was && !living && entity.className === "CCitadelPlayerController" && tick - (this.killedAt.get(id) ?? -Infinity) >= this.ticksPerSecond) {
      this.news.push({ tick, kind: "death", client: id, name: this.nameOf(id, tick), text: "died" });
    }
    const health = number(pawn?.get("m_iHealth") ?? entity.get("m_iPawnHealth"));
    this.body(player, pawn, tick, team, health, number(pawn?.get("m_iMaxHealth")) || 100, living === true);
    this.worth(player, tick, number(entity.get("m_pInGameMoneyServices.m_iAccount")) ?? own("m_iGoldNetWorth"));
    const level = own("m_iLevel");
    if (level !== undefined) player.levels.note(tick, level);
    const stats = "m_pActionTrackingServices.m_matchStats.";
    const count = [number(entity.get(`${stats}m_iKills`)) ?? own("m_iPlayerKills"), number(entity.get(`${stats}m_iDeaths`)) ?? own("m_iDeaths"),
      number(entity.get(`${stats}m_iAssists`)) ?? own("m_iPlayerAssists")];
    if (count.every((one) => one !== undefined)) player.scores.note(tick, count.join("/"));
  }

  private body(player: Player, entity: Entity | undefined, tick: number, team: number, now: number | undefined, most: number | undefined, alive: boolean): void {
    player.teams.note(tick, team);
    if (now !== undefined) player.lives.note(tick, { now, most: most || 1, alive }, (a, b) => a.now === b.now && a.most === b.most && a.alive === b.alive);
    const at = entity?.place();
    if (!entity || !at) return;
    const place = { x: at[0], y: -at[1] };
    this.seen = stretch(this.seen, place);
    this.walked.to(`player ${player.id}`, place);
    player.places.note(tick, place, (a, b) => a?.x === b?.x && a?.y === b?.y);
    const angles = (entity.get("m_angEyeAngles") ?? entity.get("CBodyComponent.m_angRotation")) as number[] | undefined;
    if (angles?.[1] !== undefined) player.angles.note(tick, (-angles[1] * Math.PI) / 180);
  }

  private worth(player: Player, tick: number, value: number | undefined): void {
    if (value === undefined) return;
    player.worths.note(tick, value);
    const last = this.sampled.get(player.id) ?? -Infinity;
    if (tick - last < this.ticksPerSecond) return;
    this.sampled.set(player.id, tick);
    this.samples.push({ chart: "worth", tick, id: player.id, value });
  }

  private building(entity: Entity, tick: number): void {
    const at = entity.place();
    let building = this.buildings.get(entity);
    if (!building) {
      if (!at) return;
      const place = { x: at[0], y: -at[1] };
      building = { ...place, team: 0, large: /Fort|Tier3/.test(entity.className), name: entity.name || entity.className, lives: new Steps() };
      this.seen = stretch(this.seen, place);
      this.buildings.set(entity, building);
    }
    building.team = number(entity.get("m_iTeamNum")) ?? 0;
    const health = number(entity.get("m_iHealth")) ?? 1;
    building.lives.note(tick, number(entity.get("m_lifeState")) ? 0 : Math.max(0, Math.min(1, health / (number(entity.get("m_iMaxHealth")) || 1))));
  }

  private player(id: number): Player {
    let player = this.players.get(id);
    if (!player) this.players.set(id, (player = new Player(id)));
    return player;
  }

  /** The player of a hero, or -1 if there is none. */
  private ofHero(name: string): number {
    const wanted = bare(name);
    for (const { id, heroes } of this.players.values()) if (bare(heroes.values.at(-1) ?? "") === wanted) return id;
    return -1;
  }

  nameOf(id: number, tick: number): string {
    const known = this.players.get(id);
    if (known) return known.names.at(Math.max(tick, this.from)) ?? known.names.values[0] ?? "";
    const controller = this.watched.get(id + 1); // includes spectators
    return controllers.includes(controller?.className ?? "") ? String(controller!.get("m_iszPlayerName") ?? "") : "";
  }

  /** The game's clock in seconds, or undefined if the game has none. */
  timeAt(tick: number): number | undefined {
    const index = this.clock.indexAt(tick);
    if (index < 0) return undefined;
    const { time, paused } = this.clock.values[index];
    return paused ? time : time + (tick - this.clock.ticks[index]) / this.ticksPerSecond;
  }

  trim(tick: number): void {
    if (tick <= this.from) return;
    this.from = tick;
    for (const { names, heroes, teams, places, angles, lives, levels, worths, scores } of this.players.values()) {
      for (const steps of [names, heroes, teams, places, angles, lives, levels, worths, scores]) steps.trim(tick);
    }
    for (const { lives } of this.buildings.values()) lives.trim(tick);
    for (const scores of this.scores.values()) scores.trim(tick);
    this.clock.trim(tick);
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
  const ways: Filter = { kinds: ["sample_entity"], ticks: { every: Math.round(ticksPerSecond) }, dem: { classes: [heroes, ...pawns], fields: ["CBodyComponent.place"] } };
  const kinds = title === "deadlock" ? [...said, ...fights] : said;
  const playerOf = (world: DemWorld, id: number, tick: number) => {
    const team = world.players.get(id)?.teams.at(Math.max(tick, world.from)) ?? world.players.get(id)?.teams.values[0] ?? 0;
    return { name: world.nameOf(id, tick), colour: team ? lineColour(title, team, id) : theme().neutral };
  };
  return {
    around: { include: [...entitiesWith([...whoFields, ...nowFields]), { kinds: [...kinds, "tick"] }] },
    whole: { include: [...entitiesWith(whoFields), { kinds }, ways] },
    charts: [{ name: "worth", title: title === "cs" ? "Money" : title === "deadlock" ? "Souls" : "Net worth" }],
    world: (start) => new DemWorld(start, ticksPerSecond, walked),
    stage: (canvas, game) => {
      const stage = new DemStage(canvas, game, title, walked);
      void stage.take(overview);
      return stage;
    },
    people: (world, tick) => [...world.players.values()].filter(({ teams }) => (teams.at(tick) ?? 0) >= 2).map((player): Person => {
      const life = player.lives.at(tick);
      const level = player.levels.at(tick);
      const hero = player.heroes.at(tick);
      const worth = player.worths.at(tick);
      const name = world.nameOf(player.id, tick);
      const own = hero ? words(hero) : "";
      return {
        id: player.id, name, colour: lineColour(title, player.teams.at(tick) ?? 0, player.id), team: player.teams.at(tick)!,
        note: [own !== name && own, level !== undefined && title !== "cs" && `level ${level}`, player.scores.at(tick), life && !life.alive && "dead"].filter(Boolean).join(" · "),
        here: life?.alive ?? true, ...(life ? { health: life.alive ? Math.min(1, life.now / life.most) : 0 } : {}),
        ...(worth !== undefined ? { value: title === "cs" ? `$${worth}` : shortNumber(worth) } : {}),
      };
    }).sort((a, b) => a.team - b.team || a.id - b.id),
    sides: (world, tick): Side[] => [2, 3].map((team) => {
      const score = world.scores.get(team)?.at(tick);
      const named = title === "cs" ? world.teamNames.get(team) : undefined;
      const name = named && !/^(TERRORIST|CT)$/.test(named) ? named : sideNames[title][team - 2];
      return { team, name, colour: teamColour(title, team), ...(score === undefined ? {} : { score: String(score) }) };
    }),
    missing: ({ players, buildings, fault }, tick) => {
      if (buildings.size > 0 || [...players.values()].some(({ places }) => places.at(tick))) return "";
      return fault ? `This part of the demo cannot be shown, since it cannot be decoded: ${fault}` : "No player is in the game at this moment.";
    },
    person: playerOf,
    ...(title === "dota" && { draft: (marks) => draftOf((replay.header.case === "dem" && replay.header.value.fileInfo?.match?.draft) || [], marks) }),
    sideOf: (team) => (team === 2 || team === 3 ? { team, name: sideNames[title][team - 2], colour: teamColour(title, team) } : undefined),
    clock: (world, tick) => {
      const time = world.timeAt(tick);
      return time === undefined ? "" : `${time < 0 ? "-" : ""}${timeText(Math.abs(time))}`;
    },
  };
}
