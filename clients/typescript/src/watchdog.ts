// Noticing that a connection is dead.

/** Aborts a call if a receive takes too long. It measures only receives, so a slow reader does not trigger it. */
export class Watchdog {
  expired = false;
  private waitingSince: number | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly silence: number,
    private readonly connection: AbortController,
  ) {}

  /**
   * Yields the call's responses. It sets no limit before the first one, because the daemon may be seeking or waiting for a replay
   * to follow.
   */
  async *watch<T>(responses: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    const iterator = responses[Symbol.asyncIterator]();
    for (;;) {
      const { value, done } = await iterator.next();
      this.waitingSince = undefined;
      if (done) return;
      this.timer ??= this.watching();
      yield value;
      this.waitingSince = performance.now();
    }
  }

  private watching(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.look(), this.silence / 6);
    // In Node, so that a stream whose caller takes no more items does not keep the process alive after the client is closed.
    if (typeof timer === "object") timer.unref();
    return timer;
  }

  private look(): void {
    if (this.waitingSince === undefined || performance.now() - this.waitingSince < this.silence) return;
    this.expired = true;
    this.stop();
    this.connection.abort();
  }

  stop(): void {
    clearInterval(this.timer);
  }
}
