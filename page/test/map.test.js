// Tests how the page draws maps, in a real browser, beside what `replayd render` draws.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import { accessible, daemon, directory, options, replayd, repository, says, start, tab, until } from "./harness.js";

test("a map is drawn with its layers, and names what is under the cursor", options, async (t) => {
  const page = await tab(t, { width: 1200, height: 700 });
  await page.goto(`${daemon.url}/replay/samples/datafile/sample.map?time=0`);
  await page.waitForSelector('[data-ready="true"]');
  await says(page, ".layers", /Physicsgame, front, tele, speedup, switch, tune.*Entities13.*switches2.*sky.*parallax 0, 0.*checkers/s);
  const canvas = await page.$("canvas.scene");
  const { x, y, width, height } = await canvas.boundingBox();
  const scale = Math.min(width / (64 * 32), height / (24 * 32)); // the whole map is shown
  const point = (column, row) => [x + width / 2 + ((column + 0.5) * 32 - 1024) * scale, y + height / 2 + ((row + 0.5) * 32 - 384) * scale];
  for (const [column, row, text] of [[12, 13, /12, 13.*tele tele in 26 · no. 1/], [51, 10, /door.*switch door 240 · no. 1/], [40, 18, /speedup boost.*force 10 · 270°/], [0, 0, /game solid/]]) {
    await page.mouse.move(...point(column, row));
    await until(page, (source) => new RegExp(source).test(document.querySelector(".under").textContent), text.source);
  }
  await accessible(page);
  const picture = async () => PNG.sync.read(Buffer.from(await canvas.screenshot())).data;
  const differs = (a, b) => a.filter((value, i) => Math.abs(value - b[i]) > 8).length;
  const all = await picture();
  const [physics, entities] = await page.$$(".layers input");
  await physics.click();
  await sleep(200);
  const without = await picture();
  assert.ok(differs(all, without) > 10_000, "the physics are not switched off");
  await entities.click();
  await sleep(200);
  assert.ok(differs(without, await picture()) > 100, "the entities are not switched off");
});

/** Puts a map on a tab so that its tiles have this many pixels. Returns the canvas, and where its first tile is. */
async function showMap(page, url, columns, rows, size) {
  await page.goto(url);
  await page.waitForSelector('[data-ready="true"]');
  const canvas = await page.$("canvas.scene");
  const box = await canvas.boundingBox();
  const { width, height } = await page.evaluate(() => ({ width: innerWidth, height: innerHeight }));
  await page.setViewport({ width: Math.round(width - box.width + columns * size), height: Math.round(height - box.height + rows * size + 100) });
  await page.reload();
  await page.waitForSelector('[data-ready="true"]');
  const again = await page.$("canvas.scene");
  const { width: wide, height: tall } = await again.boundingBox();
  assert.equal(wide, columns * size);
  return { canvas: again, left: 0, top: Math.round((tall - rows * size) / 2) };
}

/** What `replayd render` draws, as PNG with its palette resolved. */
function rendered(map, ...flags) {
  return PNG.sync.read(execFileSync(replayd, ["render", map, "-", ...flags], { maxBuffer: 1 << 28 }));
}

