// What EntityState keeps, from events made here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { EventListSchema } from "../gen/replayd/dem/v1/events_pb.js";
import { StreamEventsResponseSchema } from "../gen/replayd/v1/stream_pb.js";
import { Batch, EntityState, noEntity } from "../dist/node.js";

const strings = [
  "CHero", "m_iHealth", "m_list", "m_list.0000", "m_list.0001.m_n", "m_p", "m_p.m_x", "m_sName", "m_hOwner", "CBodyComponent",
  "CBodyComponent.place", "m_pEntity.m_nameStringableIndex", "m_id",
];
const cases = { boolean: "bool", bigint: "uint", string: "text", number: "float" };
const told = (values) =>
  Object.entries(values).map(([name, value]) => ({
    field: strings.indexOf(name),
    value: value === null ? { case: undefined } : { case: name === "m_hOwner" ? "handle" : cases[typeof value], value },
  }));
const event = (kind, value) => {
  const list = create(EventListSchema, { strings, events: [{ atTick: 1, kind: { case: kind, value } }] });
  const batch = { nextSequence: 1n, events: { case: "dem", value: list } };
  return [...new Batch(create(StreamEventsResponseSchema, { response: { case: "batch", value: batch } }))][0];
};

test("entities", () => {
  const state = new EntityState();
  const after = (kind, values, rest = {}) => {
    const entity = state.apply(event(kind, { index: 7, serial: 5, ...(values && { fields: told(values) }), ...rest }));
    return Object.fromEntries(entity.fields);
  };
  const first = { m_iHealth: 100n, m_list: 2n, "m_list.0000": "a", "m_list.0001.m_n": 4n, m_p: true, "m_p.m_x": 6n };
  assert.equal(Object.keys(after("entityCreated", first)).length, 6);
  assert.equal(state.get(7).get("m_iHealth"), 100);
  assert.deepEqual(Object.keys(after("entityUpdated", { m_list: 1n })), ["m_iHealth", "m_list", "m_list.0000", "m_p", "m_p.m_x"]);
  assert.deepEqual(state.get(7).list("m_list"), ["a"]);
  assert.deepEqual(Object.keys(after("entityUpdated", { m_p: false })), ["m_iHealth", "m_list", "m_list.0000", "m_p"]);
  assert.deepEqual(after("entityUpdated", { m_list: null, m_iHealth: null }), { m_p: false });
  assert.deepEqual(after("entityLeft"), { m_p: false });
  assert.equal(state.get(7).inView, false);
  assert.deepEqual(after("entityEntered", { m_id: 1n << 60n }), { m_p: false, m_id: 1n << 60n });
  assert.equal(state.get(7).inView, true);
  assert.deepEqual(after("entityEntered", { m_iHealth: 4n }, { full: true, outOfView: true }), { m_iHealth: 4 });
  assert.equal(state.get(7).inView, false);
  assert.deepEqual(after("entityCreated", { m_sName: "new", m_hOwner: 9 | (1 << 14) }, { serial: 6 }), { m_sName: "new", m_hOwner: 16393 });
  const field = (name, value, rest) => ({ field: strings.indexOf(name), value, ...rest });
  const there = field("CBodyComponent.place", { case: "vector", value: { x: 258.5, y: 0, z: 1 } });
  const called = field("m_pEntity.m_nameStringableIndex", { case: "int", value: 7n }, { name: "npc_dota_hero_axe" });
  const odd = field("m_iHealth", { case: "uint", value: 7n }, { unproven: true });
  const body = (value) => field("CBodyComponent", { case: "bool", value });
  const update = (...fields) => state.apply(event("entityUpdated", { index: 9, serial: 1, fields }));
  const other = state.apply(event("entityCreated", { index: 9, serial: 1, fields: [body(true), there, called, odd] }));
  assert.deepEqual(other.place(), [258.5, 0, 1]);
  assert.equal(state.get(7).place(), undefined);
  assert.deepEqual([other.name, ...other.unproven, state.get(7).name], ["npc_dota_hero_axe", "m_iHealth", ""]);
  update(...told({ "CBodyComponent.place": null, "m_pEntity.m_nameStringableIndex": 8n, m_iHealth: 9n }));
  assert.deepEqual([other.place(), other.name, other.unproven.size], [undefined, "", 0]);
  update(there, called, odd);
  update(body(false));
  assert.deepEqual([other.place(), other.name], [undefined, "npc_dota_hero_axe"]);
  state.apply(event("entityEntered", { index: 9, serial: 1, full: true, fields: told({ m_iHealth: 1n }) }));
  assert.deepEqual([other.name, other.unproven.size], ["", 0]);
  assert.equal(state.byHandle(state.get(7).get("m_hOwner")), state.get(9));
  assert.equal(state.byHandle(7 | (5 << 14)), undefined);
  assert.equal(state.byHandle(noEntity), undefined);
  assert.deepEqual(state.ofClass("CH*").map((e) => e.index), [7, 9]);
  assert.deepEqual(state.ofClass("CX*"), []);
  assert.deepEqual(state.named("m_sName", "new"), [state.get(7)]);
  state.apply(event("entityDeleted", { index: 7, serial: 6 }));
  assert.deepEqual([...state].map((e) => e.index), [9]);
  assert.equal(state.apply(event("stop", {})), undefined);
});
