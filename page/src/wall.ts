// The wall: live games as small moving pictures, by one stream of their latest states.

import { type PlayerEvent, players, type Replay, type WatchedReplay } from "@replayd/client";
import { sleep } from "./connection.js";
import { type Area, areaOf, circle, type Overview, type Point, spread } from "./draw.js";
import { client, heartbeat } from "./net.js";
import { colourOf, theme } from "./theme.js";
import { thumbOf } from "./thumb.js";

/** Between two states, and between two pictures, in milliseconds. */
const interval = 100;
const frame = 1000 / 30;
/** Who goes farther in that time was moved, and is not seen on the way. */
const furthest = 800;

/** A player on the way from where a picture had it to where the last state has it. */
interface Mover extends Point { from: Point; at: number; colour: string }

/** A live game: its players who are somewhere, and the part of the world that is shown. */
interface Shown { described: WatchedReplay["description"]; players: Map<number, Mover>; map: Overview | undefined; view: Area | undefined }

/** The attribute of a canvas that has the name of the game to be drawn into it. */
export const wallOf = "data-wall";

/** Draws live games into the canvases that name them, until the signal. */
export function wall(signal: AbortSignal): void {
  let games = new Map<string, Shown>();
  const follow = async () => {
    const asked = { interval, columns: ["x", "y", "place", "alive", "team"], heartbeat, retry: { maximum: 600, giveUpAfter: Infinity } };
    while (!signal.aborted) {
      const own = new AbortController();
      document.addEventListener("visibilitychange", () => document.hidden && own.abort(), { signal: own.signal }); // nobody looks
      try {
        if (!document.hidden) for await (const states of client.watchState("", { ...asked, signal: AbortSignal.any([signal, own.signal]) })) {
          const told = [...states.values()].flatMap((game) => (game.description ? [[game.description.name, game] as const] : []));
          games = new Map(told.map(([name, game]) => [name, shownOf(game, games.get(name))]));
        }
      } catch {
        if (!own.signal.aborted) return; // the list says why
      }
      own.abort();
      await sleep(600, signal);
    }
  };
  let next = 0;
  const draw = (now: number) => {
    if (signal.aborted) return;
    requestAnimationFrame(draw);
    if (now < next) return;
    next = now + frame / 2;
    for (const canvas of document.querySelectorAll<HTMLCanvasElement>(`canvas[${wallOf}]`)) {
      const game = games.get(canvas.getAttribute(wallOf)!);
      const { top, bottom } = canvas.getBoundingClientRect();
      if (game && bottom > 0 && top < innerHeight) paint(canvas, game, now);
    }
  };
  void follow();
  requestAnimationFrame(draw);
}

/** What is shown of a game that may have been shown before. */
function shownOf(game: WatchedReplay, before?: Shown): Shown {
  const shown = before ?? { described: undefined, players: new Map(), map: undefined, view: undefined };
  if (shown.described !== game.description) void thumbOf(game.description as Replay).then((thumb) => (shown.map = thumb));
  const [now, past] = [performance.now(), shown.players];
  Object.assign(shown, { described: game.description, players: new Map() });
  for (const event of players(game)) {
    const [id, place, colour] = moverOf(event);
    if (!place) continue;
    const old = past.get(id);
    if (old?.x === place.x && old.y === place.y) shown.players.set(id, { ...old, colour });
    else shown.players.set(id, { ...place, from: old && Math.abs(old.x - place.x) + Math.abs(old.y - place.y) < furthest ? placeAt(old, now) : place, at: now, colour });
  }
  return shown;
}

/** A player's number, place if the player is somewhere, and colour. */
function moverOf({ kind: { value } }: PlayerEvent): [id: number, place: Point | undefined, colour: string] {
  switch (value?.$typeName) {
    case "replayd.teehistorian.v1.SamplePlayer": {
      const { clientId, x, y } = value;
      return [clientId, x === undefined || y === undefined ? undefined : { x, y }, colourOf(clientId)];
    }
    case "replayd.dem.v1.SamplePlayer": {
      const { playerId, alive, place, team } = value;
      return [playerId, place && alive !== false ? { x: place.x, y: -place.y } : undefined, team === 2 ? theme().gold : theme().blue];
    }
  }
  return [-1, undefined, ""];
}

function placeAt({ x, y, from, at }: Mover, now: number): Point {
  const part = Math.min(1, (now - at) / interval);
  return { x: from.x + (x - from.x) * part, y: from.y + (y - from.y) * part };
}

function paint(canvas: HTMLCanvasElement, game: Shown, now: number): void {
  const c = canvas.getContext("2d")!;
  const { width, height } = canvas;
  const places = [...game.players.values()].map((mover) => ({ ...placeAt(mover, now), colour: mover.colour }));
  game.view = viewOf(places, game.view ?? game.map?.area, width / height, game.view === undefined);
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.fillStyle = theme().air;
  c.fillRect(0, 0, width, height);
  if (!game.view) return;
  const { left, top, right } = game.view;
  const scale = width / (right - left);
  c.setTransform(scale, 0, 0, scale, -left * scale, -top * scale);
  c.imageSmoothingEnabled = false;
  if (game.map) spread(c, game.map);
  c.strokeStyle = theme().outline;
  c.lineWidth = 2 / scale;
  for (const { x, y, colour } of places) {
    c.fillStyle = colour;
    circle(c, x, y, Math.max(4 / scale, 15));
    c.stroke();
    c.fill();
  }
  const count = String(places.length);
  if (canvas.dataset["players"] !== count) canvas.dataset["players"] = count; // each writing costs a look at the page's styles
}

/** The part of the world to show next: it glides to where all players are. */
function viewOf(places: readonly Point[], now: Area | undefined, shape: number, jump: boolean): Area | undefined {
  const all = areaOf(places);
  if (!all) return now;
  const margin = 300;
  const [x, y] = [(all.left + all.right) / 2, (all.top + all.bottom) / 2];
  const wide = Math.max(all.right - all.left + 2 * margin, (all.bottom - all.top + 2 * margin) * shape, 1600);
  const target = { left: x - wide / 2, right: x + wide / 2, top: y - wide / shape / 2, bottom: y + wide / shape / 2 };
  const glide = (side: keyof Area) => (now && !jump ? now[side] + (target[side] - now[side]) * 0.08 : target[side]);
  return { left: glide("left"), right: glide("right"), top: glide("top"), bottom: glide("bottom") };
}
