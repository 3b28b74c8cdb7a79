// The facts of files, and those that a golden file has of them. See doc.go.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The files of a golden file that are there: their names, whether they are samples, the names of their formats, and their facts by kind. */
export function* filesOf(golden, directory) {
  for (const line of readFileSync(golden, "utf8").trim().split("\n")) {
    const { file, kinds } = JSON.parse(line);
    const sample = file.startsWith("testdata/");
    const format = file.endsWith(".SC2Replay") ? "SC2REPLAY" : "TEEHISTORIAN";
    if (sample || existsSync(join(directory, file))) yield { file, path: join(directory, file), sample, format, kinds };
  }
}

/** The facts among events, by kind, as the golden file has them. */
export function factsOf(events, sample) {
  const kinds = new Map();
  for (const event of events) {
    if (!event.kind.startsWith("fact_")) continue;
    const { sequence, ...value } = event.toJSON();
    if (!kinds.has(event.kind)) kinds.set(event.kind, []);
    kinds.get(event.kind).push(JSON.parse(JSON.stringify(value)));
  }
  return Object.fromEntries([...kinds].map(([kind, all]) => {
    const hash = createHash("sha256").update(all.map(canonical).join("")).digest("hex").slice(0, 16);
    return [kind, { count: all.length, hash, ...(sample && { first: all[0] }) }];
  }));
}

export function canonical(value) {
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
