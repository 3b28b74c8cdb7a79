// Events as tables.

import type { Table as Message } from "../gen/replayd/v1/stream_pb.js";

/**
 * The events of one kind of a batch as a table of Apache Arrow. docs/events lists each kind's columns. `@replayd/client/arrow`
 * reads it.
 */
export class Table {
  /** @internal */
  constructor(private readonly message: Message) {}

  /** The kind of the events, such as "player_diff". */
  get kind(): string {
    return this.message.kind;
  }

  /** The number of events. */
  get length(): number {
    return this.message.rows;
  }

  /** The table as a stream of Arrow's IPC format, for any library that reads it, such as `tableFromIPC` of apache-arrow. */
  get ipc(): Uint8Array {
    const { schema, data } = this.message;
    const whole = new Uint8Array(schema.length + data.length);
    whole.set(schema);
    whole.set(data, schema.length);
    return whole;
  }
}
