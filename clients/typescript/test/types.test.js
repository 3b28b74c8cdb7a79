// Checks that TypeScript finds exactly the errors in types.ts, and that its names of kinds equal those of the .proto.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { EventBatchSchema } from "../gen/replayd/v1/stream_pb.js";

const directory = fileURLToPath(new URL("..", import.meta.url));

test("types", () => {
  const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
  execFileSync(process.execPath, [tsc, "--noEmit", "--project", "test"], { cwd: directory, stdio: "inherit" });
});

test("names of kinds", () => {
  let count = 0;
  for (const list of EventBatchSchema.oneofs.flatMap((oneof) => oneof.fields)) {
    const kind = list.message.field.events.message.oneofs.find(({ name }) => name === "kind");
    for (const { localName, name } of kind.fields) {
      assert.equal(localName.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`), name);
      count++;
    }
  }
  assert.ok(count > 100);
});
