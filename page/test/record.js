// Generates a recording of a game on the sample map, in which tees run and jump around.

import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const tile = 32;
const namespace = Buffer.from("e05ddaaac4e64cfbb6425d48e80c0029", "hex");

function int(value) {
  const negative = value < 0;
  let rest = negative ? ~value : value;
  const bytes = [(negative ? 0x40 : 0) | (rest & 0x3f)];
  for (rest >>>= 6; rest > 0; rest >>>= 7) {
    bytes[bytes.length - 1] |= 0x80;
    bytes.push(rest & 0x7f);
  }
  return bytes;
}

const text = (value) => [...Buffer.from(value), 0];
const uuid = (name) => {
  const hash = createHash("md5").update(namespace).update(name).digest();
  hash[6] = (hash[6] & 0x0f) | 0x30;
  hash[8] = (hash[8] & 0x3f) | 0x80;
  return [...hash];
};
const extension = (name, data) => [...int(-11), ...uuid(name), ...int(data.length), ...data];

/** The id of the game that is recorded. */
export const gameId = "a3bb189e-8bf9-3888-9912-ace4e6543002";

/** Records a number of ticks of a game of players with these names on a map. Its ends say where each tick ends in it, by tick. */
export function record(replayd, map, names, ticks) {
  const tiles = execFileSync(replayd, ["cat", map, "--kind", "tile_layer,tiles"], { encoding: "utf8", maxBuffer: 1 << 30 }).trim().split("\n").map((line) => JSON.parse(line));
  const { width, height, layer } = tiles.find(({ tile_layer }) => tile_layer?.kind === "LAYER_KIND_GAME").tile_layer;
  const grid = new Uint8Array(width * height);
  for (const { tiles: part } of tiles) {
    if (part?.layer !== layer) continue;
    const data = Buffer.from(part.data, "base64");
    for (let i = 0; i < part.rows * part.columns; i++) {
      grid[(part.y + Math.floor(i / part.columns)) * width + part.x + (i % part.columns)] = data[i * part.bytes_per_tile];
    }
  }
  const at = (x, y) => grid[Math.min(height - 1, Math.max(0, Math.floor(y / tile))) * width + Math.min(width - 1, Math.max(0, Math.floor(x / tile)))];
  const wall = (x, y) => x < 0 || x >= width * tile || y >= height * tile || [1, 2, 3].includes(at(x, y));
  const blocked = (x, y) => [-13, 13].some((dx) => [-13, 13].some((dy) => wall(x + dx, y + dy)));

  let seed = 7;
  const random = () => ((seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff);
  const free = () => {
    for (;;) {
      const x = Math.floor(random() * width) * tile + 16, y = Math.floor(random() * height) * tile + 16;
      if (!blocked(x, y) && at(x, y) === 0) return { x, y };
    }
  };
  const tees = names.map((name, id) => ({ id, name, ...free(), vx: 0, vy: 0, direction: random() < 0.5 ? -1 : 1 }));

  const bytes = readFileSync(map);
  const header = {
    comment: "teehistorian@ddnet.tw", version: "2", version_minor: "9", game_uuid: gameId, server_version: "replayd",
    start_time: "2026-11-20T20:00:00+0000", server_name: "A game on the sample map", server_port: "8303", game_type: "DDraceNetwork", map_name: "sample",
    map_size: String(bytes.length), map_sha256: createHash("sha256").update(bytes).digest("hex"), map_crc: "0", config: {}, tuning: {}, uuids: [],
  };
  const out = [Buffer.from("699db17b8efb34ffb1d8da6f60c15dd1", "hex"), Buffer.from(text(JSON.stringify(header)))];
  const put = (...parts) => out.push(Buffer.from(parts.flat()));
  for (const tee of tees) {
    put(int(-8), int(tee.id));
    put(extension("teehistorian-player-name@ddnet.org", [...int(tee.id), ...text(tee.name)]));
    put(int(-3), int(tee.id), int(tee.x), int(tee.y));
    put(int(-6), int(tee.id), [0, 100, 0, 0, 0, 0, 0, 0, 0, 0].flatMap(int));
  }
  let size = out.reduce((sum, part) => sum + part.length, 0);
  const ends = [size];
  for (let tick = 1; tick < ticks; tick++) {
    const parts = [];
    const put = (...more) => parts.push(...more.flat());
    put(int(-2), int(0));
    for (const tee of tees) {
      const before = { x: tee.x, y: tee.y };
      tee.vx = Math.max(-9, Math.min(9, tee.vx + tee.direction * 1.5));
      tee.vy = Math.min(16, tee.vy + 0.5);
      const standing = blocked(tee.x, tee.y + 2);
      if (standing && random() < 0.06) tee.vy = -13;
      if (random() < 0.006) tee.direction *= -1;
      for (const axis of ["x", "y"]) {
        const speed = axis === "x" ? "vx" : "vy";
        let left = Math.round(tee[speed]);
        while (left !== 0) {
          const step = Math.sign(left);
          if (blocked(tee.x + (axis === "x" ? step : 0), tee.y + (axis === "y" ? step : 0)) || tee.y + step < 16) {
            if (axis === "x" && standing && random() < 0.5) tee.vy = -13;
            else if (axis === "x") tee.direction *= -1;
            tee[speed] = 0;
            break;
          }
          tee[axis] += step;
          left -= step;
        }
      }
      if (tee.x !== before.x || tee.y !== before.y) put(int(tee.id), int(tee.x - before.x), int(tee.y - before.y));
      if (tick % 4 === 0) {
        const [ax, ay] = [tee.direction * 120, Math.round(Math.sin(tick / 25 + tee.id) * 90)];
        const hook = Math.floor(tick / 60 + tee.id) % 4 === 0 ? 1 : 0;
        const old = tee.input ?? { ax: 100, ay: 0, hook: 0 };
        const change = [0, ax - old.ax, ay - old.ay, 0, 0, hook - old.hook, 0, 0, 0, 0];
        if (change.some((by) => by !== 0)) put(int(-5), int(tee.id), change.flatMap(int)); // a server writes no change of nothing
        tee.input = { ax, ay, hook };
      }
    }
    out.push(Buffer.from(parts));
    ends.push((size += parts.length));
  }
  put(int(-1));
  return Object.assign(Buffer.concat(out), { ends });
}
