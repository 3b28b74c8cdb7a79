// A real daemon for the tests: bin/replayd of this repository, or the binary that REPLAYD names.

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect as dial, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../../", import.meta.url));
export const binary = process.env.REPLAYD ?? join(repository, "bin/replayd");

const directory = join(repository, "testdata/teehistorian/finished");
const file = readdirSync(directory).find((name) => name.endsWith(".teehistorian"));

/** A complete replay: its bytes, its path, and its name in a Daemon. */
export const finished = {
  path: join(directory, file),
  bytes: readFileSync(join(directory, file)),
  name: `r/teehistorian/finished/${file}`,
};

/** A daemon with one root, "r". It can be killed and started again at the same address. */
export class Daemon {
  root = mkdtempSync(join(tmpdir(), "replayd-"));

  static async start(...flags) {
    const daemon = new Daemon();
    daemon.flags = flags;
    for (const format of ["teehistorian", "dem", "datafile", "sc2replay"]) {
      cpSync(join(repository, "testdata", format), join(daemon.root, format), { recursive: true });
    }
    daemon.port = await freePort();
    daemon.address = `127.0.0.1:${daemon.port}`;
    await daemon.start();
    return daemon;
  }

  async start() {
    const args = ["serve", "--listen", this.address, "--root", `r=${this.root}`, "--log-level", "error", "--index", `${this.root}.index`, "--subscriptions", `${this.root}.names`, ...this.flags];
    this.process = spawn(binary, args, { stdio: ["ignore", "ignore", "inherit"] });
    this.exited = new Promise((resolve) => this.process.once("exit", resolve));
    for (let i = 0; i < 200; i++) {
      if (await listens(this.port)) return;
      await sleep(50);
    }
    throw new Error("the daemon does not start");
  }

  /** Ends the daemon with a signal: SIGKILL, or SIGTERM to drain it. */
  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.exited;
  }

  async stop() {
    await this.kill();
    rmSync(this.root, { recursive: true });
    rmSync(`${this.root}.index`, { force: true });
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function listens(port) {
  return new Promise((resolve) => {
    const socket = dial(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

/** A teehistorian file in which one character walks, with a number of pairs of a tick and a move. */
export function teehistorian(pairs) {
  const header = finished.bytes.subarray(0, finished.bytes.indexOf(0, 16) + 1); // a UUID, then JSON up to a NUL
  const [tick, join, appear, move, finish] = [[0x41, 0], [0x47, 0], [0x42, 0, 0, 0], [0, 1, 0], [0x40]];
  const walk = Buffer.alloc(5 * pairs, Buffer.from([...tick, ...move]));
  return Buffer.concat([header, Buffer.from([...tick, ...join, ...appear]), walk, Buffer.from(finish)]);
}
