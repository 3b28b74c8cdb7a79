// A game during playback: its loaded part and its clock.

import { Batch, FollowState, type Replay, type StreamEventsResponse, type StreamOptions } from "@replayd/client";
import { ReplayState } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { probe, sleep } from "./connection.js";
import type { Dot, Format, News, World } from "./format.js";
import { Lazy } from "./lazy.js";
import { follow, lagFor } from "./live.js";
import { ask, client, isAway } from "./net.js";
import { Steps } from "./steps.js";

/** Seconds that are loaded ahead of the clock, and kept behind it. */
const ahead = 45;
const behind = 90;

/** For how many milliseconds ticks of a live game are gathered into one message. Most of what a viewer costs the daemon is messages. */
const together = 40;

/** How long to wait at most before the next attempt to reconnect, by how long the daemon has been away: one that restarts is back at once, or not soon. */
const patience = [{ away: 1000, wait: 50 }, { away: 5000, wait: 100 }, { away: Infinity, wait: 1000 }]; // milliseconds

/** The news, beats, dots and chart values of the whole game so far. */
export class Told {
  /** In the order of their ticks, like beats and the lines of charts. */
  readonly marks: News[] = [];
  readonly beats: number[] = [];
  readonly dots: Dot[] = [];
  readonly charts = new Lazy((_chart: string) => new Lazy((_id: number) => new Steps<number>()));
  /** Nothing is missing up to this tick. */
  covered = -1;

  /** Moves news, beats and samples up to a tick out of a world. Skips the covered ticks. Later ticks may be incomplete. */
  take(world: World, to: number): void {
    const fresh = <T>(list: T[], tickOf: (one: T) => number): T[] => {
      const later = list.findIndex((one) => tickOf(one) > to);
      return list.splice(0, later < 0 ? list.length : later).filter((one) => tickOf(one) > this.covered);
    };
    const tickOf = ({ tick }: { tick: number }) => tick;
    for (const news of fresh(world.news, tickOf)) this.marks.push(news);
    for (const dot of fresh(world.dots, tickOf)) this.dots.push(dot);
    for (const tick of fresh(world.beats, (tick) => tick)) this.beats.push(tick);
    for (const { chart, id, tick, value } of fresh(world.samples, tickOf)) this.charts.of(chart).of(id).push(tick, value);
    this.covered = Math.max(this.covered, to);
  }
}

/** A replay of a game, its clock, and the part that is loaded around the clock. */
export class Game<W extends World = World> {
  world: W;
  /** The clock, in ticks. */
  tick = 0;
  playing = false;
  speed = 1;
  /** The clock follows the end of a growing file. */
  live = false;
  /** The tick of the first event, at which a game that is played from its beginning starts. 0 while that is not known. */
  first = 0;
  /** The last known tick of the replay. */
  last = 0;
  /** The replay may grow. */
  grows: boolean;
  /** Everything up to the end of the replay has been loaded. */
  complete = false;
  /** The error that ended loading. */
  failure: unknown;
  private connected = false;
  /** Since when there is no connection, if there was one or an attempt. */
  private lost = 0;
  /** Joins, deaths and the like of the whole replay, for the time line. */
  readonly told = new Told();
  readonly ticksPerSecond: number;

  /** Where the clock was set. That may be beyond what has arrived of the replay, as its end is: Infinity. */
  private aim = 0;
  private loading: AbortController | undefined;
  /** The part of which an event has arrived. */
  private opened: W | undefined;
  private lag = 6;
  private readonly arrivals: { at: number; ticks: number }[] = [];
  /** Until when ticks that arrive were written before, and do not say how many arrive at once while the game is followed. */
  private missed = 0;

  /** told has everything that the replay had at the time of the survey. */
  private surveyed = false;
  private readonly over = new AbortController();

  constructor(readonly replay: Replay, private readonly format: Pick<Format<W>, "around" | "whole" | "stateless" | "world">) {
    this.ticksPerSecond = replay.ticksPerSecond || 50;
    this.last = replay.lastTick ?? 0;
    this.grows = replay.state === ReplayState.GROWING || replay.state === ReplayState.SILENT;
    this.world = format.world(0);
  }