test("the physics of a map are where `replayd render` draws them", options, async (t) => {
  const [columns, rows, size] = [64, 24, 16];
  const page = await tab(t, { width: 1200, height: 700 });
  const { canvas, left, top } = await showMap(page, `${daemon.url}/replay/samples/datafile/sample.map?time=0`, columns, rows, size);
  for (const box of (await page.$$(".layers input")).slice(1)) { // all but the physics
    if (await box.evaluate((input) => input.checked)) await box.click();
  }
  await page.$eval(".zoom", (buttons) => buttons.remove()); // they lie over the map
  await sleep(300);
  const shot = PNG.sync.read(Buffer.from(await canvas.screenshot()));
  const want = rendered(join(repository, "testdata/datafile/sample.map"), "--scale", "1", "--physics");
  assert.deepEqual([want.width, want.height], [columns, rows]);

  /** The mean colour of the middle of a tile. */
  const middle = (column, row) => {
    const sum = [0, 0, 0];
    for (let dy = size / 8; dy < (size * 7) / 8; dy++) {
      for (let dx = size / 8; dx < (size * 7) / 8; dx++) {
        const at = ((top + row * size + dy) * shot.width + left + column * size + dx) * 4;
        for (const channel of [0, 1, 2]) sum[channel] += shot.data[at + channel];
      }
    }
    return sum.map((value) => value / ((size * 3) / 4) ** 2);
  };
  const kinds = new Map(); // the tiles by the colour that render gives them
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const colour = want.data.subarray((row * columns + column) * 4, (row * columns + column) * 4 + 3).join();
      kinds.set(colour, [...(kinds.get(colour) ?? []), { column, row, seen: middle(column, row) }]);
    }
  }
  const far = (a, b) => Math.max(...a.map((value, channel) => Math.abs(value - b[channel])));
  const looks = new Map([...kinds].map(([colour, tiles]) => [colour, tiles[Math.floor(tiles.length / 2)].seen]));
  const air = looks.get("29,33,40");
  assert.ok(air && kinds.size > 12, `${kinds.size} kinds of tiles`);
  for (const [colour, tiles] of kinds) {
    if (colour !== "29,33,40") assert.ok(far(looks.get(colour), air) > 4, `tiles that render draws as ${colour} look like air`);
    for (const { column, row, seen } of tiles) {
      assert.ok(far(seen, looks.get(colour)) <= 10, `tile ${column}, ${row} is ${seen}, others of its kind are ${looks.get(colour)}`);
    }
  }
});

test("the designed layers of a map look as `replayd render` draws them", options, async (t) => {
  const [columns, rows] = [40, 20];
  const map = fileURLToPath(new URL("designed.map", import.meta.url));
  const assets = mkdtempSync(join(tmpdir(), "replayd-assets-"));
  t.after(() => rmSync(assets, { recursive: true }));
  mkdirSync(join(assets, "mapres"));
  const grass = new PNG({ width: 256, height: 256 });
  for (let y = 0; y < 256; y++) for (let x = 0; x < 256; x++) grass.data.set([x, 200, y, x % 16 > 12 ? 128 : 255], (y * 256 + x) * 4);
  writeFileSync(join(assets, "mapres/grass_main.png"), PNG.sync.write(grass));
  const with_ = await start(directory, "--assets", assets);
  t.after(() => with_.stop());
  for (const [size, of, flags, said] of [ // smaller than the tiles of its image, and as large; without an image that is not in the file, and with it
    [20, with_, ["--mapres", join(assets, "mapres")], /grass(?!.*not in the file)/s],
    [32, daemon, [], /grass.*not in the file.*An image is not in the file, so what shows it is not drawn: grass_main\./s],
  ]) {
    const page = await tab(t, { width: 1200, height: 700, of });
    const { canvas, left, top } = await showMap(page, `${of.url}/replay/samples/designed.map?time=0`, columns, rows, size);
    await says(page, ".layers", said);
    for (const box of (await page.$$(".layers input")).slice(0, 3)) { // physics, entities, links
      if (await box.evaluate((input) => input.checked)) await box.click();
    }
    await page.$eval(".zoom", (buttons) => buttons.remove());
    await sleep(300);
    const shot = PNG.sync.read(Buffer.from(await canvas.screenshot()));
    const want = rendered(map, "--scale", String(size), "--layers", "design", ...flags);
    let different = 0;
    for (let y = 0; y < want.height; y++) {
      for (let x = 0; x < want.width; x++) {
        const [a, b] = [(y * want.width + x) * 4, ((top + y) * shot.width + left + x) * 4];
        if ([0, 1, 2].some((channel) => Math.abs(want.data[a + channel] - shot.data[b + channel]) > 16)) different++;
      }
    }
    const part = different / (want.width * want.height);
    t.diagnostic(`${size} pixels to a tile: ${(part * 100).toFixed(2)} % differ by more than 16 of 255`);
    assert.ok(part <= 0.01, `${different} pixels differ`);
  }
});
