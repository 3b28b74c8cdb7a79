// A stream of one replay, for its caller.
/** An asynchronous iterator over a stream. Leaving a `for await` loop ends the stream. */
export class Stream {
    session;
    responses;
    itemsOf;
    /** The rest of the last response, and the cursor after that response. */
    items = [][Symbol.iterator]();
    behind = new Uint8Array();
    position = new Uint8Array();
    /** The last call of fetch, until it is done. */
    fetching;
    /** @internal */
    constructor(session, responses, itemsOf) {
        this.session = session;
        this.responses = responses;
        this.itemsOf = itemsOf;
    }
    [Symbol.asyncIterator]() {
        return this;
    }
    /** Returns a received item without waiting. A generator would take several times as long for each item. */
    next() {
        if (!this.fetching) {
            const item = this.items.next();
            if (!item.done)
                return Promise.resolve(item);
        }
        const fetching = this.fetch(this.fetching).finally(() => {
            if (this.fetching === fetching)
                this.fetching = undefined;
        });
        return (this.fetching = fetching);
    }
    async fetch(before) {
        await before?.catch(() => { }); // its caller gets the error
        for (;;) {
            const item = this.items.next();
            if (!item.done)
                return item;
            this.position = this.behind;
            const response = await this.responses.next();
            if (response.done)
                return response;
            if (response.value.cursor.length > 0)
                this.behind = response.value.cursor;
            try {
                this.items = this.itemsOf(response.value)[Symbol.iterator]();
            }
            catch (thrown) {
                await this.responses.return();
                throw thrown;
            }
        }
    }
    async return() {
        this.items = [][Symbol.iterator]();
        this.behind = this.position;
        await this.responses.return();
        return { done: true, value: undefined };
    }
    /** Resumes the stream after the last batch whose events were all taken. Empty before the first. */
    get cursor() {
        return this.position;
    }
    /** The daemon's first response, with the replay and the start position. Undefined before the first item. */
    get start() {
        return this.session.start;
    }
    /** The current replay, with its header. Undefined before the first item. */
    get replay() {
        return this.session.replay;
    }
    /** The state of a stream that follows: whether it has reached the end of the live replay. */
    get state() {
        return this.session.state;
    }
    /** How the stream ended. Undefined before the end. */
    get end() {
        return this.session.end;
    }
    /** The number of events that the daemon dropped in gaps. Always 0 without SlowConsumer.DROP. */
    get missed() {
        return this.session.missed;
    }
    /** How often the stream was resumed. Attempts that failed do not count; see Retry.onRetry for those. */
    get reconnects() {
        return this.session.reconnects;
    }
}
