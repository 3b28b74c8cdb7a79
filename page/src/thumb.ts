// Small pictures of maps, for the list and the wall.

import { Format, type Replay } from "@replayd/client";
import { sleep } from "./connection.js";
import { baseOf } from "./dom.js";
import { type Overview, spread } from "./draw.js";
import { GameMap, tileSize } from "./map.js";
import { client } from "./net.js";
import { overviewOf } from "./overview.js";
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
  if (format === Format.DEM) return once(`over ${mapName}`, async () => {
    const found = await overviewOf(baseOf(mapName), new AbortController().signal);
    return typeof found === "string" ? undefined : found;
  });
  const described = format === Format.TEEHISTORIAN && !mapReplay ? await client.replay(name).catch(() => undefined) : undefined; // a list may not have it
  const map = format === Format.DATAFILE ? name : mapReplay || described?.mapReplay;
  return map ? once(map, () => physics(map)) : undefined;
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
      const { left, top, right, bottom } = thumb.area;
      const { width, height } = target;
      const c = target.getContext("2d")!;
      const scale = Math.min(width / (right - left), height / (bottom - top));
      c.imageSmoothingQuality = "high";
      c.setTransform(scale, 0, 0, scale, (width - (left + right) * scale) / 2, (height - (top + bottom) * scale) / 2);
      spread(c, thumb);
    });
  }
}, { rootMargin: "200px" });
