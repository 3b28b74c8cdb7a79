// Compares what replayd calculates of DDNet games (sample_character, sample_shot) with what the server itself told: the snapshots in the
// demos that it recorded of them. Positions are in the recording; velocities, hooks, weapons, freezes and jumps are not. The hits of hammers and
// the ends of characters are compared with what the server's clients saw of them.
//
//   go run ./e2e/record DIRECTORY snapshots
//   node bench/teehistorian/snapshots.mjs REPLAYD DIRECTORY/snapshots
//
// With TOLD=DIRECTORY it writes what the server told of how characters move, for the test TestTold of decoders/teehistorian/physics.
//
// It reads demos by itself (version 6, net version 0.6). Huffman's tree is that of the teeworlds package of e2e/ddnet/bots, which must be
// installed there or beside TEEWORLDS.

import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gunzipSync, gzipSync } from "node:zlib";

const [replayd, dir, only] = process.argv.slice(2);
const from = process.env.TEEWORLDS ?? new URL("../../e2e/ddnet/bots/", import.meta.url).pathname;
const { Huffman } = createRequire(join(from, "x.js"))("teeworlds/lib/huffman.js");
const huffman = new Huffman();

/** The sizes of items whose size is not written, by type. */
const sizes = [0, 10, 6, 5, 4, 3, 8, 4, 15, 22, 5, 17, 3, 2, 2, 2, 2, 3, 3, 3, 3];
const [laserType, projectileType, characterType, hammerType, deathType] = [3, 2, 9, 16, 17];
const ddnetCharacter = "76ce455b-f9eb-3a48-add7-e04b941d045c";

/** Reads variable ints. */
function ints(bytes) {
  const out = [];
  for (let i = 0; i < bytes.length;) {
    let byte = bytes[i++];
    const negative = byte & 0x40;
    let value = byte & 0x3f;
    for (let shift = 6; byte & 0x80 && i < bytes.length; shift += 7) {
      byte = bytes[i++];
      value |= (byte & 0x7f) << shift;
    }
    out.push(negative ? ~value : value);
  }
  return out;
}

function whole(data) {
  const [, count] = data;
  const offsets = data.slice(2, 2 + count).map((at) => at / 4);
  const begin = 2 + count;
  const items = new Map();
  offsets.forEach((at, i) => {
    const end = i + 1 < count ? offsets[i + 1] : data.length - begin;
    items.set(data[begin + at] >>> 0, data.slice(begin + at + 1, begin + end));
  });
  return items;
}

function changed(before, data) {
  const items = new Map(before);
  const [deleted, updated] = data;
  let at = 3;
  for (let i = 0; i < deleted; i++) items.delete(data[at++] >>> 0);
  for (let i = 0; i < updated; i++) {
    const [type, id] = [data[at++], data[at++]];
    const size = sizes[type] ?? data[at++];
    const key = ((type << 16) | id) >>> 0;
    const old = items.get(key);
    items.set(key, data.slice(at, at + size).map((value, j) => (old ? (old[j] + value) | 0 : value)));
    at += size;
  }
  return items;
}

/** Calls found with each snapshot of a demo: its tick, and its items by type and id. */
function demo(bytes, found) {
  if (bytes.toString("latin1", 0, 6) !== "TWDEMO" || bytes[7] !== 6) throw new Error("no demo of version 6");
  let at = 176 + 260 + 16 + 32 + bytes.readUInt32BE(136);
  let tick = 0;
  let items = new Map();
  while (at < bytes.length) {
    const head = bytes[at++];
    if (head & 0x80) {
      if (head & 0x20) tick += head & 0x1f;
      else { tick = bytes.readInt32BE(at); at += 4; }
      continue;
    }
    const type = (head >> 5) & 3;
    let size = head & 31;
    if (size === 30) size = bytes[at++];
    else if (size === 31) { size = bytes.readUInt16LE(at); at += 2; }
    if (type === 1 || type === 3) {
      const data = ints(huffman.decompress(bytes.subarray(at, at + size)));
      items = type === 1 ? whole(data) : changed(items, data);
      found(tick, items);
    }
    at += size;
  }
}

