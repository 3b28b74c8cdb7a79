// The browser.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const installed = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;

/** The program, installed where it is missing and that is possible; undefined where it is not. */
export function chromium() {
  const named = process.env.CHROMIUM ?? "chromium";
  if (installed(named)) return named;
  if (process.env.CHROMIUM || process.getuid?.() !== 0 || !installed("apt-get")) return undefined;
  for (const args of [["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", "chromium"]]) {
    const { status } = spawnSync("apt-get", args, {
      stdio: "ignore",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (status !== 0) return undefined;
  }
  return installed(named) ? named : undefined;
}

/** Opens a page. Returns what closes the browser again. */
export function open(program, url) {
  const profile = mkdtempSync(join(tmpdir(), "replayd-chromium-"));
  const browser = spawn(
    program,
    [
      "--headless",
      "--no-sandbox", // root has none
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--remote-debugging-port=0", // without it the headless browser leaves when the page has loaded
      `--user-data-dir=${profile}`,
      url,
    ],
    { stdio: "ignore", detached: true }, // a group of its own, so that all its processes end
  );
  const exited = new Promise((resolve) => browser.once("exit", resolve));
  return async () => {
    process.kill(-browser.pid, "SIGKILL");
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
}
