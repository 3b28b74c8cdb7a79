// Tests parts of the page that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { source } from "./source.js";

const { draftOf, words, chosen } = await source("draft.ts");
const { TeeWorld, kinds, wholeKinds } = await source("world.ts");
const { follow, lagFor } = await source("live.ts");
const { Walked } = await source("walked.ts");
const { seldom } = await source("format.ts");
const { Steps, placeBetween } = await source("steps.ts");
globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} }); // a browser's, which colours need
const { DemWorld } = await source("dem.ts");

/** The values from some ticks on. */
function stepsOf(...entries) {
  const steps = new Steps();
  for (const [tick, value] of entries) steps.push(tick, value);
  return steps;
}

test("a value holds from its tick until the next one, also after older ones were dropped", () => {
  const steps = stepsOf([10, "a"], [20, "b"], [20, "c"], [30, "d"]);
  const seen = (from) => [5, 10, 19, 20, 29, 30, 99].filter((tick) => tick >= from).map((tick) => steps.at(tick));
  assert.deepEqual(seen(0), [undefined, "a", "a", "c", "c", "d", "d"]);
  for (const [tick, left] of [[5, 3], [10, 3], [19, 3], [20, 2], [29, 2], [30, 1], [99, 1]]) {
    steps.trim(tick);
    assert.deepEqual(steps.ticks.length, left, `after ${tick}`);
    assert.equal(steps.values.length, left);
    assert.deepEqual(seen(tick), [5, 10, 19, 20, 29, 30, 99].filter((t) => t >= tick).map((t) => (t < 10 ? undefined : t < 20 ? "a" : t < 30 ? "c" : "d")));
  }
  steps.note(40, "d");
  steps.note(50, "e");
  assert.deepEqual(steps.ticks, [30, 50]);
});

test("places are interpolated only over short times and ways", () => {
  const places = stepsOf([0, { x: 0, y: 0 }], [10, { x: 100, y: 50 }], [30, { x: 200, y: 50 }], [40, { x: 200, y: 900 }], [50, undefined]);
  assert.deepEqual(placeBetween(places, 5, 10, 200), { x: 50, y: 25 });
  assert.deepEqual(placeBetween(places, 20, 10, 200), { x: 100, y: 50 }, "it was not seen for too long");
  assert.deepEqual(placeBetween(places, 35, 10, 200), { x: 200, y: 50 }, "it jumped");
  assert.deepEqual(placeBetween(places, 45, 10, 200), { x: 200, y: 900 }, "it is gone afterwards");
  assert.equal(placeBetween(places, 55, 10, 200), undefined);
  assert.equal(placeBetween(places, -1, 10, 200), undefined);
});

test("the ways of players are squares without gaps, and who jumps leaves none", () => {
  const walked = new Walked(10);
  walked.to("a", { x: 5, y: 5 });
  walked.to("a", { x: 45, y: 5 });
  walked.to("a", { x: 45, y: 5 });
  walked.to("b", { x: 5, y: -5 });
  walked.to("b", { x: 505, y: -5 }); // it jumped
  assert.deepEqual(walked.squares.map(({ x, y }) => [x, y]).sort((a, b) => a[1] - b[1] || a[0] - b[0]), [[0, -10], [500, -10], [0, 0], [10, 0], [20, 0], [30, 0], [40, 0]]);
});

test("a long game is asked for fewer samples, and a short one for one a second", () => {
  assert.deepEqual([{ lastTick: 900, ticksPerSecond: 30 }, { lastTick: 72_000, ticksPerSecond: 30 }, {}].map(seldom), [30, 150, 50]);
});