const of = (items, type) => [...items].filter(([key]) => key >>> 16 === type).map(([key, fields]) => [key & 0xffff, fields]);

/** The number of a type that is named by a UUID. */
function extended(items, uuid) {
  const want = Buffer.from(uuid.replaceAll("-", ""), "hex");
  for (const [id, fields] of of(items, 0)) {
    const bytes = Buffer.alloc(16);
    fields.forEach((field, i) => bytes.writeInt32BE(field, i * 4));
    if (bytes.equals(want)) return id;
  }
  return -1;
}

const weapons = ["HAMMER", "GUN", "SHOTGUN", "GRENADE", "LASER", "NINJA"];
const hooks = new Map([[-1, "IDLE"], [0, "IDLE"], [1, "RETRACTING"], [2, "RETRACTING"], [3, "RETRACTING"], [4, "FLYING"], [5, "HOLDING"]]);

const hookStates = ["IDLE", "FLYING", "HOLDING", "RETRACTING"];

/** What a snapshot tells of a character, by the names of sample_character. */
function told(tick, fields, more) {
  const [, x, y, velX, velY, , , jumped, hooked, hook, , hookX, hookY] = fields;
  const state = hooks.get(hook);
  const [flags, freezeEnd, jumps, , , jumpedTotal] = more;
  const flag = (bit) => (flags & (1 << bit)) !== 0;
  const frozen = freezeEnd > 0;
  return {
    place: `${x} ${y}`, vel: `${velX} ${velY}`, hook: state, hook_at: state === "IDLE" ? "" : `${hookX} ${hookY}`, hooked: hooked, weapon: frozen || freezeEnd < 0 ? undefined : weapons[fields[19]],
    freeze: freezeEnd < 0 ? undefined : frozen ? freezeEnd - tick : 0, deep: freezeEnd < 0,
    air_jumps: jumped & 2 ? 0 : Math.max(jumps - 1 - jumpedTotal, 1),
    solo: flag(0), jetpack: flag(1), endless_hook: flag(3), endless_jumps: flag(4),
  };
}

/** What replayd says of it. */
function said(one) {
  const state = one.hook.replace("HOOK_STATE_", "");
  return {
    place: `${one.x} ${one.y}`, vel: `${Math.round(one.vel_x * 256)} ${Math.round(one.vel_y * 256)}`, hook: state, hook_at: state === "IDLE" ? "" : `${one.hook_x} ${one.hook_y}`,
    hooked: one.hooked_client_id ?? -1, weapon: one.weapon.replace("WEAPON_", ""), freeze: one.freeze_ticks, deep: one.deep_frozen, air_jumps: one.air_jumps_left,
    solo: one.solo, jetpack: one.jetpack, endless_hook: one.endless_hook, endless_jumps: one.endless_jumps,
  };
}

const fields = Object.keys(told(0, [], []));
const moves = ["place", "vel", "hook", "hook_at", "hooked"];

async function samples(path) {
  const cat = spawn(replayd, ["cat", path, "--kind", "sample_character", "--every", "1"], { stdio: ["ignore", "pipe", "inherit"] });
  const found = new Map();
  for await (const line of createInterface({ input: cat.stdout })) {
    if (!line) continue;
    const { at_tick: tick, sample_character: one } = JSON.parse(line);
    found.set(`${tick} ${one.client_id}`, one);
  }
  return found;
}

/** The hits of hammers and the ends of characters that replayd tells, as texts with the tick. */
async function happenings(path) {
  const cat = spawn(replayd, ["cat", path, "--kind", "fact_hit", "--kind", "fact_character_end"], { stdio: ["ignore", "pipe", "inherit"] });
  const found = [];
  for await (const line of createInterface({ input: cat.stdout })) {
    if (!line) continue;
    const { fact_hit: hit, fact_character_end: end } = JSON.parse(line);
    if (hit?.weapon === "WEAPON_HAMMER") found.push(`${hit.tick} hammer`);
    if (end) found.push(`${end.tick} end of ${end.client_id}`);
  }
  return found;
}

