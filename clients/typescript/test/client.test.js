// Tests of the client against a real daemon.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { openSync, closeSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { create } from "@bufbuild/protobuf";
import { Client, Code, connect, EndReason, FollowState, Format, ReplaydError, ReplayOrder, ReplayView } from "../dist/node.js";
import { recordBatch, table } from "../dist/arrow.js";
import { Session } from "../dist/session.js";
import { StreamEventsRequestSchema, StreamEventsResponseSchema } from "../gen/replayd/v1/stream_pb.js";
import { WatchReplaysResponseSchema } from "../gen/replayd/v1/watch_pb.js";
import { binary, Daemon, finished, repository, teehistorian } from "./daemon.js";

const collect = async (stream) => {
  const all = [];
  for await (const item of stream) all.push(item);
  return all;
};

const lines = (events) => events.map((event) => JSON.stringify(event));

test("a broadcast is followed to its end", async () => {
  const relay = createServer((request, response) => {
    try {
      response.end(readFileSync(join(repository, "clients/testdata", request.url)));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${relay.address().port}/broadcast`;
  const daemon = await Daemon.start("--broadcast-allow", url, "--broadcast-into", "r/tv", "--broadcast-pace", "1ms");
  const client = connect(daemon.address);
  try {
    const name = await client.followBroadcast(url);
    assert.match(name, /^r\/tv\//);
    const stream = client.events(name, { follow: true });
    const kinds = (await collect(stream)).map((event) => event.kind);
    assert.ok(kinds.includes("kill") && stream.end.reason === EndReason.FINISHED);
    assert.equal(await client.followBroadcast(`${url}/`), name);
    await assert.rejects(client.followBroadcast("http://example.org/secret"), ({ code, message }) => code === Code.PermissionDenied && !message.includes("secret"));
  } finally {
    client.close();
    await daemon.stop();
    relay.close();
    relay.closeAllConnections();
  }
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

  test("only the columns that are asked for", async () => {
    const some = await table(client, finished.name, "player_diff", { columns: ["x", "at_tick"] });
    assert.deepEqual(some.schema.fields.map((field) => field.name), ["at_tick", "x"]);
    const moves = await collect(client.events(finished.name, { kinds: ["player_diff"] }));
    assert.deepEqual(some.toArray().map((row) => row.x), moves.map((event) => event.value.x));
    await assert.rejects(table(client, finished.name, "player_diff", { columns: ["nothing"] }), /player_diff.*nothing/);
  });

  test("events are numbered and typed", async () => {
    const stream = client.events(finished.name);
    const events = await collect(stream);
    assert.deepEqual(events.map((event) => event.sequence), events.map((_, i) => i));
    assert.equal(events.at(-1).kind, "finish");
    assert.equal(stream.end.reason, EndReason.FINISHED);
    assert.equal(Number(stream.end.eventsSent), events.length);
    assert.equal(stream.replay.header.value.gameType, "DDraceNetwork");
    const move = events.find((event) => event.kind === "player_diff");
    assert.equal(move.event.kind.case, "playerDiff");
    assert.equal(move.value.x, move.event.kind.value.x);
    assert.equal(move.tick, move.event.atTick);
  });

  test("positions join streams", async () => {
    const read = async (options) => (await collect(client.events(finished.name, options))).map(({ offset, index, kind }) => ({ offset, index, kind }));
    const whole = await read({});
    const moves = ["player_diff"];
    const joined = [...(await read({ kinds: moves })), ...(await read({ exclude: [{ kinds: moves }], maxBatchEvents: 7 }))];
    joined.sort((a, b) => a.offset - b.offset || a.index - b.index);
    assert.deepEqual(joined, whole);
    assert.ok(whole[0].offset > 0 && whole.every((event, i) => i === 0 || event.offset > whole[i - 1].offset || event.index > whole[i - 1].index));
    const [state] = await collect(client.events(finished.name, { tick: 300, withState: true }));
    assert.deepEqual([state.state, state.offset, state.index], [true, 0, 0]);
  });

  test("JSON equals the output of replayd cat", async () => {
    const ours = await collect(client.events(finished.name));
    const printed = execFileSync(binary, ["cat", finished.path], { encoding: "utf8" });
    assert.deepEqual(JSON.parse(JSON.stringify(ours)), printed.trim().split("\n").map((line) => JSON.parse(line)));
  });

  test("batches hold the same events", async () => {
    const events = await collect(client.events(finished.name));
    const batches = await collect(client.batches(finished.name, { maxBatchEvents: 7 }));
    assert.ok(batches.slice(0, -1).every((batch) => batch.length === 7));
    assert.deepEqual(lines(batches.flatMap((batch) => [...batch])), lines(events));
    assert.ok((await collect(client.batches(finished.name)))[0].length > 512); // the daemon's own default
  });

  test("several items can be requested at once", async () => {
    const stream = client.events(finished.name, { maxBatchEvents: 2 });
    const got = await Promise.all(Array.from({ length: 7 }, () => stream.next()));
    assert.deepEqual(got.map(({ value }) => value.sequence), [0, 1, 2, 3, 4, 5, 6]);
    const before = stream.cursor;
    assert.ok(before.length > 0);
    assert.deepEqual(await stream.return(), { done: true, value: undefined });
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.deepEqual(stream.cursor, before); // the fourth batch was not taken completely
    const rest = await collect(client.events(finished.name, { cursor: before }));
    assert.equal(rest[0].sequence, 6);
  });

  test("tables hold the same values as events", async () => {
    const events = await collect(client.events(finished.name));
    const moves = events.filter((event) => event.kind === "player_diff");
    const whole = await table(client, finished.name, "player_diff", { maxBatchEvents: 100 }); // several batches: one schema
    assert.deepEqual([...whole.getChild("x")], moves.map((event) => event.value.x));
    assert.deepEqual([...whole.getChild("at_tick")], moves.map((event) => event.tick));
    const messages = await table(client, finished.name, "message");
    assert.deepEqual([...messages.getChild("name")], events.filter((event) => event.kind === "message").map((event) => event.value.name));
    const batches = await collect(client.batches(finished.name, { tables: true }));
    assert.equal(batches.reduce((sum, batch) => sum + batch.length, 0), events.length);
    assert.throws(() => [...batches[0]], /batch\.tables/);
    await assert.rejects(collect(client.events(finished.name, { tables: true })), /batch\.tables/);
    assert.equal((await table(client, finished.name, "antibot")).numRows, 0);
    await assert.rejects(table(client, finished.name, "join", { kinds: ["join"] }), /not an option/);
    const late = await table(client, finished.name, "player_state", { tick: 500, withState: true });
    assert.ok(late.numRows > 0 && late.getChild("offset").get(0) === null);
    const deaths = await table(client, "r/dem/cs2.dem", "game_event", { types: ["player_death"], fieldColumns: true });
    assert.deepEqual(deaths.toArray().map((row) => [row.attacker_name, row.weapon]), [["Larry", "ak47"]]);
    const uploaded = await collect(client.decodeBatches(finished.bytes, { tables: true, maxBatchEvents: 100 }));
    assert.ok(uploaded.every((batch) => [...batch.tables.values()].every((one) => recordBatch(one).numRows === one.length)));
  });

  test("an upload gives the same events", async () => {
    const served = lines(await collect(client.events(finished.name)));
    const stream = client.decode(finished.path);
    assert.deepEqual(lines(await collect(stream)), served);
    assert.equal(stream.end.reason, EndReason.FINISHED);
    const batches = await collect(client.decodeBatches(finished.bytes, { maxBatchEvents: 100 }));
    assert.deepEqual(lines(batches.flatMap((batch) => [...batch])), served);
    await assert.rejects(collect(client.decode(Buffer.from("this is no replay"))), { reason: "UNKNOWN_FORMAT" });
    const big = await collect(client.decodeBatches(teehistorian(300_000)));
    assert.equal(big.reduce((sum, batch) => sum + batch.length, 0), 600_004);
  });

  test("resuming at a cursor", async () => {
    const whole = await collect(client.events(finished.name));
    const seen = [];
    let cursor;
    for await (const batch of client.batches(finished.name, { maxBatchEvents: 100 })) {
      seen.push(...batch);
      cursor = batch.cursor;
      if (seen.length >= 500) break;
    }
    seen.push(...(await collect(client.events(finished.name, { cursor }))));
    assert.deepEqual(lines(seen), lines(whole));
  });

  test("filters", async () => {
    const joins = await collect(client.events(finished.name, { kinds: ["join", "drop"], players: [1] }));
    assert.deepEqual(new Set(joins.map((event) => event.kind)), new Set(["join", "drop"]));
    assert.ok(joins.every((event) => event.value.clientId === 1));
    const rest = await collect(client.events(finished.name, { exclude: [{ kinds: ["player_diff"] }] }));
    assert.ok(rest.length > 0 && rest.every((event) => event.kind !== "player_diff"));
  });

  test("filters of formats", async () => {
    const demo = await collect(client.events("r/dem/sample.dem", { classes: ["CEvery*"], fields: ["m_iFixed?"] }));
    assert.ok(demo.length > 0);
    for (const event of demo) {
      assert.equal(event.string(event.value.class), "CEverything");
      for (const { field } of event.value.fields) assert.equal(event.string(field), "m_iFixed8");
    }
    const layer = await collect(client.events("r/datafile/sample.map", { kinds: ["tile_layer", "tiles"], layers: [1] }));
    assert.ok(layer.length > 0 && layer.every((event) => event.value.layer === 1));
    const groups = await collect(client.events("r/datafile/sample.map", { kinds: ["tile_layer"], groups: [0] }));
    assert.ok(groups.length > 0 && groups.every((event) => event.value.group === 0));
    await assert.rejects(collect(client.events(finished.name, { classes: ["x"] })), { reason: "BAD_REQUEST" });
  });

  test("a state comes first and is not counted", async () => {
    const rest = lines(await collect(client.events(finished.name, { tick: 500 })));
    {
      const events = await collect(client.events(finished.name, { tick: 500, withState: true }));
      const state = events.filter((event) => event.state);
      assert.ok(state.length > 0 && state.every((event) => event.kind === "player_state"));
      assert.deepEqual(lines(events.slice(state.length)), rest);
      assert.ok(lines(state).every((line) => line.startsWith('{"state":true,"at_tick":')));
    }
    const batches = await collect(client.batches(finished.name, { tick: 500, withState: true }));
    const told = batches.filter((batch) => batch.state);
    assert.deepEqual(told, batches.slice(0, told.length));
    assert.ok(told.at(-1).complete && told.every((batch) => batch.length === batch.events.length));
    const behind = await collect(client.events(finished.name, { cursor: told.at(-1).cursor }));
    assert.deepEqual(lines(behind), rest);
    assert.deepEqual(await collect(client.events(finished.name, { tick: 500, withState: true, players: [99] })), []);
  });

  test("facts are events that come by name alone", async () => {
    const name = "r/sc2replay/battle.SC2Replay";
    const steps = await collect(client.events(name, { kinds: ["fact_build_step"] }));
    const all = await collect(client.events(name));
    assert.ok(steps.length > 0 && steps.every(({ kind }) => kind === "fact_build_step"));
    assert.ok(all.every(({ kind }) => !kind.startsWith("fact_")));
    const both = await collect(client.events(name, { kinds: ["fact_build_step", "unit_born"], tick: 700 }));
    const placed = (events) => events.filter(({ kind, tick }) => kind === "fact_build_step" && tick >= 700).map(({ offset, index, value }) => [offset, index, value]);
    assert.deepEqual(placed(both), placed(steps));
  });

  test("invalid options are errors before anything is sent", () => {
    for (const [options, message] of [
      [{ kind: ["join"] }, 'there is no option "kind"'],
      [{ kinds: ["join"], max_batch_events: 1 }, 'there is no option "max_batch_events"'],
      [{ include: [{ kind: ["join"] }] }, 'there is no field of a filter "kind"'],
      [{ include: [{ dem: { class: ["x"] } }] }, 'there is no field of a filter of demos "class"'],
      [{ include: [{ datafile: { layer: [1] } }] }, 'there is no field of a filter of maps "layer"'],
      [{ teams: [1], include: [{ players: [1] }] }, "kinds, players and the like exclude include: put them into its filters"],
      [{ exclude: [{ ticks: { minimum: 1 } }] }, 'there is no bound of ticks "minimum"'],
    ]) {
      assert.throws(() => client.events(finished.name, options), { name: "TypeError", message });
      assert.throws(() => client.decode(finished.path, options), { name: "TypeError", message });
    }
  });

  test("an error from reading an upload is thrown unchanged", async () => {
    await assert.rejects(collect(client.decode(join(daemon.root, "none"))), { code: "ENOENT" });
    await assert.rejects(collect(client.decodeBatches(daemon.root)), { code: "EISDIR" });
    const broken = async function* () {
      yield finished.bytes.subarray(0, 1000);
      throw new RangeError("mine");
    };
    await assert.rejects(collect(client.decode(broken())), new RangeError("mine"));
  });

  test("leaving an upload closes its source", async () => {
    let closed = false;
    const source = async function* () {
      try {
        for (;;) yield finished.bytes.subarray(0, 8000); // never ends; only the first bytes are valid
      } finally {
        closed = true;
      }
    };
    for await (const _ of client.decode(source())) break;
    for (let i = 0; i < 100 && !closed; i++) await sleep(20);
    assert.ok(closed);
  });

  test("a process ends when its streams are left", async () => {
    writeFileSync(join(daemon.root, "left.teehistorian"), finished.bytes.subarray(0, 8000));
    for (const call of [
      `events("${finished.name}", { kinds: ["join"] })`,
      `batches("${finished.name}", { maxBatchEvents: 1 })`,
      `batches("r/left.teehistorian", { follow: true })`,
      `decode("${finished.path}")`,
      `watch("r")`,
      `replays("r")`,
      `subscribe("r")`,
      `watchState("r", { heartbeat: 1000 })`,
    ]) {
      const script = `
        import { connect } from ${JSON.stringify(join(repository, "clients/typescript/dist/node.js"))};
        const client = connect("${daemon.address}");
        for await (const _ of client.${call}) break;
        await client.${call}.next(); // and never again
        client.close();
        console.log("done");`;
      const run = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { timeout: 10_000 });
      assert.equal(run.stdout, "done\n", call);
    }
  });

  test("starts", async () => {
    const whole = lines((await collect(client.events(finished.name))).map((event) => event.event.kind));
    const last = await collect(client.events(finished.name, { last: 5 }));
    assert.deepEqual(lines(last.map((event) => event.event.kind)), whole.slice(-5));
    const late = await collect(client.events(finished.name, { tick: 1000 }));
    assert.ok(late[0].tick >= 1000);
    assert.throws(() => client.events(finished.name, { tick: 1, now: true }), /exclude each other/);
    await assert.rejects(collect(client.events(finished.name, { last: 0 })), { reason: "BAD_REQUEST" });
  });

  for (const [what, name, options, code, reason] of [
    ["no such replay", "r/none", {}, Code.NotFound, "REPLAY_NOT_FOUND"],
    ["a name that leads out", "r/../x", {}, Code.NotFound, "REPLAY_NOT_FOUND"],
    ["no such kind", finished.name, { kinds: ["none"] }, Code.InvalidArgument, "BAD_REQUEST"],
    ["no cursor", finished.name, { cursor: new Uint8Array(3) }, Code.InvalidArgument, "BAD_REQUEST"],
  ]) {
    test(`an error is thrown and not retried: ${what}`, async () => {
      await assert.rejects(collect(client.events(name, options)), (error) => {
        assert.ok(error instanceof ReplaydError);
        assert.deepEqual([error.code, error.reason], [code, reason]);
        if (reason === "BAD_REQUEST") assert.equal(Object.keys(error.fields).length, 1);
        return true;
      });
    });
  }

  test("damage is thrown behind the events before it", async () => {
    const good = teehistorian(100).subarray(0, -1);
    writeFileSync(join(daemon.root, "bad.teehistorian"), Buffer.concat([good, Buffer.from([0x4a]), Buffer.alloc(16), Buffer.from([0x40])]));
    const stream = client.events("r/bad.teehistorian");
    let count = 0;
    await assert.rejects(
      async () => {
        for await (const _ of stream) count++;
      },
      (error) => {
        assert.deepEqual([error.name, error.code, error.reason], ["ReplaydError", Code.DataLoss, "CORRUPT"]);
        assert.ok(error.cursor.length > 0);
        return true;
      },
    );
    assert.ok(count >= 200);
    assert.equal(stream.reconnects, 0);
  });

  test("listing", async () => {
    const names = (await collect(client.replays())).map((replay) => replay.name);
    assert.ok(names.includes(finished.name));
    const formats = [Format.TEEHISTORIAN];
    const full = await collect(client.replays("r", { formats, view: ReplayView.FULL, pageSize: 1 }));
    assert.ok(full.length > 0 && full.every((replay) => replay.header.case === "teehistorian"));
    assert.deepEqual(await collect(client.replays("r", { filter: { mapName: "no such map" } })), []);
    await assert.rejects(client.replays("r", { format: formats }).next(), { message: 'there is no option "format"' });
    await assert.rejects(client.replays("r", { filter: { map: "x" } }).next(), {
      message: 'there is no field of a filter of replays "map"',
    });
    assert.equal((await client.replay(finished.name)).header.case, "teehistorian");
    const { tick, ended, game } = await client.report(finished.name, 20);
    assert.deepEqual([tick, ended, game.case, game.value.players.map(({ connected }) => connected)], [20, false, "teehistorian", [true]]);
    assert.ok((await client.report(finished.name)).ended);
    assert.ok((await client.serverInfo()).formats[0].kinds.some(({ name }) => name === "player_diff"));
    for await (const change of client.watch("r/teehistorian/finished")) {
      assert.equal(change.replay.name, finished.name);
      break;
    }
    const listed = [];
    for await (const { replays, coverage } of client.pages("r", { pageSize: 2, order: ReplayOrder.LARGEST })) {
      assert.ok(replays.length <= 2 && coverage.totalFiles > 0n);
      listed.push(...replays);
      if (listed.length >= 3) break;
    }
    assert.equal(new Set(listed.map(({ name }) => name)).size, listed.length, "each page has others");
    const aborted = AbortSignal.abort(new Error("enough"));
    await assert.rejects(collect(client.replays("r", { signal: aborted })));
    await assert.rejects(collect(client.watch("r", aborted)), /enough/);
    await assert.rejects(collect(client.watch("r", { changes: true })), /no option of a watch "changes"/);
  });

  test("a watch without what exists says when it has begun, and ends when nothing is heard", async () => {
    let ready = 0;
    const seen = [];
    const stop = new AbortController();
    await assert.rejects(async () => {
      const onReady = () => {
        ready++;
        writeFileSync(join(daemon.root, "watched.teehistorian"), finished.bytes);
      };
      for await (const { replay } of client.watch("r", { changesOnly: true, onReady, heartbeat: 1000, signal: stop.signal })) {
        seen.push(replay.name);
        if (replay.name === "r/watched.teehistorian") stop.abort(new Error("seen"));
      }
    }, /seen/);
    assert.equal(ready, 1);
    assert.ok(!seen.includes(finished.name), "what existed was not told");
    const silent = {
      async stream(method, signal) {
        return { stream: true, message: (async function* () {
          yield create(WatchReplaysResponseSchema);
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        })() };
      },
    };
    await assert.rejects(collect(new Client(silent).watch("", { heartbeat: 1000 })), /no response for 3000 ms/);
  });

  test("a signal ends a stream", async () => {
    writeFileSync(join(daemon.root, "open.teehistorian"), finished.bytes.subarray(0, 8000));
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error("enough")), 300);
    await assert.rejects(collect(client.events("r/open.teehistorian", { follow: true, signal: stop.signal })), /enough/);
  });

  test("the README's example runs as printed, except for the address", async () => {
    const text = readFileSync(join(repository, "clients/typescript/README.md"), "utf8");
    const code = text.split("```js\n")[1].split("```")[0];
    assert.ok(code.trim().split("\n").length <= 10);
    const script = code
      .replace('"@replayd/client"', JSON.stringify(join(repository, "clients/typescript/dist/node.js")))
      .replace("localhost:7171", daemon.address)
      .replace('"samples/', '"r/');
    const run = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { timeout: 30_000 });
    assert.match(run.stdout, /join/);
  });
});

test("the delay is at least what the daemon asks for and at most the maximum, and only resumptions count", () => {
  const session = new Session(create(StreamEventsRequestSchema, { replay: "r/x" }), { maximum: 4_000 });
  const start = create(StreamEventsResponseSchema, { response: { case: "start", value: {} } });
  const full = (retryAfterMs) => new ReplaydError(Code.ResourceExhausted, "", { reason: "LIMIT_EXCEEDED", retryAfterMs });
  session.called();
  session.observe(start);
  for (const [asked, least, most] of [[10, 50, 100], [3_000, 3_000, 3_000], [60_000, 4_000, 4_000]]) {
    const delay = session.delay(full(asked));
    assert.ok(least <= delay && delay <= most, `${delay} where ${asked} was asked for`);
  }
  assert.throws(() => session.delay(full(0)), ReplaydError);
  assert.throws(() => session.delay(full(undefined)), ReplaydError);
  assert.equal(session.reconnects, 0);
  assert.ok(!session.observe(start));
  assert.equal(session.reconnects, 1);
});

test("a stream of a directory resumes in the replay that it began with, and then in its successor", () => {
  const session = new Session(create(StreamEventsRequestSchema, { replay: "r/directory", follow: true }), {});
  const observe = (response) => session.observe(create(StreamEventsResponseSchema, { response }));
  observe({ case: "start", value: { replay: { name: "r/directory/first" } } });
  assert.equal(session.request.replay, "r/directory/first");
  observe({ case: "followStatus", value: { state: 3, successor: { name: "r/directory/second" } } });
  assert.equal(session.request.replay, "r/directory/second");
});

test("a state is yielded once for each position", () => {
  const start = { at: { case: "now", value: {} }, withState: true };
  const session = new Session(create(StreamEventsRequestSchema, { replay: "r/x", start }), {});
  let cursor = 0;
  const observe = (name, value = {}) =>
    session.observe(
      create(StreamEventsResponseSchema, { cursor: new Uint8Array([++cursor]), response: { case: name, value } }),
    );
  assert.ok(observe("start", {}));
  assert.ok(observe("state", { complete: false }));
  assert.ok(!observe("start", {}));
  assert.ok(observe("state", { complete: false })); // only a part was yielded before
  assert.ok(observe("state", { complete: true }));
  assert.ok(observe("batch", { firstSequence: 0n, nextSequence: 3n }));
  assert.deepEqual(session.request.start.at, { case: "cursor", value: new Uint8Array([cursor]) });
  assert.ok(session.request.start.withState);
  assert.ok(!observe("start", { nextSequence: 3n }));
  assert.ok(!observe("state", { complete: false }));
  assert.ok(!observe("state", { complete: true }));
  assert.ok(observe("batch", { firstSequence: 3n, nextSequence: 4n }));
  assert.ok(observe("gap", { firstSequence: 4n, nextSequence: 10n }));
  assert.ok(observe("state", { complete: true }));
  assert.ok(!observe("state", { complete: true }));
  assert.ok(observe("followStatus", { state: FollowState.SUCCESSOR, successor: { name: "r/y" } }));
  assert.ok(observe("state", { complete: true }));
  assert.equal(session.missed, 6);
});

test("without a daemon a call fails at once", async () => {
  const client = connect("127.0.0.1:1");
  await assert.rejects(collect(client.events(finished.name)), { name: "ReplaydError", code: Code.Unavailable });
  client.close();
});

/** Appends data to a file in small pieces, split anywhere, as a game server does. */
async function grow(path, data) {
  const file = openSync(path, "a");
  for (let at = 0; at < data.length; at += 97) {
    writeSync(file, data.subarray(at, at + 97));
    await new Promise(setImmediate);
  }
  closeSync(file);
}

test("following resumes after the daemon is killed", async (t) => {
  const daemon = await Daemon.start();
  t.after(() => daemon.stop());
  const client = connect(daemon.address);
  t.after(() => client.close());
  const expected = lines(await collect(client.events(finished.name)));
  const stops = ["SIGKILL", "SIGTERM", "SIGKILL"];
  const begin = finished.bytes.indexOf(0, 16) + 1;
  const cut = (i) => begin + Math.floor(((finished.bytes.length - begin) * i) / (stops.length + 1));
  const path = join(daemon.root, "live.teehistorian");
  writeFileSync(path, finished.bytes.subarray(0, cut(1)));
  const stream = client.events("r/live.teehistorian", { follow: true });
  const got = [];
  let [stopped, writer] = [0, undefined];
  for await (const event of stream) {
    got.push(event);
    if (stopped === stops.length || stream.reconnects < stopped) continue; // it was not resumed after the last stop yet
    await daemon.kill(stops[stopped++]);
    await writer;
    writer = grow(path, finished.bytes.subarray(cut(stopped), cut(stopped + 1)));
    await daemon.start();
  }
  await writer;
  assert.deepEqual(lines(got), expected);
  assert.equal(stream.reconnects, stops.length);
  assert.equal(stream.end.reason, EndReason.FINISHED);
});

test("a long file resumes after the daemon is killed", async (t) => {
  const pairs = 1_000_000; // more than fits into the buffers between client and daemon
  const daemon = await Daemon.start();
  t.after(() => daemon.stop());
  writeFileSync(join(daemon.root, "long.teehistorian"), teehistorian(pairs));
  const client = connect(daemon.address);
  t.after(() => client.close());
  const stream = client.batches("r/long.teehistorian");
  let [kills, expected, moves] = [0, 0, 0];
  for await (const batch of stream) {
    assert.equal(batch.firstSequence, expected);
    expected = batch.nextSequence;
    for (const event of batch.events) {
      if (event.kind.case === "playerDiff" && event.atTick !== ++moves + 1) assert.fail(`tick ${event.atTick}`);
    }
    if (kills < 2 && moves > 200_000 * (kills + 1)) {
      kills++;
      await daemon.kill();
      await daemon.start();
    }
  }
  assert.equal(stream.reconnects, 2);
  assert.equal(moves, pairs);
});

test("a silent connection is replaced", async (t) => {
  const daemon = await Daemon.start();
  t.after(() => daemon.stop());
  writeFileSync(join(daemon.root, "live.teehistorian"), finished.bytes.subarray(0, 8000));
  const client = connect(daemon.address);
  t.after(() => client.close());
  const stream = client.responses("r/live.teehistorian", { follow: true, heartbeat: 1000 });
  let caughtUp = 0;
  for await (const { response } of stream) {
    if (response.case !== "followStatus") continue;
    if (++caughtUp === 2) break; // the resumed stream reports again that it has caught up
    daemon.process.kill("SIGSTOP"); // the connection stays open without any response
    setTimeout(() => daemon.process.kill("SIGCONT"), 5000);
  }
  assert.ok(stream.reconnects >= 1);
});

test("a browser's first stumble is told", async () => {
  const { connect } = await import("../dist/web.js");
  const refused = "http://127.0.0.1:1";
  const message = async (url) => {
    const error = await connect(url).serverInfo().catch((thrown) => thrown);
    assert.ok(error instanceof ReplaydError && error.transient, String(error));
    return error.message;
  };
  assert.doesNotMatch(await message(refused), /web-origin/); // not in a browser
  globalThis.location = { origin: "https://page.example", href: "https://page.example/games/" };
  try {
    assert.match(await message(refused), /--web-origin https:\/\/page\.example\)/);
    globalThis.location = { origin: refused, href: refused + "/" };
    assert.doesNotMatch(await message(refused), /web-origin/); // a page of the daemon
  } finally {
    delete globalThis.location;
  }
});
