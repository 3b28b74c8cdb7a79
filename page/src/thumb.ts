// Small pictures of maps, for the list and the wall.

import { Format, type Replay } from "@replayd/client";
import { sleep } from "./connection.js";
import { baseOf } from "./dom.js";
import { GameMap, tileSize } from "./map.js";
import { client } from "./net.js";
import { type Overview, overviewOf } from "./overview.js";
import { theme } from "./theme.js";

/** Maps with larger files have no small picture: to get it would take longer than to look at the list. */
const largest = 8_000_000; // bytes

/** What has been made, or is being made, by map and colours. One is made at a time, so that what the viewer opens meanwhile does not wait. */
const made = new Map<string, Promise<Overview | undefined>>();
let last: Promise<unknown> = Promise.resolve();

function once(map: string, make: () => Promise<Overview | undefined>): Promise<Overview | undefined> {
  const key = `${theme().name} ${map}`;
  if (!made.has(key)) {
    made.set(key, last.then(make).catch(() => undefined));
    last = made.get(key)!.then(() => sleep(0));
  }
  return made.get(key)!;
}

/** The small picture of a replay's map, or undefined where there is none. */
export async function thumbOf({ name, format, mapReplay, mapName }: Replay): Promise<Overview | undefined> {
  switch (format) {
    case Format.DEM:
      return once(`over ${mapName}`, () => seen(mapName));
    case Format.DATAFILE:
      return once(name, () => physics(name));
    case Format.TEEHISTORIAN: {
      const map = mapReplay || (await client.replay(name).catch(() => undefined))?.mapReplay; // a list may not have it
      return map ? once(map, () => physics(map)) : undefined;
    }
  }
  return undefined;
}

async function seen(map: string): Promise<Overview | undefined> {
  const found = await overviewOf(baseOf(map), new AbortController().signal);
  return typeof found === "string" ? undefined : found;
}

async function physics(name: string): Promise<Overview | undefined> {
  if ((await client.replay(name)).sizeBytes >= largest) return undefined;
  const map = await GameMap.load(client, name);
  return map && { picture: map.small(), area: { left: 0, top: 0, right: map.width * tileSize, bottom: map.height * tileSize } };
}

/** Draws the small picture of a replay's map into a canvas as soon as it is seen. */
export function showThumb(canvas: HTMLCanvasElement, replay: Replay): void {
  waiting.set(canvas, replay);
  near.observe(canvas);
}
const waiting = new WeakMap<Element, Replay>();
const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting || !(target instanceof HTMLCanvasElement)) continue;
    near.unobserve(target);
    void thumbOf(waiting.get(target)!).then((thumb) => {
      if (!thumb) return;
      const { picture, area } = thumb;
      const { width, height } = target;
      const c = target.getContext("2d")!;
      const [wide, tall] = [area.right - area.left, area.bottom - area.top];
      const scale = Math.min(width / wide, height / tall);
      c.imageSmoothingQuality = "high";
      c.drawImage(picture, (width - wide * scale) / 2, (height - tall * scale) / 2, wide * scale, tall * scale);
    });
  }
}, { rootMargin: "200px" });
