// Measures how many events the TypeScript client iterates in a second in Node, from a daemon on the same machine.
//
//     node clients/bench/bench.mjs
//
// The replay is made here: a million ticks, in each of which one character moves. Of several runs the best counts.

import { table } from "../typescript/dist/arrow.js";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../typescript/dist/node.js";
import { Daemon, teehistorian } from "../typescript/test/daemon.js";

const name = "r/long.teehistorian";
const runs = 3;

const ways = {
  async messages(client) {
    let [count, total] = [0, 0];
    for await (const batch of client.batches(name)) {
      for (const { kind } of batch.events) {
        count++;
        if (kind.case === "playerDiff") total += kind.value.x;
      }
    }
    return count;
  },
  async batches(client) {
    let [count, total] = [0, 0];
    for await (const batch of client.batches(name)) {
      for (const event of batch) {
        count++;
        if (event.kind === "player_diff") total += event.value.x;
      }
    }
    return count;
  },
  async events(client) {
    let count = 0;
    for await (const _ of client.events(name)) count++;
    return count;
  },
  async table(client) {
    return (await table(client, name, "player_diff")).numRows;
  },
};

const daemon = await Daemon.start();
writeFileSync(join(daemon.root, "long.teehistorian"), teehistorian(1_000_000));
const client = connect(daemon.address);
for (const [way, run] of Object.entries(ways)) {
  let [best, busy] = [0, 0];
  for (let i = 0; i < runs; i++) {
    const [started, used] = [performance.now(), process.cpuUsage()];
    const count = await run(client);
    best = Math.max(best, count / (performance.now() - started) / 1e3);
    const { user, system } = process.cpuUsage(used);
    busy = Math.max(busy, count / (user + system));
  }
  const [all, own] = [best, busy].map((rate) => rate.toFixed(2).padStart(6));
  console.log(`Node ${way.padEnd(14)} ${all} M events/s, ${own} M a second of its own CPU time`);
}
client.close();
await daemon.stop();