  /** The news up to a tick, latest last, and what had begun by then. They include news that have just arrived and are not in told yet. */
  newsUntil(tick: number): News[] {
    const { marks, covered } = this.told;
    const fresh = this.world.news.filter((news) => news.tick > covered);
    return [...marks, ...fresh].filter((news) => (news.began ?? news.tick) <= tick);
  }

  /** Data for the clock's tick has been loaded, or the replay has none. */
  get ready(): boolean { return this.world.to >= Math.floor(this.tick) || this.complete; }

  /** Goes to a tick. If the tick is not in or near the loaded part, loads from shortly before the tick. */
  seek(tick: number): void {
    this.aim = tick;
    this.tick = Math.max(this.first, Math.min(tick, this.last));
    this.live = false;
    if (!this.near || this.failure !== undefined) this.load(this.tick - 2 * this.ticksPerSecond);
  }

  /** The replay has a tick. A clock that was set beyond what had arrived goes on, unless the replay is being written. */
  private reaches(tick: number): void {
    if (tick <= this.last) return;
    this.last = tick;
    if (this.aim > this.tick && !this.grows) this.seek(this.aim);
  }

  /** The clock is in or near the part that is loaded. */
  private get near(): boolean {
    const { world, tick } = this;
    return this.loading !== undefined && tick >= world.from && tick <= world.to + 10 * this.ticksPerSecond;
  }

  /** Follows the clock of another game. What was refused is not asked for again. */
  accompany({ tick, live, last }: Game): void {
    Object.assign(this, { tick, live, last });
    if (!this.near && this.failure === undefined) this.load(tick - this.ticksPerSecond);
  }

  /** Follows the end of the file. */
  goLive(): void {
    this.playing = true;
    this.speed = 1;
    this.aim = 0;
    if (this.world.to >= this.last - this.ticksPerSecond * 5 && this.world.to > 0) {
      this.live = true;
      this.tick = Math.max(this.tick, this.world.to - this.lag);
      return;
    }
    this.live = true;
    this.tick = Math.max(0, this.last);
    this.load(this.last - 4 * this.ticksPerSecond);
  }

  close(): void {
    this.loading?.abort();
    this.over.abort();
  }

  private load(tick: number): void {
    const from = Math.max(0, Math.floor(tick));
    this.loading?.abort();
    this.loading = new AbortController();
    this.world = this.format.world(from);
    this.complete = false;
    this.failure = undefined;
    this.missed = Infinity;
    void this.run(this.world, from, this.loading.signal);
  }

  private async run(world: W, tick: number, signal: AbortSignal): Promise<void> {
    const retry = {
      initial: 25, // milliseconds
      maximum: patience[0].wait,
      onRetry: () => {
        if (this.connected || !this.lost) this.lost = performance.now();
        retry.maximum = patience.find(({ away }) => performance.now() - this.lost < away)!.wait;
        this.connected = false;
        this.missed = Infinity;
        void probe();
      },
    };
    const follow = { follow: this.grows, maxBatchDelay: together, maxBatchEvents: 4096, heartbeat: 1000, signal, retry };
    const enough = (part: number) => !this.live && world.to > this.tick + ahead * part * Math.max(1, this.speed / 4) * this.ticksPerSecond;
    let at: StreamOptions = { tick, withState: !this.format.stateless };
    try {
      // Browsers read what is sent, whether it is wanted or not. So a stream ends when it is far enough ahead, and another one goes on.
      for (let more = true; more;) {
        more = false;
        for await (const response of client.responses(this.replay.name, { ...this.format.around, ...follow, ...at })) {
          if (signal.aborted) return;
          this.connected = true;
          this.take(world, response);
          if (world.to - world.from > 2 * (ahead + behind) * this.ticksPerSecond) {
            world.trim(Math.min(Math.floor(this.tick), world.to) - behind * this.ticksPerSecond);
          }
          more = response.response.case === "batch" && enough(1);
          if (!more) continue;
          at = { cursor: response.cursor };
          this.complete = false;
          break;
        }
        while (more && !signal.aborted && enough(0.5)) await sleep(100, signal);
      }
      this.complete = true;
      this.grows = false;
      this.live = false;
      this.reaches(world.to);
    } catch (error) {
      if (signal.aborted) return;
      if (!isAway(error)) {
        this.failure = error;
        return;
      }
      retry.onRetry(); // the stream had not begun, or its client has given up: it begins anew where the clock is
      await sleep(retry.maximum, signal);
      if (!signal.aborted) this.load(this.live ? this.tick : this.tick - 2 * this.ticksPerSecond);
    }
  }