test("a draft says who chose, and when, as far as a demo has it", () => {
  const known = [
    { isPick: false, team: 3, heroId: 74, heroName: "npc_dota_hero_invoker" },
    { isPick: true, team: 2, heroId: 5, heroName: "npc_dota_hero_crystal_maiden" },
    { isPick: true, team: 3, heroId: 999 },
    { isPick: false, team: 2, heroId: 0 }, // nobody was banned
    { isPick: true, team: 9, heroId: 2, heroName: "npc_dota_hero_axe" },
  ];
  const news = [
    { tick: 3, kind: "chat", client: -1, name: "Axe", text: chosen.pick },
    { tick: 10, kind: "draft", client: -1, name: "Invoker", text: chosen.ban },
    { tick: 20, kind: "draft", client: -1, name: "Crystal Maiden", text: chosen.ban }, // another choice than the pick
    { tick: 30, kind: "draft", client: -1, name: "Hero 999", text: chosen.pick },
  ];
  assert.deepEqual(draftOf(known, news), [
    { hero: "Invoker", pick: false, team: 3, tick: 10 },
    { hero: "Crystal Maiden", pick: true, team: 2, tick: undefined },
    { hero: "Hero 999", pick: true, team: 3, tick: 30 },
    { hero: "Axe", pick: true, team: 0, tick: undefined },
    { hero: "Crystal Maiden", pick: false, team: 0, tick: 20 },
  ]);
  assert.deepEqual(draftOf([], news).map(({ hero, team, tick }) => [hero, team, tick]), [["Invoker", 0, 10], ["Crystal Maiden", 0, 20], ["Hero 999", 0, 30]]);
  assert.deepEqual(draftOf([], []), []);
});

test("names of a game become words", () => {
  assert.deepEqual(["npc_dota_hero_dragon_knight", "CDOTA_Unit_Hero_DragonKnight", "npc_dota_badguys_tower1_mid"].map(words), ["Dragon Knight", "Dragon Knight", "Dire Tower1 Mid"]);
});

test("the clock of a live game is as near to its file as arrivals allow", () => {
  assert.equal(lagFor([]), 2);
  assert.equal(lagFor(new Array(100).fill(1)), 2);
  assert.equal(lagFor(new Array(100).fill(2)), 2);
  assert.equal(lagFor([...new Array(96).fill(2), 8, 8, 30, 30]), 2, "late arrivals after a restart are no rule");
  assert.equal(lagFor([...new Array(90).fill(2), ...new Array(10).fill(8)]), 8);
  assert.equal(lagFor(new Array(100).fill(10)), 6, "half of what arrives at once, and one");
  assert.equal(lagFor([500, 500, 500]), 100);
});

test("the clock of a live game catches up, passes nothing that has not arrived, and never goes back", () => {
  const after = (tick, arrived, seconds) => {
    for (let frame = 0; frame < seconds * 60; frame++) tick = follow(tick, (arrived += 50 / 60), 2, 50 / 60);
    return arrived - tick;
  };
  assert.ok(after(0, 52, 0.25) < 6, `${after(0, 52, 0.25)} ticks behind 0.25 s after it was 52 behind`);
  assert.ok(after(0, 18, 0.12) < 6, `${after(0, 18, 0.12)} ticks behind 0.12 s after it was 18 behind`);
  for (const away of [1, 2, 3]) { // what waits for the next message is not played faster so that it is seen
    const step = follow(0, away + 2, 2, 0.1) / 0.1;
    assert.ok(step > 1 && step < 1.2, `${away} ticks behind it goes at ${step}`);
  }
  assert.ok(Math.abs(after(100, 100, 2) - 2) < 1);
  assert.equal(follow(100, 150, 2, 12.5), 148, "in a long frame it does not run ahead");
  assert.equal(follow(100, 60, 2, 1), 100, "what it shows has not arrived again yet");
  for (let tick = 0; tick < 300; tick++) {
    for (const step of [0, 0.1, 1, 12.5]) {
      const next = follow(tick, 150, 2, step);
      assert.ok(next >= tick && next <= Math.max(tick, 150), `from ${tick} by ${step} to ${next}`);
    }
  }
});

/** A world with three players, whose bodies are the entities 10 to 12, and what tells it something at a tick. */
function fight() {
  const world = new DemWorld(0, 64);
  const tell = (tick, kind, value) => world.apply([{ tick, string: (text) => text, event: { kind: { case: kind, value: { $typeName: typeOf(kind), ...value } } } }]);
  const stands = (tick, id, more) => tell(tick, "samplePlayer", {
    playerId: id, name: ["one", "two", "three"][id], heroName: `hero_${id}`, team: 2 + (id % 2), bodyIndex: 10 + id, health: 100, maxHealth: 100, alive: true, items: [], ...more,
  });
  for (const id of [0, 1, 2]) stands(0, id);
  return { world, stands, tell };
}

