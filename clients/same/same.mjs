// Prints a summary of the events that the TypeScript client yields for every replay of a daemon. See doc.go.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { connect, EndReason, ReplaydError } from "../typescript/dist/node.js";

const [address, directory] = process.argv.slice(2);

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

function canonical(value) {
  switch (typeof value) {
    case "string":
      return `${Buffer.byteLength(value)}:${value}`;
    case "number": {
      const bits = Buffer.alloc(8);
      bits.writeDoubleBE(value);
      return `#${bits.toString("hex")}`;
    }
    case "boolean":
      return value ? "t" : "f";
  }
  if (value === null) return "n";
  if (Array.isArray(value)) return `[${value.map(canonical).join("")}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => canonical(name) + canonical(value[name])).join("")}}`;
}

const client = connect(address);
for await (const { name } of client.replays()) {
  await line("rows", name, client.events(name));
  await line("state", `${name}@end`, client.events(name, { now: true, withState: true }));
  const last = { last: 200, withState: true, resolvePlayers: name.includes(".teehistorian") };
  await line("players", `${name}@last`, client.events(name, last));
  await line("upload", name, client.decode(join(directory, name.slice(name.indexOf("/") + 1))));
}
client.close();
