// What the tests of the page share: a browser, a daemon on the samples, and tabs that must have no errors.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { connect as dial, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import puppeteer from "puppeteer-core";
import { chromium } from "../../clients/browser/chromium.js";
import { record } from "./record.js";

export const repository = fileURLToPath(new URL("../../", import.meta.url));
export const replayd = process.env.REPLAYD ?? join(repository, "bin/replayd");
const axe = readFileSync(join(repository, "page/node_modules/axe-core/axe.min.js"), "utf8");
export const finished = "teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian";
const named = chromium();
const program = named && execFileSync("sh", ["-c", 'command -v "$0"', named], { encoding: "utf8" }).trim();
export const options = { skip: program ? false : "no Chromium here, and no root with apt-get to install one", timeout: 90_000 };
export const lastTick = 1701;

export let browser, directory, daemon, recorded;

before(async () => {
  if (!program) return;
  directory = mkdtempSync(join(tmpdir(), "replayd-page-"));
  cpSync(join(repository, "testdata"), directory, { recursive: true });
  recorded = record(replayd, join(repository, "testdata/datafile/sample.map"), ["Nameless tee", "Ada", "Grace", "Linus", "Margaret", "Edsger"], 3000);
  writeFileSync(join(directory, "recorded.teehistorian"), recorded);
  for (const [name, path] of [["dota.dem", "testdata/dem/teamfight.dem"], ["cs.dem", "testdata/dem/round.dem"], ["deadlock.dem", "page/test/deadlock.dem"], ["designed.map", "page/test/designed.map"]]) {
    cpSync(join(repository, path), join(directory, name));
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

/** Starts a daemon that serves a directory. It can be killed and restarted at the same address, and says then when it was killed, gone and reachable. */
export async function start(root, ...flags) {
  const [grpc, web] = await Promise.all([freePort(), freePort()]);
  let process;
  const run = async () => {
    process = spawn(replayd, ["serve", "--listen", `127.0.0.1:${grpc}`, "--web-listen", `127.0.0.1:${web}`, "--root", `samples=${root}`, "--log-level", "error", ...flags],
      { stdio: ["ignore", "ignore", "inherit"] });
    while (!(await reachable(web))) await sleep(5);
  };
  const kill = async () => {
    if (process.exitCode !== null || process.signalCode !== null) return;
    const exited = new Promise((resolve) => process.once("exit", resolve));
    process.kill("SIGKILL");
    await exited;
  };
  const restart = async () => {
    const killed = Date.now();
    await kill();
    const gone = Date.now();
    await run();
    return { killed, gone, up: Date.now() };
  };
  await run();
  return { url: `http://127.0.0.1:${web}`, stop: kill, restart, pid: () => process.pid };
}

/** A way to a daemon by another address. After deaden all connections so far are silent for ever, as those of a computer that has slept are, and new ones work. */
export async function wayTo(t, { url }) {
  const ends = new Set();
  const server = createServer((near) => {
    const far = dial(Number(new URL(url).port), "127.0.0.1");
    ends.add([near, far]);
    near.pipe(far).pipe(near);
    for (const end of [near, far]) end.on("error", () => {}).on("close", () => far.unpipe(near) && [near, far].forEach((one) => one.destroy()));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const all = () => [...ends].flat();
  t.after(() => { server.close(); all().forEach((end) => end.destroy()); });
  const deaden = () => {
    for (const [near, far] of ends) {
      near.unpipe(far);
      far.unpipe(near);
      far.removeAllListeners("close").destroy();
    }
  };
  return { url: `http://127.0.0.1:${server.address().port}`, deaden };
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

/** Opens a tab that must have no errors, in a context of its own unless the test has one, which the test closes. away means that the daemon of may be unreachable for a while, or refuse something. */
export async function tab(t, { width = 1280, height = 800, scheme = "dark", away = false, of = daemon, context } = {}) {
  const own = context ?? (await browser.createBrowserContext());
  const page = await own.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const faults = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !(away && /ERR_|Failed to load resource/.test(message.text()))) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(of.url)) faults.push(`asks for ${request.url()}`);
  });
  t.after(async () => {
    if (!context) await own.close();
    assert.deepEqual(faults, []);
  });
  return page;
}

export const tickOf = (page) => page.$eval("canvas.scene", (canvas) => Number(canvas.dataset.tick));
export const shown = (page) => page.waitForSelector('canvas.scene[data-ready="true"]');
export const until = (page, what, ...args) => page.waitForFunction(what, { polling: 50, timeout: 60_000 }, ...args);

/** Waits until the text of an element matches: the lists are drawn only some times in a second, and the time line's news come later. */
export async function says(page, selector, pattern) {
  const matches = (selector, source, flags) => new RegExp(source, flags).test(document.querySelector(selector)?.textContent);
  await page.waitForFunction(matches, { polling: 50, timeout: 10_000 }, selector, pattern.source, pattern.flags)
    .catch(async () => assert.match(await page.$eval(selector, (element) => element.textContent), pattern));
}

/** Waits until the daemon has indexed the map of a game in its root. */
export async function mapFound(name, map = "sample.map") {
  const described = async () => (await fetch(`${daemon.url}/v1/replays/samples/${name}`)).json();
  while (!JSON.stringify(await described()).includes(map)) await sleep(100);
}

/**
 * Compares a screenshot with the picture in a file, or draws the file if PICTURES is set. A pixel differs if a channel differs by more
 * than 40 of 255. One pixel in so many may: fonts and edges differ between browsers.
 */
export function samePicture(screenshot, file, oneIn) {
  const picture = PNG.sync.read(Buffer.from(screenshot));
  if (process.env.PICTURES) writeFileSync(file, PNG.sync.write(picture));
  const want = PNG.sync.read(readFileSync(file));
  assert.deepEqual([picture.width, picture.height], [want.width, want.height], file);
  const different = differing(picture, want);
  assert.ok(different <= (want.width * want.height) / oneIn, `${file}: ${different} pixels differ; make pictures draws it again`);
}

/** Takes screenshots of a page or a part of it until two in a row show the same: the camera glides to its place for some seconds. */
export async function atRest(shown) {
  for (let before; ; await sleep(500)) {
    const screenshot = await shown.screenshot();
    const picture = PNG.sync.read(Buffer.from(screenshot));
    if (before && differing(picture, before) < 100) return screenshot;
    before = picture;
  }
}

/** Counts the pixels that differ between two pictures of one size. */
function differing(one, other) {
  let different = 0;
  for (let i = 0; i < other.data.length; i += 4) {
    if ([0, 1, 2].some((channel) => Math.abs(other.data[i + channel] - one.data[i + channel]) > 40)) different++;
  }
  return different;
}

export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`), []);
}

/** Appends the ticks of a recording to a file as a game server does, 50 in a second, from a tick on. */
export function serveGame(path, game, from) {
  writeFileSync(path, game.subarray(0, game.ends[from - 1]));
  const began = Date.now();
  let next = from;
  const timer = setInterval(() => {
    const due = Math.min(game.ends.length, from + Math.floor((Date.now() - began) / 20));
    if (due <= next) return;
    appendFileSync(path, game.subarray(game.ends[next - 1], game.ends[due - 1]));
    next = due;
  }, 2);
  return { began, from, get last() { return next - 1; }, stop: () => clearInterval(timer) };
}

/** The processor time of a process in seconds. */
export function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
