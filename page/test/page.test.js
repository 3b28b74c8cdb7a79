// Tests the page in a real browser, served by bin/replayd: what it shows, and what it requests.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { connect as dial, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import puppeteer from "puppeteer-core";
import { chromium } from "../../clients/browser/chromium.js";
import { record } from "./record.js";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const replayd = process.env.REPLAYD ?? join(repository, "bin/replayd");
const axe = readFileSync(join(repository, "page/node_modules/axe-core/axe.min.js"), "utf8");
const finished = "teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian";
const named = chromium();
const program = named && execFileSync("sh", ["-c", 'command -v "$0"', named], { encoding: "utf8" }).trim();
const options = { skip: program ? false : "no Chromium here, and no root with apt-get to install one", timeout: 90_000 };
const lastTick = 1701;

let browser, directory, daemon, recorded;

before(async () => {
  if (!program) return;
  directory = mkdtempSync(join(tmpdir(), "replayd-page-"));
  cpSync(join(repository, "testdata"), directory, { recursive: true });
  recorded = record(replayd, join(repository, "testdata/datafile/sample.map"), ["Nameless tee", "Ada", "Grace", "Linus", "Margaret", "Edsger"], 3000);
  writeFileSync(join(directory, "recorded.teehistorian"), recorded);
  for (const name of ["dota.dem", "cs.dem"]) {
    cpSync(fileURLToPath(new URL(name, import.meta.url)), join(directory, name));
    utimesSync(join(directory, name), 1.7e9, 1.7e9); // so that the daemon does not treat it as growing
  }
  daemon = await start(directory);
  browser = await puppeteer.launch({
    executablePath: program, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--enable-unsafe-swiftshader"],
  });
});

