// Measures what a wall of live games costs the daemon, and how often its pictures are drawn: WALL=40, WALL_SECONDS for how long.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuSeconds, options, replayd, repository, serveGame, start, tab } from "./harness.js";
import { gameId, record } from "./record.js";

const games = Number(process.env.WALL ?? 0);
const seconds = Number(process.env.WALL_SECONDS ?? 20);

test("live games move on the wall", { ...options, skip: options.skip || (games ? false : "no WALL"), timeout: (seconds * 3 + 120) * 1000 }, async (t) => {
  const root = mkdtempSync(join(tmpdir(), "replayd-wall-"));
  t.after(() => rmSync(root, { recursive: true }));
  const game = record(replayd, join(repository, "testdata/datafile/sample.map"), ["Ada", "Grace", "Linus", "Margaret"], (seconds * 3 + 120) * 50);
  for (let i = 0; i < games; i++) { // each has an id of its own, without which they would be taken for one game
    const one = Object.assign(Buffer.from(game), { ends: game.ends });
    one.write(String(i).padStart(8, "0"), one.indexOf(gameId));
    t.after(serveGame(join(root, `game ${i}.teehistorian`), one, 150 + 7 * i).stop);
  }
  const own = await start(root);
  t.after(() => own.stop());
  const used = async () => {
    const before = cpuSeconds(own.pid());
    await sleep(seconds * 1000);
    return (cpuSeconds(own.pid()) - before) / seconds;
  };
  await sleep(3000); // the daemon looks at the files
  const alone = await used();
  const page = await tab(t, { of: own, away: true, width: 1440, height: 3200 });
  await page.evaluateOnNewDocument(() => {
    const { fillRect } = CanvasRenderingContext2D.prototype;
    window.drawn = 0;
    CanvasRenderingContext2D.prototype.fillRect = function (...how) { // once for each picture of a card
      if (this.canvas.closest(".card")) window.drawn++;
      return fillRect.apply(this, how);
    };
  });
  await page.goto(own.url);
  await page.waitForFunction((games) => document.querySelectorAll(".card canvas[data-players]").length === games, { timeout: 60_000 }, games);
  const watched = page.evaluate((milliseconds) => new Promise((resolve) => {
    const [before, began] = [window.drawn, performance.now()];
    let frames = 0;
    const frame = (now) => {
      frames++;
      if (now - began < milliseconds) requestAnimationFrame(frame);
      else resolve({ rate: (frames * 1000) / (now - began), part: (window.drawn - before) / frames });
    };
    requestAnimationFrame(frame);
  }), seconds * 1000);
  const [share, { rate, part }] = await Promise.all([used(), watched]);
  t.diagnostic(`${games} games: the daemon takes ${(share * 100).toFixed(1)} % of a core, ${(alone * 100).toFixed(1)} % without a page; the browser gives ${rate.toFixed(1)} frames a second, ` +
    `in each of which ${part.toFixed(1)} pictures are drawn; load ${loadavg().map((load) => load.toFixed(1))}`);
  assert.ok(share < 1, `the daemon takes ${share} cores`);
});
