// The search in the list of replays. It searches names of files and maps here; the daemon, which knows the players, searches
// their names.

import type { Replay } from "@replayd/client";
import { client, sleep } from "./net.js";

/** How many milliseconds the viewer must not have typed for, before the daemon is asked. */
const pause = 200;

/** How many replays of one player are shown at most. */
const most = 5000;

/** Which replays match what the viewer types: every word is in the name, in the map's, or in that of a player. */
export class Search {
  private words: string[] = [];
  /** The replays in which a player's name has the word. */
  private readonly played = new Map<string, ReadonlySet<string>>();
  private asking = new AbortController();

  /** Calls changed when the daemon has found further replays. */
  constructor(private readonly signal: AbortSignal, private readonly changed: () => void) {}

  /** Reports whether a replay matches. */
  has({ name, mapName, players }: Replay): boolean {
    if (this.words.length === 0) return true;
    const text = `${name} ${mapName} ${players.map(({ name }) => name).join(" ")}`.toLowerCase();
    return this.words.every((word) => text.includes(word) || this.played.get(word)?.has(name));
  }

  /** Searches for words from now on. */
  ask(text: string): void {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.asking.abort();
    this.asking = new AbortController();
    void this.find(AbortSignal.any([this.signal, this.asking.signal])).catch(() => {}); // meanwhile the rest is searched
  }

  private async find(signal: AbortSignal): Promise<void> {
    await sleep(pause, signal);
    for (const word of this.words) {
      if (signal.aborted) return;
      const names = new Set<string>();
      const playerName = `*${word.replaceAll(/[*?]/g, "?").slice(0, 80)}*`; // a star is no wildcard in the viewer's words
      for await (const { name } of client.replays("", { filter: { playerName }, pageSize: 1000 })) {
        if (signal.aborted) return;
        if (names.add(name).size >= most) break;
      }
      this.played.set(word, names);
      this.changed();
    }
  }
}
