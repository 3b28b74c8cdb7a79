// Opens a long match and measures what a viewer notices of its length: LONG=PATH, LONG_SECONDS to watch it.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { options, start, tab, tickOf } from "./harness.js";

const path = process.env.LONG;
const seconds = Number(process.env.LONG_SECONDS ?? 30);

test("a long match is there soon, moves little, and its memory does not grow", { ...options, skip: options.skip || (path ? false : "no LONG"), timeout: (seconds + 120) * 1000 }, async (t) => {
  const root = mkdtempSync(join(tmpdir(), "replayd-long-"));
  t.after(() => rmSync(root, { recursive: true }));
  cpSync(path, join(root, basename(path)));
  utimesSync(join(root, basename(path)), 1.7e9, 1.7e9);
  const own = await start(root);
  t.after(() => own.stop());
  const page = await tab(t, { of: own });
  const client = await page.createCDPSession();
  await client.send("Network.enable");
  let moved = 0;
  client.on("Network.dataReceived", ({ dataLength }) => (moved += dataLength));
  await page.goto(own.url);
  await page.waitForSelector(".replays li a");
  await sleep(3000); // the daemon looks at the file
  moved = 0;
  const began = performance.now();
  await page.$eval(".replays a", (link) => link.click());
  await page.waitForSelector('canvas.scene[data-ready="true"]');
  const first = performance.now() - began;
  const ready = moved;
  await page.waitForFunction(() => document.querySelector(".chart")?.getAttribute("aria-label"), { timeout: 90_000 });
  for (let before = -1; before !== moved; await sleep(2000)) before = moved; // until nothing more comes for some seconds
  t.diagnostic(`first picture after ${Math.round(first)} ms and ${ready} bytes; ${moved} bytes until all is known, after ${Math.round(performance.now() - began)} ms`);
  const heap = async () => {
    await client.send("HeapProfiler.collectGarbage");
    return (await page.metrics()).JSHeapUsedSize / 1e6;
  };
  const frames = () => page.evaluate(() => new Promise((resolve) => {
    let [count, began] = [0, performance.now()];
    const next = (now) => (now - began > 3000 ? resolve((count * 1000) / (now - began)) : (count++, requestAnimationFrame(next)));
    requestAnimationFrame(next);
  }));
  await page.keyboard.press("Home");
  const heaps = [];
  for (let i = 0; i < 5; i++) {
    await sleep((seconds / 5) * 1000);
    heaps.push(await heap());
  }
  t.diagnostic(`${(await frames()).toFixed(1)} frames a second; the heap had ${heaps.map((one) => one.toFixed(1))} MB; tick ${await tickOf(page)}; ${moved} bytes in all`);
  assert.ok(heaps.at(-1) < heaps[1] * 1.3 + 5, `the heap grows: ${heaps}`);
});