  private take(world: W, message: StreamEventsResponse): void {
    const { response } = message;
    const before = world.to;
    switch (response.case) {
      case "state":
      case "batch":
        this.apply(world, new Batch(message));
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
    this.reaches(world.to);
    if (world.to > before && before >= 0) this.note(world.to - before);
    if (this.told.covered >= world.to) this.told.take(world, world.to); // nothing of it is new, and it would pile up
    if (!this.surveyed) return;
    if (world.start <= this.told.covered + 1) this.told.take(world, world.to - 1);
    else if (this.grows) void this.survey(); // the file has grown while another part was shown
  }

  private apply(world: W, batch: Batch): void {
    const [event] = batch;
    if (event && !batch.state && world !== this.opened) {
      this.opened = world;
      if (world.start === 0) this.first = Math.max(0, event.tick);
      if (!this.grows && this.tick < this.first) this.tick = this.first;
    }
    world.apply(batch);
  }

  /** Records how many ticks arrived at once. A live game is shown far enough behind its file that it does not stutter. */
  private note(ticks: number): void {
    const now = performance.now();
    if (this.missed === Infinity) this.missed = now + 300;
    if (now < this.missed) return;
    this.arrivals.push({ at: now, ticks: Math.min(ticks, 100) });
    while (now - this.arrivals[0].at > 4000) this.arrivals.shift();
    this.lag = lagFor(this.arrivals.slice(1).map(({ ticks }) => ticks));
  }

  /** How far the clock of a live game is behind the last tick that has arrived, in milliseconds. */
  get delay(): number { return Math.max(0, Math.round(((this.world.to - this.tick) / this.ticksPerSecond) * 1000)); }

  /** The daemon does not answer. It is not said to be away when only a connection is made again. */
  get away(): boolean { return !this.connected && this.lost > 0 && performance.now() - this.lost > 500; }

  /** Advances the clock by a number of milliseconds of the viewer's time. The clock never goes back. */
  advance(milliseconds: number): void {
    if (!this.playing) return;
    const step = (milliseconds / 1000) * this.ticksPerSecond;
    if (this.live) {
      const away = this.world.to - this.lag - this.tick;
      if (away > 3 * this.ticksPerSecond) this.tick += away; // jump after an interruption
      else this.tick = follow(this.tick, this.world.to, this.lag, step);
      return;
    }
    const reachable = Math.max(this.tick, this.world.to);
    this.tick = Math.min(this.tick + step * this.speed, reachable);
    if (this.tick >= this.last && this.complete && !this.grows) this.playing = false;
    else if (this.grows && this.tick >= this.last - this.lag) this.live = true;
  }

  /** Loads the news, beats and chart values of the whole replay. After a daemon was away it goes on behind what it has. */
  async survey(): Promise<void> {
    const { signal } = this.over;
    await ask(() => this.tell(signal), signal);
  }

  private async tell(signal: AbortSignal): Promise<void> {
    this.surveyed = false;
    const world = this.format.world(0);
    const stream = client.responses(this.replay.name, {
      ...this.format.whole, heartbeat: 5000, signal, ...(this.told.covered > 0 ? { tick: this.told.covered + 1, withState: !this.format.stateless } : {}),
    });
    for await (const response of stream) {
      const { response: what } = response;
      if (what.case !== "batch" && what.case !== "state") continue;
      world.apply(new Batch(response));
      this.told.take(world, world.to - 1);
    }
    if (signal.aborted) return;
    const end = stream.end?.lastTick ?? world.to;
    if (!this.grows) this.last = Math.min(this.last, end);
    this.reaches(end);
    this.tick = Math.min(this.tick, Math.max(this.last, 0));
    this.told.take(world, this.grows ? end - 1 : Infinity);
    this.surveyed = this.grows;
  }
}
