// Tests the TypeScript client in a browser. See README.md.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect as dial, createServer as listen } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium, open } from "./chromium.js";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const replayd = process.env.REPLAYD ?? join(repository, "bin/replayd");
const samples = join(repository, "testdata/teehistorian/finished");
const sample = join(samples, readdirSync(samples)[0]);
const browser = chromium();
const options = { skip: browser ? false : "no Chromium here, and no root with apt-get to install one", timeout: 90_000 };

let bundle;
before(async () => {
  if (!browser) return;
  const result = await build({
    entryPoints: [fileURLToPath(new URL("page.js", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser", // selects the package's browser entry
    target: "es2022",
  });
  bundle = result.outputFiles[0].text;
});

test("a page follows a growing file while the daemon is killed and drained", options, async (t) => {
  const directory = temporary(t);
  const bytes = readFileSync(sample);
  const steps = 60;
  let written = 0;
  const grow = (step) => {
    const end = Math.floor((bytes.length * step) / steps);
    appendFileSync(join(directory, "live.teehistorian"), bytes.subarray(written, end));
    written = end;
  };
  writeFileSync(join(directory, "live.teehistorian"), "");
  grow(15);

  const page = await servePage(t);
  const daemon = await startDaemon(t, directory, page.origin);
  t.after(open(browser, page.url(daemon, true)));
  await page.some; // the first events have arrived

  const stops = { 25: "SIGKILL", 35: "SIGTERM", 45: "SIGKILL" };
  for (let step = 16; step <= steps; step++) {
    await sleep(20);
    grow(step);
    if (!stops[step]) continue;
    await daemon.restart(stops[step]);
    const before = page.events.length;
    grow(++step);
    while (page.events.length === before) await sleep(20); // it goes on
  }
  const end = await page.end;
  assert.equal(end.error, undefined);
  assert.equal(end.reason, "FINISHED");
  assert.ok(end.reconnects >= 1, `${end.reconnects} reconnects`);

  const want = cat(sample);
  assert.equal(page.events.length, want.length);
  want.forEach((line, i) => assert.deepEqual(page.events[i], JSON.parse(line)));
  t.diagnostic(`${want.length} events over ${end.reconnects} reconnects`);
});

test("a page gets of every sample what cat prints", options, async (t) => {
  const samples = join(repository, "testdata");
  const replays = readdirSync(samples, { recursive: true })
    .filter((name) => /\.(teehistorian|map|dem|SC2Replay)(\.gz)?$/.test(name))
    .sort();
  const page = await servePage(t);
  const daemon = await startDaemon(t, samples, page.origin);
  t.after(open(browser, page.url(daemon, false, replays)));
  await page.end;
  const want = replays.flatMap((name) => cat(join(samples, name)));
  assert.equal(page.events.length, want.length);
  want.forEach((line, i) => assert.deepEqual(page.events[i], JSON.parse(line)));
  t.diagnostic(`${want.length} events of ${replays.length} replays`);
});

test("a page of another origin gets nothing", options, async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, "live.teehistorian"), readFileSync(sample));
  const page = await servePage(t);
  const daemon = await startDaemon(t, directory, "https://example.org");
  t.after(open(browser, page.url(daemon, false)));
  const end = await page.end;
  assert.match(end.error, /./);
  assert.deepEqual(page.events, []);
});

/** Returns the lines that `replayd cat` prints for a file, even if the file is damaged. */
function cat(path) {
  const { stdout } = spawnSync(replayd, ["cat", path], { encoding: "utf8", maxBuffer: 1 << 30 });
  return stdout.trimEnd().split("\n").filter((line) => line !== "");
}

function temporary(t) {
  const directory = mkdtempSync(join(tmpdir(), "replayd-browser-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const root = join(directory, "live");
  mkdirSync(root);
  return root;
}

/** Serves the page, and collects the events and the result that it sends. */
async function servePage(t) {
  const page = { events: [] };
  let first, last;
  page.some = new Promise((resolve) => (first = resolve));
  page.end = new Promise((resolve) => (last = resolve));
  const server = createServer(async (request, response) => {
    if (request.method === "POST") {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = JSON.parse(Buffer.concat(chunks).toString());
      if (request.url === "/events") page.events.push(...body), first();
      else last(body);
      response.end();
    } else if (request.url === "/page.js") {
      response.setHeader("content-type", "text/javascript").end(bundle);
    } else if (request.url.startsWith("/?")) {
      response.setHeader("content-type", "text/html").end('<!doctype html><script type="module" src="page.js"></script>');
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  page.origin = `http://127.0.0.1:${server.address().port}`;
  page.url = (daemon, follow, replays = ["live.teehistorian"]) => {
    const asked = new URLSearchParams({ daemon: daemon.url, follow });
    for (const name of replays) asked.append("replay", `live/${name}`);
    return `${page.origin}/?${asked}`;
  };
  return page;
}

/** Starts a daemon that serves browsers. It can be restarted at the same address. */
async function startDaemon(t, root, origin) {
  const port = await freePort();
  let child, exited;
  const daemon = {
    url: `http://127.0.0.1:${port}`,
    async start() {
      const args = ["serve", "--listen", "127.0.0.1:0", "--web-listen", `127.0.0.1:${port}`, "--web-origin", origin];
      child = spawn(replayd, [...args, "--root", `live=${root}`, "--log-level", "error"], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      exited = new Promise((resolve) => child.once("exit", resolve));
      for (let i = 0; i < 200; i++) {
        if (await listens(port)) return;
        await sleep(50);
      }
      throw new Error("the daemon does not start");
    },
    async restart(signal) {
      child.kill(signal);
      await exited;
      await daemon.start();
    },
  };
  await daemon.start();
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return daemon;
}

function freePort() {
  return new Promise((resolve) => {
    const server = listen();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function listens(port) {
  return new Promise((resolve) => {
    const socket = dial(port, "127.0.0.1");
    socket.once("connect", () => resolve(true) || socket.destroy());
    socket.once("error", () => resolve(false));
  });
}