after(async () => {
  await browser?.close();
  await daemon?.stop();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

/** Starts a daemon that serves a directory. It can be killed and restarted at the same address. */
async function start(root) {
  const [grpc, web] = await Promise.all([freePort(), freePort()]);
  let process;
  const run = async () => {
    process = spawn(replayd, ["serve", "--listen", `127.0.0.1:${grpc}`, "--web-listen", `127.0.0.1:${web}`, "--root", `samples=${root}`, "--log-level", "error"],
      { stdio: ["ignore", "ignore", "inherit"] });
    while (!(await reachable(web))) await sleep(20);
  };
  const kill = async () => {
    const exited = new Promise((resolve) => process.once("exit", resolve));
    process.kill("SIGKILL");
    await exited;
  };
  await run();
  return { url: `http://127.0.0.1:${web}`, stop: kill, restart: async () => { await kill(); await run(); } };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function reachable(port) {
  return new Promise((resolve) => {
    const socket = dial(port, "127.0.0.1");
    socket.once("connect", () => resolve(socket.end() && true));
    socket.once("error", () => resolve(false));
  });
}

/** Opens a tab that must have no errors. away means that the daemon may be unreachable for a while. */
async function tab(t, { width = 1280, height = 800, scheme = "dark", away = false } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const faults = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !(away && /ERR_|Failed to load resource/.test(message.text()))) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(daemon.url)) faults.push(`asks for ${request.url()}`);
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  return page;
}

const tickOf = (page) => page.$eval("canvas.scene", (canvas) => Number(canvas.dataset.tick));
const shown = (page) => page.waitForSelector('canvas.scene[data-ready="true"]');
const until = (page, what, ...args) => page.waitForFunction(what, { polling: 50, timeout: 60_000 }, ...args);

async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`), []);
}

test("from the list to a moment of a game, and back by its link", options, async (t) => {
  const page = await tab(t);
  await page.goto(daemon.url);
  await page.waitForSelector(`a[href$="${finished}"]`);
  await accessible(page);
  await page.type("input[type=search]", "sunny finished");
  await until(page, () => document.querySelectorAll(".replays li").length === 1);
  await page.$eval(".replays a", (link) => link.click());

  await shown(page); // it starts to play
  await until(page, () => document.querySelector("canvas.scene").dataset.tick > 20);
  await page.keyboard.press("Space");
  await until(page, () => document.querySelector(".round").getAttribute("aria-label").startsWith("Play"));
  const paused = await tickOf(page);
  await page.keyboard.press(".");
  await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, paused + 1);
  await page.keyboard.press("End");
  await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, lastTick);
  const { x, y, width, height } = await (await page.$(".timeline")).boundingBox();
  await page.mouse.click(x + width / 2, y + height - 10);
  await until(page, () => location.search.includes("tick="));
  const middle = await tickOf(page);
  assert.ok(Math.abs(middle - lastTick / 2) < 3, `tick ${middle}`);

  await until(page, () => document.querySelectorAll(".players button").length === 3);
  await page.click('.players button[data-client="0"]');
  await until(page, () => location.search.includes("player=0"));
  const link = await page.url();
  await page.keyboard.press("i");
  await until(page, () => document.querySelectorAll(".events li").length > 0);
  assert.match(await page.$eval(".inspector", (inspector) => inspector.textContent), new RegExp(`at tick ${middle}.*replayd cat.*grpcurl.*curl -sN.*connect`, "s"));
  await accessible(page);

  const other = await tab(t, { scheme: "light" });
  await other.goto(link);
  await shown(other);
  assert.equal(await tickOf(other), middle);
  assert.equal(await other.$eval('.players [aria-pressed="true"]', (button) => button.dataset.client), "0");
  await accessible(other);
});

test("the lines of the inspector give what it shows", options, async (t) => {
  const page = await tab(t);
  await page.goto(`${daemon.url}/replay/samples/${finished}?tick=141`);
  await shown(page);
  await page.keyboard.press("i");
  await page.type('input[aria-label="Kinds of events"]', "player_new\n");
  await until(page, () => document.querySelectorAll(".events li").length === 1);
  const curl = await page.$$eval(".line code", (lines) => lines.find((line) => line.textContent.startsWith("curl")).textContent);
  const address = /http[^']*/.exec(curl)[0];
  const lines = (await (await fetch(address)).text()).split("\n").filter((line) => line.includes('"kind"'));
  assert.equal(lines.length, 1);
  assert.equal(JSON.parse(lines[0]).kind, "player_new");
});

test("a tick is always drawn in the same way", options, async (t) => {
  const page = await tab(t, { width: 900, height: 640 });
  const described = async () => (await fetch(`${daemon.url}/v1/replays/samples/recorded.teehistorian`)).json();
  while (!JSON.stringify(await described()).includes("sample.map")) await sleep(100); // until the daemon has indexed the maps
  for (const [name, moment] of [
    ["golden", "recorded.teehistorian?tick=1210"], ["golden-dota", "dota.dem?tick=430&player=1"], ["golden-cs", "cs.dem?tick=500"],
    ["golden-sc2", "sc2replay/battle.SC2Replay?tick=300"],
  ]) {
    await page.goto(`${daemon.url}/replay/samples/${moment}`);
    await shown(page);
    await sleep(700); // draw the same tick a few more times
    const picture = PNG.sync.read(Buffer.from(await (await page.$("canvas.scene")).screenshot()));
    const golden = fileURLToPath(new URL(`${name}.png`, import.meta.url));
    if (process.env.UPDATE_GOLDEN || !existsSync(golden)) writeFileSync(golden, PNG.sync.write(picture));
    const want = PNG.sync.read(readFileSync(golden));
    assert.deepEqual([picture.width, picture.height], [want.width, want.height]);
    let different = 0;
    for (let i = 0; i < want.data.length; i += 4) {
      if ([0, 1, 2].some((channel) => Math.abs(want.data[i + channel] - picture.data[i + channel]) > 40)) different++;
    }
    // Fonts and edges may differ between browsers. Minimaps have little on them, so their limit is lower.
    const part = name === "golden" ? 200 : 600;
    assert.ok(different <= (want.width * want.height) / part, `${name}: ${different} pixels differ`);
  }
});

/** Generated demos and replays, and the texts that must be shown. The link opens them in the middle, which needs the state. */
const matches = [
  {
    name: "dota.dem", last: 900, players: 10, at: 780, who: 3, marks: 4,
    side: [/Radiant.*1.*Ada.*Axe.*Margaret.*Crystal Maiden.*level 6.*1\/1\/0.*dead.*1920.*Dire.*1.*Barbara/s],
    feed: [/Ada.*: glhf/, /Margaret killed Donald/, /Donald killed Margaret/, /Radiant Tower1 Mid fell/],
  },
  {
    name: "cs.dem", last: 640, players: 10, at: 500, who: 2, marks: 2,
    side: [/Terrorists.*3.*Ada.*\$800.*Linus.*\$1400.*Counter-Terrorists.*4.*Frances.*dead/s], feed: [/Round 8 begins/, /Linus killed Frances with ak47, headshot/],
  },
  { name: "sc2replay/5.0.SC2Replay", last: 100_000, players: 2, at: 450, who: 1, marks: 4, side: [/Alice.*Terran · won.*Bob/s, /Build order.*Supply Depot/s], feed: [/Alice.*: gl hf/, /Bob.*: größe 한/] },
];

test("demos and StarCraft II replays play, seek and link", options, async (t) => {
  const page = await tab(t);
  for (const match of matches) {
    await page.goto(`${daemon.url}/replay/samples/${match.name}`);
    await shown(page); // it starts to play
    await until(page, () => document.querySelector("canvas.scene").dataset.tick > 8);
    await page.keyboard.press("Space");
    await until(page, () => document.querySelector(".round").getAttribute("aria-label").startsWith("Play"));
    const paused = await tickOf(page);
    await page.keyboard.press(".");
    await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, paused + 1);
    await page.keyboard.press("End");
    await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, match.last);
    await until(page, (count) => document.querySelectorAll(".players button").length === count, match.players);
    await until(page, (count) => document.querySelector(".timeline").dataset.marks >= count, match.marks);
    await page.click(`.players button[data-client="${match.who}"]`);
    await until(page, (who) => location.search.includes(`player=${who}`), match.who);

    await page.goto(`${daemon.url}/replay/samples/${match.name}?tick=${match.at}&player=${match.who}`);
    await shown(page);
    await until(page, (count) => document.querySelectorAll(".feed li").length >= count, match.feed.length);
    assert.equal(await tickOf(page), match.at);
    assert.equal(await page.$eval('.players [aria-pressed="true"]', (button) => button.dataset.client), String(match.who));
    const [side, feed] = await Promise.all([".side", ".feed"].map((part) => page.$eval(part, (element) => element.textContent)));
    for (const what of match.side) assert.match(side, what);
    for (const what of match.feed) assert.match(feed, what);
    await until(page, () => (document.querySelector(".chart").getAttribute("aria-label") ?? "").match(/\d/));
  }
});

test("every view opens, is accessible and fits, on a phone too", options, async (t) => {
  for (const size of [{ width: 1280, height: 800 }, { width: 390, height: 844, scheme: "light" }]) {
    const page = await tab(t, size);
    for (const name of [
      "datafile/sample.map", "dota.dem?tick=780", "sc2replay/battle.SC2Replay?tick=300", finished,
      ...(size.scheme ? ["dota.dem?tick=780&overlay=scoreboard", "dem/sample.dem"] : ["dota.dem?tick=780&overlay=feed", "cs.dem?tick=500"]),
    ]) {
      await page.goto(`${daemon.url}/replay/samples/${name}`);
      await page.waitForSelector('[data-ready="true"]');
      await accessible(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
    }
  }
});

test("a map is drawn with its layers, and names what is under the cursor", options, async (t) => {
  const page = await tab(t, { width: 1200, height: 700 });
  await page.goto(`${daemon.url}/replay/samples/datafile/sample.map?time=0`);
  await page.waitForSelector('[data-ready="true"]');
  const layers = await page.$eval(".layers", (tree) => tree.textContent);
  assert.match(layers, /Physicsgame, front, tele, speedup, switch, tune.*Entities13.*switches2.*sky.*parallax 0, 0.*checkers/s);
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

test("an overlay shows what happens over what is below it", options, async (t) => {
  const page = await tab(t, { width: 500, height: 400 });
  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=780&overlay=feed&bg=transparent`);
  await until(page, () => /Donald killed Margaret/.test(document.querySelector(".feed")?.textContent));
  assert.doesNotMatch(await page.$eval(".feed", (feed) => feed.textContent), /glhf/); // too long ago
  assert.equal(await page.$("canvas, .transport, .topbar, button"), null);
  const { data, width } = PNG.sync.read(Buffer.from(await page.screenshot({ omitBackground: true })));
  assert.equal(data[3], 0, "its corner is not transparent");
  assert.ok(data.some((value, i) => i % 4 === 3 && value === 255), `nothing of ${width} pixels is seen`);
  await page.goto(`${daemon.url}/replay/samples/dota.dem?tick=780&overlay=scoreboard`);
  await until(page, () => document.querySelectorAll(".players .shown").length === 10);
});

