// Finds, installs and starts the browser.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const installed = (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;

/** Returns the program. Installs it if it is missing, and returns undefined if that is impossible. */
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

/** Opens a page in a new browser. Returns a function that closes the browser. */
export function open(program, url) {
  const profile = mkdtempSync(join(tmpdir(), "replayd-chromium-"));
  const browser = spawn(
    program,
    [
      "--headless",
      "--no-sandbox", // Chromium's sandbox does not work for root
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--remote-debugging-port=0", // without it the headless browser exits when the page has loaded
      `--user-data-dir=${profile}`,
      url,
    ],
    { stdio: "ignore", detached: true }, // in a new process group, so that all its processes can be killed
  );
  const exited = new Promise((resolve) => browser.once("exit", resolve));
  return async () => {
    process.kill(-browser.pid, "SIGKILL");
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
}
