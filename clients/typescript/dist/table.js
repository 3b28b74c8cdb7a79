// Events as tables.
/**
 * The events of one kind of a batch as a table of Apache Arrow. docs/events lists each kind's columns. `@replayd/client/arrow`
 * reads it.
 */
export class Table {
    message;
    /** @internal */
    constructor(message) {
        this.message = message;
    }
    /** The kind of the events, such as "player_diff". */
    get kind() {
        return this.message.kind;
    }
    /** The number of events. */
    get length() {
        return this.message.rows;
    }
    /** The table as a stream of Arrow's IPC format, for any library that reads it, such as `tableFromIPC` of apache-arrow. */
    get ipc() {
        const { schema, data } = this.message;
        const whole = new Uint8Array(schema.length + data.length);
        whole.set(schema);
        whole.set(data, schema.length);
        return whole;
    }
}
