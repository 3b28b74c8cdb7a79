import type { Table as Message } from "../gen/replayd/v1/stream_pb.js";
/**
 * The events of one kind of a batch as a table of Apache Arrow. docs/events lists each kind's columns. `@replayd/client/arrow`
 * reads it.
 */
export declare class Table {
    private readonly message;
    /** @internal */
    constructor(message: Message);
    /** The kind of the events, such as "player_diff". */
    get kind(): string;
    /** The number of events. */
    get length(): number;
    /** The table as a stream of Arrow's IPC format, for any library that reads it, such as `tableFromIPC` of apache-arrow. */
    get ipc(): Uint8Array;
}