test("a live demo is shown as it grows, marks and all", options, async (t) => {
  const bytes = readFileSync(fileURLToPath(new URL("dota.dem", import.meta.url)));
  const path = join(directory, "live.dem");
  let written = Math.floor(bytes.length * 0.55);
  writeFileSync(path, bytes.subarray(0, written));
  const page = await tab(t);
  await page.goto(`${daemon.url}/replay/samples/live.dem`);
  await shown(page);
  await until(page, () => document.querySelector(".timeline").dataset.marks === "1"); // the chat
  assert.equal(await page.$eval(".pill", (pill) => pill.hidden), false);
  while (written < bytes.length) {
    appendFileSync(path, bytes.subarray(written, (written += 2500)));
    await sleep(50);
  }
  await until(page, () => document.querySelector(".timeline").dataset.marks >= 3); // two deaths, without another request
  await until(page, () => Number(document.querySelector("canvas.scene").dataset.tick) > 880);
  assert.match(await page.$eval(".feed", (feed) => feed.textContent), /Donald killed Margaret/);
});

test("a file that is opened becomes a temporary replay, in which the player seeks", options, async (t) => {
  const page = await tab(t);
  const files = [
    [finished, lastTick, 141], ["dota.dem", 900, 780], ["sc2replay/5.0.SC2Replay", undefined, 450], ["datafile/sample.map"],
  ];
  for (const [name, last, at] of files) {
    await page.goto(daemon.url);
    await (await page.waitForSelector("input[type=file]")).uploadFile(join(directory, name));
    await until(page, () => location.pathname.startsWith("/replay/@upload/"));
    await page.waitForSelector('[data-ready="true"]');
    assert.equal(await page.$eval(".topbar h1", (heading) => heading.textContent), name.split("/").at(-1));
    if (at === undefined) continue;
    await page.keyboard.press("End");
    if (last) await until(page, (tick) => document.querySelector("canvas.scene").dataset.tick == tick, last);
    await page.goto(`${await page.url().split("?")[0]}?tick=${at}`); // a link to a moment, which needs the state there
    await shown(page);
    assert.equal(await tickOf(page), at);
    await until(page, () => document.querySelectorAll(".players button").length > 0 && document.querySelector(".timeline").dataset.marks > 0);
  }
  const address = await page.url();
  await page.goto(daemon.url);
  await until(page, (count) => document.querySelectorAll(".mine").length === count, files.length);
  await accessible(page);
  assert.equal(await page.$eval(".replays:not(:has(.mine))", (list) => list.textContent.includes("@upload")), false);
  await page.click(".mine button");
  await until(page, (count) => document.querySelectorAll(".mine").length === count, files.length - 1);

  const other = await tab(t, { away: true }); // the browser logs the 404
  await other.goto(address);
  await until(other, () => /no longer here/.test(document.body.textContent));
});

