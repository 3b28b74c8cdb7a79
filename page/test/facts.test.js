// Tests that the page receives the facts that the other clients do, and tells them.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "@replayd/client";
import { StepEnd, UnitClass, UnitEnd } from "@replayd/client/gen/replayd/sc2replay/v1/events_pb.js";
import { factsOf, filesOf } from "../../clients/same/facts.mjs";
import { binary, Daemon, repository } from "../../clients/typescript/test/daemon.js";
import { source } from "./source.js";

globalThis.matchMedia ??= () => ({ matches: false, addEventListener() {} }); // a browser's, which colours need
const { sc2 } = await source("sc2.ts");
const { TeeWorld, wholeKinds } = await source("world.ts");
const golden = fileURLToPath(new URL("../../clients/same/facts.golden", import.meta.url));

/** What the page asks of a whole replay, and the world that takes it, by format. */
const formats = {
  SC2REPLAY: () => {
    const { whole, world } = sc2({ header: { case: undefined } });
    return { whole, world: world(0) };
  },
  TEEHISTORIAN: () => ({ whole: { kinds: wholeKinds }, world: new TeeWorld(0) }),
};

/** The facts that the page tells or draws. */
const shown = {
  SC2REPLAY: ["fact_build_step", "fact_chat", "fact_engagement", "fact_supply_block", "fact_unit"],
  TEEHISTORIAN: ["fact_chat", "fact_death", "fact_finish", "fact_load", "fact_save", "fact_team"],
};

/** The news that a fact makes, and a message, in short. */
function newsOf(fact) {
  const { kind, value, tick } = fact;
  switch (kind) {
    case "fact_finish":
      return [[tick, "finish", value.clientId ?? -1]];
    case "fact_save":
    case "fact_load":
      return [[tick, "save", -1]];
    case "fact_death":
      return [[tick, "death", value.clientId]];
    case "fact_unit": {
      const { end, unit, killerPlayerId: killer } = value;
      const structure = end === UnitEnd.KILLED && unit?.class === UnitClass.STRUCTURE;
      return structure && fact.event.player?.playerId && killer && killer !== fact.event.player.playerId ? [[tick, "goal", killer]] : [];
    }
    case "fact_team":
      return value.team > 0 ? [[tick, "team", value.clientId]] : [];
    case "fact_chat":
      return value.text ? [[tick, "chat", value.clientId ?? fact.event.player?.playerId ?? -1]] : [];
    case "fact_engagement":
      return [[tick, "death", -1]];
    case "fact_supply_block":
      return value.maxed ? [] : [[tick, "command", value.playerId]];
    case "fact_build_step":
      return value.end === StepEnd.COMPLETE && (value.upgrade || value.unit?.class) ? [[tick, "build", fact.event.player.playerId]] : [];
  }
  return [];
}

test("a replay that records no units says so when some of it is there, and not before", () => {
  const { missing, world } = sc2({ header: { case: undefined } });
  const some = world(100);
  const says = [100, 115, 116].map((tick) => (some.reach(tick), missing(some) !== ""));
  assert.deepEqual(says, [false, false, true]);
  some.apply(Object.assign([{ tick: 120, event: { kind: { case: "unitBorn", value: { unit: { tag: 1 << 18 }, x: 1, y: 1 } } } }], { state: false }));
  assert.equal(missing(some), "");
});

test("the page has the facts of the golden file, and tells them", { skip: existsSync(binary) ? false : `no ${binary}`, timeout: 120_000 }, async (t) => {
  const daemon = await Daemon.start();
  const client = connect(daemon.address);
  t.after(async () => {
    client.close();
    await daemon.stop();
  });
  let [told, fought] = [0, 0];
  for (const { file, path, sample, format, kinds } of filesOf(golden, repository)) {
    const { whole, world } = formats[format]();
    const wanted = whole.kinds ?? whole.include.flatMap(({ kinds }) => kinds);
    assert.deepEqual(wanted.filter((kind) => kind.startsWith("fact_")).sort(), shown[format]);
    const events = [];
    try {
      for await (const batch of client.decodeBatches(path, whole)) {
        world.apply(batch);
        events.push(...batch);
      }
    } catch (error) {
      if (error.reason !== "CORRUPT" && error.reason !== "TRUNCATED") throw error;
    }
    const asked = Object.fromEntries(Object.entries(kinds).filter(([kind]) => wanted.includes(kind)));
    assert.deepEqual(factsOf(events, sample), asked, file);
    const want = events.flatMap(newsOf);
    const news = world.news.map(({ tick, kind, client }) => [tick, kind, client]).filter(([, kind]) => ["finish", "save", "team", "build", "chat", "death", "goal", "command"].includes(kind));
    assert.deepEqual(news, want, file);
    const killed = events.filter(({ kind, value, event }) => kind === "fact_unit" && value.end === UnitEnd.KILLED && value.unit?.class && event.player?.playerId);
    assert.deepEqual(world.beats, killed.map(({ tick }) => tick), file);
    told += want.length;
    fought += killed.length;
  }
  assert.ok(told > 100 && fought > 0, `${told} facts were told, ${fought} of fights`);
});
