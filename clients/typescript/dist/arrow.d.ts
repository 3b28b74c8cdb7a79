import { type RecordBatch, Table as ArrowTable } from "apache-arrow";
import type { Client } from "./client.js";
import type { StreamOptions } from "./request.js";
import type { Kind } from "./event.js";
import type { Table } from "./table.js";
/** Returns a batch's table as a record batch. */
export declare function recordBatch(table: Table): RecordBatch;
/** The options of a table. */
export type TableOptions = Omit<StreamOptions, "kinds" | "tables" | "include">;
/** Streams the events of one kind as record batches. docs/events lists each kind's columns. */
export declare function recordBatches(client: Client, replay: string, kind: Kind, options?: TableOptions): AsyncGenerator<RecordBatch, void, undefined>;
/** Returns all events of one kind as one table. A table without events has no columns. */
export declare function table(client: Client, replay: string, kind: Kind, options?: TableOptions): Promise<ArrowTable>;