test("an upload shows its progress, and is refused when it is no replay or cancelled", options, async (t) => {
  const page = await tab(t, { away: true });
  writeFileSync(join(directory, "large.bin"), Buffer.concat([readFileSync(join(directory, finished)), Buffer.alloc(60 << 20)]));
  writeFileSync(join(directory, "no-replay"), "no replay");
  const client = await page.createCDPSession();
  await client.send("Network.enable");
  await page.goto(daemon.url);
  const open = async (name) => (await page.waitForSelector("input[type=file]")).uploadFile(join(directory, name));
  await open("no-replay");
  await until(page, () => /unrecognized format/.test(document.body.textContent));
  await page.goto(daemon.url);
  await page.waitForSelector("input[type=file]");
  await client.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 4 << 20 });
  await open("large.bin");
  await until(page, () => document.querySelector("progress")?.value > 0);
  assert.match(await page.$eval("main", (main) => main.textContent), /large\.bin.* of 63 MB/);
  await accessible(page);
  await page.click("main button");
  await page.waitForSelector(".home");
  rmSync(join(directory, "large.bin"));
});

test("a live game goes on through kills of the daemon, and never back", options, async (t) => {
  const bytes = readFileSync(join(repository, "testdata", finished));
  const path = join(directory, "live", "game.teehistorian");
  mkdirSync(join(directory, "live"));
  let written = 3000;
  writeFileSync(path, bytes.subarray(0, written));
  const page = await tab(t, { away: true });
  await page.goto(daemon.url);
  const card = '.card[href$="/live/game.teehistorian"]'; // samples that were just copied are treated as growing, too
  await page.waitForSelector(card);
  await page.$eval(card, (link) => link.click()); // find and click at once, because the list is redrawn as the file grows
  await shown(page);
  await page.evaluate(() => {
    const canvas = document.querySelector("canvas.scene");
    window.back = [];
    let last = -1;
    new MutationObserver(() => {
      const tick = Number(canvas.dataset.tick);
      if (tick < last) window.back.push([last, tick]);
      last = tick;
    }).observe(canvas, { attributeFilter: ["data-tick"] });
  });
  const kills = Number(process.env.KILLS ?? 3);
  let killed = 0;
  for (let step = 0; written < bytes.length; step++) {
    const part = Math.max(60, Math.floor(bytes.length / (60 + 20 * kills)));
    appendFileSync(path, bytes.subarray(written, written + part));
    written += part;
    await sleep(60);
    if (killed < kills && step % 15 === 10) {
      await daemon.restart();
      killed++;
    }
  }
  await until(page, (tick) => Number(document.querySelector("canvas.scene").dataset.tick) >= tick - 5, lastTick);
  assert.deepEqual(await page.evaluate(() => window.back), []);
  assert.equal(killed, kills);
});

