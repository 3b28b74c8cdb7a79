// Tests of calls that are of many replays: subscriptions and the latest states.

import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { connect, EndReason, Format, players, States } from "../dist/node.js";
import { WatchStateResponseSchema } from "../gen/replayd/v1/state_pb.js";
import { Daemon, finished } from "./daemon.js";

const collect = async (stream) => {
  const all = [];
  for await (const item of stream) all.push(item);
  return all;
};
const lines = (events) => events.map((event) => JSON.stringify(event));

test("states fold", () => {
  const states = new States();
  const told = () => players(states.get(3)).map(({ kind: { value } }) => [value.clientId, value.x]);
  const game = (numbers, { x = 0, ...of } = {}) => {
    const events = numbers.map((clientId) => ({ kind: { case: "samplePlayer", value: { clientId, x } } }));
    states.apply(create(WatchStateResponseSchema, { replays: [{ replay: 3, tick: 1, players: { case: "teehistorian", value: { events } }, ...of }] }));
  };
  game([2, 0], { whole: true });
  assert.deepEqual(told(), [[0, 0], [2, 0]]);
  game([1, 2], { x: 5, removed: [0] });
  assert.deepEqual(told(), [[1, 5], [2, 5]]);
  game([]);
  assert.deepEqual(told(), [[1, 5], [2, 5]]);
  states.apply(create(WatchStateResponseSchema, { replays: [{ replay: 3, failure: { message: "later", retried: true } }] }));
  states.apply(create(WatchStateResponseSchema));
  assert.ok(states.get(3).failure && told().length === 2);
  game([7], { whole: true, end: EndReason.FINISHED });
  assert.ok(!states.get(3).failure && states.get(3).end);
  assert.deepEqual(told(), [[7, 0]]);
  states.apply(create(WatchStateResponseSchema));
  assert.equal(states.size, 0);
});

describe("a daemon", () => {
  let daemon, client;
  before(async () => {
    daemon = await Daemon.start();
    client = connect(daemon.address);
  });
  after(async () => {
    client.close();
    await daemon.stop();
  });

  test("a subscription has each event once, also when the daemon restarts", async () => {
    const formats = [Format.TEEHISTORIAN, Format.DATAFILE, Format.DEM];
    const want = new Map();
    for await (const { identity, name } of client.replays("", { formats })) {
      want.set(identity, lines(await collect(client.events(name, { maxBatchEvents: 300 })))); // where batches begin, classes are named
    }
    const got = new Map([...want.keys()].map((identity) => [identity, []]));
    const count = (map) => [...map.values()].reduce((sum, events) => sum + events.length, 0);
    let [token, responses, retries] = [undefined, 0, 0];
    const retry = { initial: 10, onRetry: () => retries++ };
    for await (const part of client.subscribe("", { formats, maxBatchEvents: 300, retry })) {
      got.get(part.replay?.identity)?.push(...lines([...part]));
      token = part.token;
      if (++responses === 9 || responses === 40) {
        await daemon.kill(responses === 9 ? "SIGKILL" : "SIGTERM");
        await daemon.start();
      }
      if (count(got) >= count(want)) break;
    }
    assert.deepEqual(got, want);
    assert.ok(retries > 0);
    const { value } = await client.subscribe("", { formats, token }).next();
    assert.ok(value.heartbeat && !value.replay && [...value].length === 0);
    await assert.rejects(client.subscribe("", { token }).next(), { reason: "TOKEN_MISMATCH" });
    await assert.rejects(client.subscribe("", { tick: 1 }).next(), /no option of a subscription "tick"/);
    await assert.rejects(client.subscribe("", { signal: AbortSignal.abort(new Error("enough")) }).next(), /enough/);
  });

  test("a named subscription goes on behind what was acknowledged", async () => {
    const options = { subscription: "stats", maxBatchEvents: 300 };
    const got = [];
    for (let ended = false; !ended; ) {
      for await (const part of client.subscribe("r/teehistorian/finished", options)) {
        got.push(...lines([...part]));
        if (part.batch) await client.acknowledge("stats", part.token);
        ended = part.response?.response.case === "end";
        if (part.batch || ended) break;
      }
    }
    assert.deepEqual(got, lines(await collect(client.events(finished.name, { maxBatchEvents: 300 }))));
    await client.deleteSubscription("stats");
    await assert.rejects(client.acknowledge("stats", new Uint8Array()), { reason: "SUBSCRIPTION_NOT_FOUND" });
    await assert.rejects(client.deleteSubscription("stats"), { reason: "SUBSCRIPTION_NOT_FOUND" });
  });

  test("the latest states of a game that grows, also when the daemon restarts", async () => {
    mkdirSync(join(daemon.root, "games"));
    const path = join(daemon.root, "games", "game.teehistorian");
    const parts = [0, 1, 2, 3].map((i) => finished.bytes.subarray((finished.bytes.length * i) / 3, (finished.bytes.length * (i + 1)) / 3));
    writeFileSync(path, parts[0]);
    let [written, last] = [1, -1];
    const calls = client.watchState("r/games", { interval: 50, columns: ["x"], resolvePlayers: true, retry: { initial: 10 } });
    for await (const states of calls) {
      assert.ok(states instanceof States && states.size <= 1);
      const [game] = states.values();
      if (game?.tick === undefined || game.tick === last) continue;
      assert.ok(game.description.name === "r/games/game.teehistorian" && game.tick > last);
      for (const { player, kind } of players(game)) assert.ok(player.name && kind.value.y === undefined);
      last = game.tick;
      if (written === 3) break;
      appendFileSync(path, parts[written++]);
      if (written === 2) { // the next call has the state again
        await daemon.kill();
        await daemon.start();
      }
    }
    await assert.rejects(client.watchState("", { columns: ["nothing"] }).next(), /nothing/);
    await assert.rejects(client.watchState("", { kinds: ["join"] }).next(), /no option of a watch "kinds"/);
    await assert.rejects(client.watchState("", { signal: AbortSignal.abort(new Error("enough")) }).next(), /enough/);
  });
});
