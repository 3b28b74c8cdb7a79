// Reads requests, one JSON line each, and prints the events that the TypeScript client yields for them. See doc.go.

import { createInterface } from "node:readline";
import { fromJson } from "../typescript/node_modules/@bufbuild/protobuf/dist/esm/index.js";
import { connect, ReplaydError } from "../typescript/dist/node.js";
import { StreamEventsRequestSchema } from "../typescript/gen/replayd/v1/stream_pb.js";

const clients = new Map();

/** The options that mean the same as a request. */
function options({ include, exclude, start, follow, resolvePlayers, strict, maxBatchEvents, where }) {
  const made = { include, exclude, withState: start?.withState, follow, resolvePlayers, strict, maxBatchEvents, where };
  const at = start?.at;
  switch (at?.case) {
    case "cursor": return { ...made, cursor: at.value };
    case "tick": return { ...made, tick: at.value };
    case "lastEvents": return { ...made, last: at.value };
    case "now": return { ...made, now: true };
    default: return made;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const request = fromJson(StreamEventsRequestSchema, asked.request);
  if (!clients.has(asked.address)) clients.set(asked.address, connect(asked.address));
  const lines = [];
  let end = "";
  try {
    for await (const event of clients.get(asked.address).events(request.replay, options(request))) lines.push(JSON.stringify(event));
  } catch (error) {
    if (!(error instanceof ReplaydError)) throw error;
    end = error.reason || String(error);
  }
  process.stdout.write([...lines, JSON.stringify({ end }), ""].join("\n"));
}
for (const client of clients.values()) client.close();
