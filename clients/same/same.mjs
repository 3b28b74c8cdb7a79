// Prints a summary of the events that the TypeScript client yields for every replay of a daemon. See doc.go.

import { deepStrictEqual } from "node:assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { connect, EndReason, Format, ReplaydError } from "../typescript/dist/node.js";
import { canonical, factsOf, filesOf } from "./facts.mjs";

const [address, directory, golden] = process.argv.slice(2);

async function line(how, name, events) {
  const hash = createHash("sha256");
  let count = 0;
  let end;
  try {
    for await (const event of events) {
      hash.update(canonical(event.toJSON()));
      count++;
    }
    end = EndReason[events.end.reason];
  } catch (error) {
    if (!(error instanceof ReplaydError)) throw error;
    end = error.reason;
  }
  console.log(how, name, count, hash.digest("hex"), end);
}

/** Compares the facts of files with those of a golden file. */
async function compareFacts(client, directory, golden) {
  const { formats } = await client.serverInfo();
  let files = 0;
  for (const { file, path, sample, format, kinds } of filesOf(golden, directory)) {
    const names = formats.find((one) => Format[one.format] === format).kinds
      .filter(({ name, needsMap }) => name.startsWith("fact_") && !needsMap).map(({ name }) => name);
    const events = [];
    try {
      for await (const event of client.decode(path, { kinds: names })) events.push(event);
    } catch (error) { // what a damaged file has before its damage counts
      if (!(error instanceof ReplaydError)) throw error;
    }
    deepStrictEqual(factsOf(events, sample), kinds, file);
    files++;
  }
  console.log(files, "files have the same facts in TypeScript");
}

const client = connect(address);
if (golden) await compareFacts(client, directory, golden);
else for await (const { name } of client.replays()) {
  await line("rows", name, client.events(name));
  await line("state", `${name}@end`, client.events(name, { now: true, withState: true }));
  const last = { last: 200, withState: true, resolvePlayers: name.includes(".teehistorian") };
  await line("players", `${name}@last`, client.events(name, last));
  await line("upload", name, client.decode(join(directory, name.slice(name.indexOf("/") + 1))));
}
client.close();
