// Tests of the filter that the options kinds to layers form.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../dist/client.js";
import { EventFilterSchema } from "../gen/replayd/v1/filter_pb.js";

// requestOf returns the request that options become.
async function requestOf(options) {
  let sent;
  const transport = {
    async stream(method, signal, timeout, header, input) {
      for await (const message of input) sent = message;
      throw new Error("that is all");
    },
  };
  await assert.rejects(async () => {
    for await (const _ of new Client(transport).events("r/a", options));
  });
  return sent;
}

// filterOf returns the request's include filters.
const filterOf = async (options) => (await requestOf(options)).include;

test("each condition alone is sent", async () => {
  const lists = (schema) => schema.fields.flatMap((field) => (field.fieldKind === "list" ? [field] : field.fieldKind === "message" ? lists(field.message) : []));
  for (const field of lists(EventFilterSchema)) {
    const value = field.scalar === 9 ? "a" : 1;
    const include = await filterOf({ [field.localName]: [value] });
    assert.equal(include.length, 1, field.localName);
    const of = [include[0], include[0].dem, include[0].datafile].find((message) => message?.[field.localName]?.length > 0);
    assert.deepEqual(of?.[field.localName], [value], field.localName);
  }
  assert.deepEqual(await filterOf({}), []);
  assert.deepEqual(await filterOf({ players: [], classes: [], groups: [] }), []);
});

test("where is sent", async () => {
  assert.equal((await requestOf({ where: "event.x > 1" })).where, "event.x > 1");
  assert.equal((await requestOf({})).where, "");
});