test("twelve tabs show a live game at once", options, async (t) => {
  const bytes = readFileSync(join(repository, "testdata", finished));
  const path = join(directory, "tabs.teehistorian");
  let written = 2500;
  writeFileSync(path, bytes.subarray(0, written));
  const context = await browser.createBrowserContext(); // the tabs share the browser's connections and locks for an origin
  t.after(() => context.close());
  const pages = [];
  for (let i = 0; i < 12; i++) {
    const page = await context.newPage();
    await page.setViewport({ width: 320, height: 300 });
    await page.goto(`${daemon.url}/replay/samples/tabs.teehistorian`);
    pages.push(page);
  }
  appendFileSync(path, bytes.subarray(written, (written += 4000)));
  for (const page of pages) {
    await page.bringToFront(); // browsers do not draw tabs in the background
    await until(page, () => Number(document.querySelector("canvas.scene")?.dataset.tick) > 500);
  }
});

test("the picture of the README", { ...options, skip: options.skip || !process.env.PICTURE }, async (t) => {
  const path = join(directory, "picture", "game.teehistorian");
  mkdirSync(join(directory, "picture"));
  let written = Math.floor(recorded.length * 0.4);
  writeFileSync(path, recorded.subarray(0, written));
  const page = await tab(t, { width: 1280, height: 720 });
  await page.goto(`${daemon.url}/replay/samples/picture/game.teehistorian`);
  await shown(page);
  for (let i = 0; i < 200; i++) {
    appendFileSync(path, recorded.subarray(written, (written += 36)));
    await sleep(20);
  }
  await page.screenshot({ path: process.env.PICTURE });
});
