// A game as it is played back: what is loaded of it, and where its clock stands.

import { Batch, FollowState, type Replay, type StreamEventsResponse } from "@replayd/client";
import { ReplayState } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { client, sleep } from "./net.js";
import { World, kinds, type News, newsKinds } from "./world.js";

/** Seconds that are loaded ahead of what is shown, and kept behind it. */
const ahead = 45;
const behind = 90;

/** A replay of a game, its clock, and what is loaded around it. */
export class Game {
  world: World;
  /** The clock, in ticks. */
  tick = 0;
  playing = false;
  speed = 1;
  /** The clock follows the end of a growing file. */
  live = false;
  /** The last tick that there is, as far as is known. */
  last = 0;
  /** The replay may grow. */
  grows: boolean;
  /** All there is has been loaded, up to the end of the replay. */
  complete = false;
  /** What went wrong for good. */
  failure: unknown;
  /** How often the connection was lost and found again. */
  reconnects = 0;
  connected = false;
  /** Finds, joins and the like of the whole replay, for the time line. */
  readonly marks: News[] = [];
  readonly ticksPerSecond: number;

  private loading = new AbortController();
  private lag = 6;
  private readonly arrivals: { at: number; ticks: number }[] = [];
  private arrived = 0;

  constructor(readonly replay: Replay, private readonly loaded?: World) {
    this.ticksPerSecond = replay.ticksPerSecond ?? 50;
    this.last = Math.max(replay.lastTick ?? 0, loaded?.to ?? 0);
    this.grows = replay.state === ReplayState.GROWING || replay.state === ReplayState.SILENT;
    this.world = loaded ?? new World(0);
    if (loaded) {
      this.complete = true;
      this.marks.push(...loaded.news);
    }
  }

  /** Something of the clock's tick is there to be shown. */
  get ready(): boolean {
    return this.world.to >= Math.floor(this.tick) || this.complete;
  }

  /** Goes to a tick. What is loaded around it is used, else it is loaded from there. */
  seek(tick: number, live = false): void {
    this.tick = Math.max(0, live ? tick : Math.min(tick, this.last));
    this.live = live;
    if (this.loaded) return;
    const { world } = this;
    const near = this.tick >= world.from && this.tick <= world.to + 10 * this.ticksPerSecond;
    if (world.to >= 0 && near && this.failure === undefined) return;
    this.load(Math.max(0, Math.floor(this.tick) - 2 * this.ticksPerSecond));
  }

  /** Follows the end of the file. */
  goLive(): void {
    this.playing = true;
    this.speed = 1;
    if (this.world.to >= this.last - this.ticksPerSecond * 5 && this.world.to > 0) {
      this.live = true;
      this.tick = Math.max(this.tick, this.world.to - this.lag);
      return;
    }
    this.seek(this.last, true);
    this.load(Math.max(0, this.last - 4 * this.ticksPerSecond));
  }

  close(): void {
    this.loading.abort();
  }

  private load(from: number): void {
    this.loading.abort();
    this.loading = new AbortController();
    this.world = new World(from);
    this.complete = false;
    this.failure = undefined;
    void this.run(this.world, from, this.loading.signal);
  }

  private async run(world: World, tick: number, signal: AbortSignal): Promise<void> {
    const stream = client.responses(this.replay.name, {
      tick, withState: true, kinds, columns: true, maxBatchEvents: 4096, follow: this.grows, heartbeat: 1000, signal,
      retry: { initial: 100, maximum: 1000, onRetry: () => { this.reconnects++; this.connected = false; } },
    });
    try {
      for await (const response of stream) {
        if (signal.aborted) return;
        this.connected = true;
        this.take(world, response);
        while (!signal.aborted && !this.live && world.to > this.tick + ahead * this.ticksPerSecond) {
          this.complete = false;
          await sleep(100, signal);
        }
        if (world.to - world.from > 2 * (ahead + behind) * this.ticksPerSecond) {
          world.trim(Math.min(Math.floor(this.tick), world.to) - behind * this.ticksPerSecond);
        }
      }
      this.complete = true;
      this.grows = false;
      this.live = false;
      this.last = Math.max(this.last, world.to);
    } catch (error) {
      if (!signal.aborted) this.failure = error;
    }
  }

  private take(world: World, message: StreamEventsResponse): void {
    const { response } = message;
    const before = world.to;
    switch (response.case) {
      case "state":
      case "batch":
        world.apply(new Batch(message));
        if (response.case === "state" && response.value.complete) world.reach(world.start);
        break;
      case "heartbeat":
        world.reach(response.value.tick);
        break;
      case "end":
        world.reach(response.value.lastTick);
        break;
      case "followStatus":
        if (response.value.state === FollowState.SUCCESSOR) this.complete = true;
    }
    this.last = Math.max(this.last, world.to);
    if (world.to > before && before >= 0) this.note(world.to - before);
  }

  /** Takes note that so many ticks came at once: a live game is shown so much behind its file that it does not stutter. */
  private note(ticks: number): void {
    const now = performance.now();
    this.arrived = now;
    this.arrivals.push({ at: now, ticks: Math.min(ticks, 100) });
    while (now - this.arrivals[0].at > 4000) this.arrivals.shift();
    this.lag = Math.min(100, Math.max(2, ...this.arrivals.slice(1).map((arrival) => arrival.ticks + 1)));
  }

  /** Milliseconds that what is shown of a live game is behind what has come of it. */
  get delay(): number {
    return Math.max(0, Math.round(((this.world.to - this.tick) / this.ticksPerSecond) * 1000));
  }

  /** Milliseconds since something new came. */
  get silence(): number {
    return this.arrived ? performance.now() - this.arrived : 0;
  }

  /** Moves the clock by so many milliseconds of the viewer's time. It never goes back. */
  advance(milliseconds: number): void {
    if (!this.playing) return;
    const step = (milliseconds / 1000) * this.ticksPerSecond;
    if (this.live) {
      const away = this.world.to - this.lag - this.tick;
      if (away > 3 * this.ticksPerSecond) this.tick += away; // it was gone for a while
      else this.tick += step * Math.min(1.5, Math.max(0, 1 + away / 20));
      this.tick = Math.min(this.tick, Math.max(this.tick - step, this.world.to));
      return;
    }
    const reachable = Math.max(this.tick, this.world.to);
    this.tick = Math.min(this.tick + step * this.speed, reachable);
    if (this.tick >= this.last && this.complete && !this.grows) this.playing = false;
    else if (this.grows && this.tick >= this.last - this.lag) this.live = true;
  }

  /** Loads the marks of the whole replay, unless all of it is there. */
  async loadMarks(signal: AbortSignal, told: () => void): Promise<void> {
    if (this.loaded) return told();
    const world = new World(0);
    const stream = client.batches(this.replay.name, { kinds: newsKinds, signal });
    for await (const batch of stream) {
      world.apply(batch);
      this.marks.push(...world.news.splice(0));
      told();
    }
    if (stream.end) this.last = Math.max(this.last, stream.end.lastTick);
    told();
  }
}