/** The name of the message of a kind of event, which others of the same name in other formats do not have. */
function typeOf(kind) {
  return `replayd.dem.v1.${kind[0].toUpperCase()}${kind.slice(1)}`;
}

test("kills, damage and chat of a demo are told by players", () => {
  const { world, tell, stands } = fight();
  stands(1, 1, { health: 90 });
  stands(1, 2, { health: 80 });
  stands(2, 1, { health: 95 });
  assert.deepEqual(world.beats, [1], "one for a tick, and none of who recovers");
  const actor = (id, more) => ({ playerId: id, name: ["one", "two", "three"][id], ...more });
  tell(4, "factKill", { killer: actor(0), victim: actor(1, { place: { x: 3, y: 4, z: 0 } }), assists: [actor(2), { heroName: "npc_dota_hero_axe" }], weapon: "weapon_awp", headshot: true });
  tell(200, "factKill", { killer: { unitName: "npc_dota_roshan" }, victim: actor(2), assists: [] });
  tell(200, "factKill", { killer: actor(2), victim: actor(2), assists: [], weapon: "hegrenade" });
  tell(201, "factKill", { victim: actor(2), assists: [] });
  tell(202, "chat", { $typeName: "replayd.dem.v1.Chat", playerId: 0, text: "gg", sender: "", playerName: "" });
  assert.deepEqual(world.news.map(({ tick, kind, client, name, text }) => [tick, kind, client, name, text]), [
    [4, "death", 0, "one", "killed two with Awp with help of three, Axe, headshot"], [200, "death", 2, "three", "died to Roshan"], [200, "death", 2, "three", "died"],
    [201, "death", 2, "three", "died"], [202, "chat", 0, "one", "gg"],
  ]);
  assert.deepEqual(world.dots, [{ tick: 4, id: 1, x: 3, y: -4, died: true }]);
});

test("rounds, objectives and purchases of a demo are told by facts", () => {
  const { world, tell } = fight();
  const actor = { playerId: 0, name: "one" };
  tell(1, "factRound", { number: 3, warmup: false, winner: 2, winnerName: "Terrorist", reason: 1, reasonName: "TargetBombed", sides: [] });
  tell(2, "factRound", { warmup: true, reason: 10, sides: [] });
  for (const [type, more] of [[1, { actor }], [2, { actor: { unitName: "CCSBot" } }], [3, {}], [4, { actor, name: "npc_dota_goodguys_tower1_mid", denied: true }], [5, { actor }], [6, {}], [99, { actor }]]) {
    tell(3, "factObjective", { type, denied: false, ...more });
  }
  tell(4, "factPurchase", { buyer: actor, item: "item_blink" });
  tell(4, "factPurchase", { item: "" });
  assert.deepEqual(world.news.map(({ tick, kind, client, name, text }) => [tick, kind, client, name, text]), [
    [1, "round", -1, undefined, "Terrorist won round 3: Target Bombed"], [2, "round", -1, undefined, "Nobody won the warm-up"],
    [3, "goal", 0, "one", "planted the bomb"], [3, "goal", -1, "CCSBot", "defused the bomb"], [3, "goal", -1, undefined, "The bomb exploded"],
    [3, "goal", -1, undefined, "Radiant Tower1 Mid fell, denied"], [3, "goal", 0, "one", "killed Roshan"], [3, "goal", -1, "somebody", "killed a Tormentor"],
    [3, "goal", 0, "one", "took an objective"],
    [4, "build", 0, undefined, "Blink"], [4, "build", -1, undefined, "something that is not known"],
  ]);
});

