// Who played in the replays of a list. A daemon's list does not contain it, because the daemon would have to read each header.

import { Format, type Replay } from "@replayd/client";
import type { Player } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { client, isAway } from "./net.js";

/** How many replays are asked about at once. */
const atOnce = 3;

/** The formats whose headers list the players. */
const listing = new Set<Format>([Format.DEM, Format.SC2REPLAY]);

/** The players of replays whose rows are in view. */
export class Lineups {
  /** Is called when players have become known. */
  changed: () => void = () => {};
  /** Players by the replays' identities. While they are asked for there are none. */
  private readonly known = new Map<string, readonly Player[]>();
  private readonly rows = new WeakMap<Element, Replay>();
  private readonly queue: Replay[] = [];
  private busy = 0;
  private readonly view = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      const replay = isIntersecting ? this.rows.get(target) : undefined;
      if (!replay || this.known.has(replay.identity)) continue;
      this.known.set(replay.identity, []);
      this.queue.push(replay);
      void this.next();
    }
  });

  /** The players of a replay, as far as they are known. */
  of({ identity, players }: Replay): readonly Player[] {
    return players.length > 0 ? players : (this.known.get(identity) ?? []);
  }

  /** Marks a row as that of a replay whose players are asked for when the row comes into view. */
  wanted<E extends Element>(row: E, replay: Replay): E {
    if (listing.has(replay.format) && replay.identity !== "" && !this.known.has(replay.identity)) this.rows.set(row, replay);
    return row;
  }

  /** Watches rows for coming into view, in place of those before. */
  watch(rows: Iterable<Element>): void {
    this.view.disconnect();
    for (const row of rows) if (this.rows.has(row)) this.view.observe(row);
  }

  private async next(): Promise<void> {
    if (this.busy >= atOnce) return;
    this.busy++;
    for (let replay = this.queue.shift(); replay; replay = this.queue.shift()) {
      const { identity, name } = replay;
      try {
        this.known.set(identity, (await client.replay(name)).players);
        this.changed();
      } catch (error) {
        if (isAway(error)) this.known.delete(identity); // asked again when the row comes into view again
      }
    }
    this.busy--;
  }
}
