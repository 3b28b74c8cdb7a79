/** Aborts a call if a receive takes too long. It measures only receives, so a slow reader does not trigger it. */
export declare class Watchdog {
    private readonly silence;
    private readonly connection;
    expired: boolean;
    private waitingSince;
    private timer;
    constructor(silence: number, connection: AbortController);
    /**
     * Yields the call's responses. It sets no limit before the first one, because the daemon may be seeking or waiting for a replay
     * to follow.
     */
    watch<T>(responses: AsyncIterable<T>): AsyncGenerator<T, void, undefined>;
    private watching;
    private look;
    stop(): void;
}
