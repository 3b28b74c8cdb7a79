// Compares `replayd render` with DDNet's own client, for whose picture a game is joined: DDNET_CLIENT=MAP,MAP with the names of maps that the
// packages ddnet and xvfb bring along, which have to be installed, as has imagemagick.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PNG } from "pngjs";

const replayd = process.env.REPLAYD ?? new URL("../../bin/replayd", import.meta.url).pathname;
const maps = process.env.DDNET_CLIENT?.split(",") ?? [];
const seconds = Number(process.env.DDNET_CLIENT_SECONDS ?? 25); // until the client has joined
const data = "/usr/share/games/ddnet/data";
const view = { width: 1238, height: 928 }; // what the client shows of the world in a window of that size, so that a pixel is a unit
const tile = 32;

for (const map of maps) test(`${map} looks as DDNet's client draws it`, { timeout: (seconds + 60) * 1000 }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), "replayd-ddnet-"));
  t.after(() => rmSync(home, { recursive: true }));
  const env = { ...process.env, DISPLAY: ":77", HOME: home, LIBGL_ALWAYS_SOFTWARE: "1" };
  const run = (program, ...args) => {
    const child = spawn(program, args, { cwd: home, env, stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    return { stop: () => (child.kill(), ended) };
  };
  const recordings = join(home, ".local/share/ddnet/teehistorian");
  mkdirSync(recordings, { recursive: true });
  const screen = run("Xvfb", ":77", "-screen", "0", `${view.width}x${view.height}x24`);
  const server = run("/usr/games/DDNet-Server", "sv_port 23308", `sv_map ${map}`, "sv_tee_historian 1", "sv_register 0");
  t.after(() => Promise.all([server.stop(), screen.stop()]));
  await sleep(2000);
  const client = run("/usr/games/DDNet", "gfx_fullscreen 0", `gfx_screen_width ${view.width}`, `gfx_screen_height ${view.height}`, "gfx_borderless 1", "snd_enable 0",
    "cl_showhud 0", "cl_motd_time 0", "cl_nameplates 0", "cl_nameplates_own 0", "cl_showchat 0", "cl_show_start_menu 0", "cl_download_skins 0", "cl_mouse_max_distance 1", "connect 127.0.0.1:23308");
  await sleep(seconds * 1000);
  execFileSync("import", ["-window", "root", "client.png"], { cwd: home, env });
  await client.stop();
  await server.stop();
  const [recording] = readdirSync(recordings);
  const lines = execFileSync(replayd, ["cat", join(recordings, recording), "--kind", "player_new,player_diff"], { encoding: "utf8" }).trim().split("\n");
  const last = JSON.parse(lines.at(-1));
  const { x, y } = last.player_diff ?? last.player_new; // the middle of what the client shows
  const path = join(data, "maps", `${map}.map`);
  const layers = execFileSync(replayd, ["cat", path, "--kind", "tile_layer"], { encoding: "utf8" }).trim().split("\n").map((line) => JSON.parse(line).tile_layer);
  const size = layers.find(({ kind }) => kind === "LAYER_KIND_GAME");
  // Layers move with the middle of the region. So it is as large as it can be around the tile in which the middle of the client's view is.
  const part = (at, tiles, seen) => {
    const middle = Math.floor(at / tile);
    const half = Math.min(middle, tiles - 1 - middle, Math.floor(seen / 2 / tile) - 1);
    return { from: middle - half, tiles: 2 * half + 1, offset: Math.round((middle - half) * tile - at + seen / 2) };
  };
  const [columns, rows] = [part(x, size.width, view.width), part(y, size.height, view.height)];
  execFileSync(replayd, ["render", path, join(home, "own.png"), "--layers", "design", "--mapres", join(data, "mapres"),
    "--region", [columns.from, rows.from, columns.tiles, rows.tiles].join(), "--scale", String(tile)]);
  const [theirs, own] = ["client.png", "own.png"].map((file) => PNG.sync.read(readFileSync(join(home, file))));
  const seen = own.width * own.height;
  let same = 0;
  for (let row = 0; row < own.height; row++) for (let column = 0; column < own.width; column++) {
    const [a, b] = [((row + rows.offset) * theirs.width + column + columns.offset) * 4, (row * own.width + column) * 4];
    if ([0, 1, 2].every((channel) => Math.abs(theirs.data[a + channel] - own.data[b + channel]) <= 16)) same++;
  }
  t.diagnostic(`${map} at ${x}, ${y}, ${own.width} by ${own.height} from ${columns.offset}, ${rows.offset}: ${((100 * same) / seen).toFixed(2)} % of ${seen} pixels are within 16 of 255`);
  assert.ok(same / seen >= 0.97, `${same} of ${seen}`);
});
