// Tables of Apache Arrow: the entry point "@replayd/client/arrow", which needs the package apache-arrow.

import { type RecordBatch, RecordBatchReader, Table as ArrowTable } from "apache-arrow";
import type { Client } from "./client.js";
import type { StreamOptions } from "./request.js";
import type { Kind } from "./event.js";
import type { Table } from "./table.js";

/** Returns a batch's table as a record batch. */
export function recordBatch(table: Table): RecordBatch {
  const [batch] = RecordBatchReader.from(table.ipc);
  return batch!;
}

/** The options of a table. */
export type TableOptions = Omit<StreamOptions, "kinds" | "tables" | "include">;

/** Streams the events of one kind as record batches. docs/events lists each kind's columns. */
export async function* recordBatches(
  client: Client,
  replay: string,
  kind: Kind,
  options: TableOptions = {},
): AsyncGenerator<RecordBatch, void, undefined> {
  for (const name of ["kinds", "tables", "include"]) {
    if (Object.hasOwn(options, name)) throw new TypeError(`${name} is not an option here: the kind is ${kind}`);
  }
  for await (const batch of client.batches(replay, { ...options, kinds: [kind], tables: true })) {
    for (const table of batch.tables.values()) yield recordBatch(table);
  }
}

/** Returns all events of one kind as one table. A table without events has no columns. */
export async function table(client: Client, replay: string, kind: Kind, options: TableOptions = {}): Promise<ArrowTable> {
  const batches: RecordBatch[] = [];
  for await (const batch of recordBatches(client, replay, kind, options)) batches.push(batch);
  return batches.length > 0 ? new ArrowTable(batches) : new ArrowTable();
}