test("a player is where a sample says, and a building that is told of no more is gone", () => {
  const { world, tell, stands } = fight();
  const entity = (tick, index, name, fields) => tell(tick, "sampleEntity", {
    index, serial: 1, class: name, fields: Object.entries(fields).map(([field, value]) => ({ field, value: { case: typeof value === "object" ? "vector" : "int", value } })),
  });
  const at = (x) => ({ "CBodyComponent.place": { x, y: 5, z: 0 } });
  stands(2, 0, { place: { x: 1, y: 2 }, angles: { x: 0, y: 90, z: 0 }, items: ["upgrade_headshot_booster"], netWorth: 700, money: 5 });
  stands(4, 0, { bodyIndex: undefined, alive: false, health: 0 });
  const player = world.players.get(0);
  const { places } = player;
  assert.deepEqual([1, 2, 4].map((tick) => places.at(tick)), [undefined, { x: 1, y: -2 }, undefined]);
  assert.deepEqual([2, 4].map((tick) => [player.aliveAt(tick), player.healthAt(tick)]), [[true, 1], [false, 0]]);
  assert.deepEqual([player.nameAt(2), player.heroAt(2), player.teamAt(2), world.samples.at(-1).value], ["one", "0", 2, 700]);
  const tower = (tick, index, health) => entity(tick, index, "CDOTA_BaseNPC_Tower", { ...at(index), m_iHealth: health, m_iMaxHealth: 200, m_iTeamNum: 2 });
  tower(64, 30, 200); tower(64, 31, 100); tower(128, 31, 50); tower(192, 31, 50);
  assert.deepEqual([...world.buildings.values()].map(({ lives }) => [64, 128, 192].map((tick) => lives.at(tick))), [[1, 0, 0], [0.5, 0.25, 0.25]]);
  const smoke = (tick, began) => entity(tick, 40, "CSmokeGrenadeProjectile", { ...at(tick), m_bDidSmokeEffect: began });
  smoke(256, 0); smoke(320, 1); smoke(384, 1);
  for (const tick of [448, 512]) entity(tick, 1, "CCSGameRulesProxy", {}); // which is there when nothing else is
  const { x, name, brief, lives } = [...world.buildings.values()].at(-1);
  assert.deepEqual([x, name, brief.reach, ...[256, 320, 384, 448].map((tick) => lives.at(tick))], [320, "Smoke", 144, undefined, 1, 1, 0]);
  entity(576, 41, "CDOTA_NPC_Observer_Ward", { ...at(7), m_iHealth: 2, m_iMaxHealth: 2, m_iTeamNum: 3 });
  const ward = [...world.buildings.values()].at(-1);
  assert.deepEqual([ward.name, ward.team, ward.brief.reach, ward.lives.at(576)], ["Observer ward", 3, undefined, 1]);
});

test("behind damage nobody is who or where a client was before", () => {
  const world = new TeeWorld(0);
  const tell = (tick, kind, value) => world.apply([{ tick, event: { kind: { case: kind, value } } }]);
  tell(0, "join", { clientId: 3 });
  tell(0, "playerName", { clientId: 3, name: "Ada" });
  tell(0, "playerNew", { clientId: 3, x: 10, y: 20 });
  tell(5, "damage", {});
  const client = world.clients.of(3);
  assert.deepEqual([client.nameAt(4), client.places.at(4), client.joined.at(4)], ["Ada", { x: 10, y: 20 }, true]);
  assert.deepEqual([client.nameAt(5), client.places.at(5), client.joined.at(5)], ["#3", undefined, undefined]);
  tell(6, "playerDiff", { clientId: 3, dx: 1, dy: 1 }); // of a place that nobody knows
  assert.equal(client.places.at(6), undefined);
  tell(7, "playerNew", { clientId: 3, x: 1, y: 2 });
  assert.deepEqual(world.placeAt(client, 7), { x: 1, y: 2 });
  assert.deepEqual(world.news.map(({ kind, text }) => [kind, text]), [["join", "joined"], ["command", "A part of the recording is damaged"]]);
  assert.ok([kinds, wholeKinds].every((asked) => asked.includes("damage")), "it is asked for");
});

test("finishes are told by name, and those of teams by number", () => {
  const world = new TeeWorld(0);
  const finish = (tick, value) => world.apply([{ tick, event: { kind: { case: "factFinish", value } } }]);
  finish(5, { clientId: 3, name: "Ada", team: 0, seconds: 59.02 });
  finish(6, { clientId: 0, team: 2, seconds: 61.5 });
  finish(6, { team: 2, seconds: 3600 });
  finish(7, { seconds: 0.58 });
  assert.deepEqual(world.news.map(({ tick, client, name, text }) => [tick, client, name, text]), [
    [5, 3, "Ada", "finished in 59.02 s"], [6, 0, undefined, "finished in 1:01.50"], [6, -1, undefined, "Team 2 finished in 60:00.00"],
    [7, -1, undefined, "Team ? finished in 0.58 s"],
  ]);
});
