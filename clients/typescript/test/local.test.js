// Tests of local files, for which the client starts the daemon.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { open } from "../dist/node.js";
import { binary, finished } from "./daemon.js";

const directory = mkdtempSync(join(tmpdir(), "replayd-test-"));
const temporary = join(directory, "temporary");
const games = join(directory, "a, b");
const file = join(games, "my game.teehistorian");
mkdirSync(temporary);
mkdirSync(games);
writeFileSync(file, finished.bytes);
process.env.TMPDIR = temporary;
process.env.REPLAYD = binary;
process.env.REPLAYD_LISTEN = "nonsense"; // a flag of the user's own daemon
test.after(() => rmSync(directory, { recursive: true }));

test("a local file needs no running daemon", async () => {
  for (const [path, name] of [[file, "local/my game.teehistorian"], [games, "local"]]) {
    const client = await open(path);
    assert.equal(client.name, name);
    let joins = 0;
    for await (const event of client.events("local/my game.teehistorian", { kinds: ["join"] })) joins += event.kind === "join";
    assert.equal(joins, 4);
    await client.close();
    await client.close();
    await assert.rejects(client.serverInfo());
  }
  assert.deepEqual(readdirSync(temporary), []);
});

test("a client that is not closed does not keep the process alive, and leaves nothing behind", () => {
  const program = `import { open } from ${JSON.stringify(new URL("../dist/node.js", import.meta.url))};
    const client = await open(process.argv[1]);
    for await (const event of client.events(client.name, { kinds: ["join"] })) console.log(event.tick);`;
  const run = execFileSync(process.execPath, ["--input-type=module", "-e", program, file], { encoding: "utf8", timeout: 60_000 });
  assert.equal(run.trim().split("\n").length, 4);
  assert.deepEqual(readdirSync(temporary), []);
});

test("what is missing is told with the remedy", async () => {
  await assert.rejects(open(join(games, "none.dem")), { code: "ENOENT" });
  process.env.REPLAYD = "/bin/false";
  await assert.rejects(open(file), /false does not start: exit status 1/);
  process.env.REPLAYD = file;
  await assert.rejects(open(file), /\$REPLAYD is .*no program/);
  delete process.env.REPLAYD;
  process.env.PATH = games;
  await assert.rejects(open(file), /not in the PATH: install it/);
  assert.deepEqual(readdirSync(temporary), []);
});