/** Compares two lists of texts, of which each may be there more than once. */
function missing(of, among) {
  const left = new Map();
  for (const one of among) left.set(one, (left.get(one) ?? 0) + 1);
  return of.filter((one) => {
    const n = left.get(one) ?? 0;
    left.set(one, n - 1);
    return n <= 0;
  });
}

const total = new Map();
for (const file of readdirSync(dir).filter((name) => name.endsWith(".demo.gz") && (!only || name.startsWith(only)))) {
  const calculated = await samples(join(dir, file.replace(".demo.gz", ".teehistorian.gz")));
  const counts = { proven: 0, guessed: 0, elsewhere: 0, absent: 0 };
  const differs = new Map();
  const shown = [];
  const lines = [];
  const events = [];
  let [seen, first] = [-1, -1];
  demo(gunzipSync(readFileSync(join(dir, file))), (tick, items) => {
    if (tick === seen) return; // a key frame is there twice
    seen = tick;
    if (first < 0) first = tick;
    for (const _ of of(items, hammerType)) events.push(`${tick} hammer`);
    for (const [, [, , id]] of of(items, deathType)) events.push(`${tick} end of ${id}`);
    const type = extended(items, ddnetCharacter);
    const more = new Map(of(items, type));
    for (const [id, character] of of(items, characterType)) {
      // How it moves is often told of an earlier tick, from which clients go on by themselves; the rest is of this one.
      for (const [at, wanted] of character[0] === tick || character[0] === 0 ? [[tick, fields]] : [[character[0], moves], [tick, fields.filter((field) => field !== "air_jumps" && !moves.includes(field))]]) {
        const one = calculated.get(`${at} ${id}`);
        if (!one) { counts.absent++; continue; }
        const proven = /PROVEN|APPEARED/.test(one.proof);
        const [want, is] = [told(tick, character, more.get(id) ?? []), said(one)];
        if (wanted.includes("vel")) lines.push([at, id, want.place, want.vel, hookStates.indexOf(want.hook), want.hook_at || "0 0", want.hooked].join(" "));
        if (wanted.includes("vel") && want.place !== is.place) { // where it is is recorded, so this is of no tick: 16.4 does so with a jetpack
          counts.elsewhere++;
          continue;
        }
        if (wanted.includes("vel")) counts[proven ? "proven" : "guessed"]++;
        for (const field of wanted) {
          if (want[field] === undefined || want[field] === is[field]) continue;
          const key = `${field}${proven ? "" : " (guessed)"}`;
          differs.set(key, (differs.get(key) ?? 0) + 1);
          if (proven && shown.filter((line) => line.startsWith(field)).length < 4) shown.push(`${field}: tick ${at}, client ${id}: server ${want[field]}, replayd ${is[field]}`);
        }
      }
    }
  });
  if (process.env.TOLD) writeFileSync(join(process.env.TOLD, file.replace(".demo.gz", ".told.gz")), gzipSync(lines.join("\n") + "\n", { level: 9 }));
  console.log(`${file}: ${JSON.stringify(counts)}\n  ${JSON.stringify(Object.fromEntries(differs))}`);
  for (const line of shown) console.log(`    ${line}`);
  const facts = (await happenings(join(dir, file.replace(".demo.gz", ".teehistorian.gz")))).filter((one) => parseInt(one) >= first && parseInt(one) <= seen);
  const [lacks, has] = [missing(events, facts), missing(facts, events)];
  console.log(`  hits of hammers and ends: the server ${events.length}, replayd ${facts.length}; it lacks ${lacks.slice(0, 5)}, and has ${has.slice(0, 5)}`);
  for (const [key, n] of [["told", events.length], ["lacking", lacks.length], ["not told", has.length]]) total.set(key, (total.get(key) ?? 0) + n);
  for (const [key, n] of [...Object.entries(counts), ...differs]) total.set(key, (total.get(key) ?? 0) + n);
}
console.log("all:", JSON.stringify(Object.fromEntries(total)));
