// The wall: live games as small moving pictures, by one stream of their latest states.

import type { Replay } from "@replayd/client";
import type { WatchedReplay } from "@replayd/client/gen/replayd/v1/state_pb.js";
import type { Area } from "./minimap.js";
import { isAway, sleep, states } from "./net.js";
import { colourOf, theme } from "./theme.js";
import { type Thumb, thumbOf } from "./thumb.js";

/** Between two states, and between two pictures, in milliseconds. */
const interval = 100;
const frame = 1000 / 30;
/** Who goes farther in that time was moved, and is not seen on the way. */
const furthest = 800;

/** A player on the way from where a picture had it to where the last state has it. */
interface Mover {
  x: number;
  y: number;
  fromX: number;
  fromY: number;
  at: number;
  colour: string;
}

/** A live game: its players who are somewhere, and the part of the world that is shown. */
interface Shown {
  name: string;
  players: Map<number, Mover>;
  map: Thumb | undefined;
  view: Area | undefined;
}

/** The attribute of a canvas that has the name of the game to be drawn into it. */
export const wallOf = "data-wall";

/** Draws live games into the canvases that name them, until the signal. */
export function wall(signal: AbortSignal): void {
  let games = new Map<number, Shown>();
  const follow = async () => {
    while (!signal.aborted) {
      games = new Map(); // each call tells the whole state first
      const own = new AbortController();
      const hidden = () => document.hidden && own.abort(); // nobody looks
      document.addEventListener("visibilitychange", hidden, { signal: own.signal });
      try {
        if (!document.hidden) for await (const replays of states(interval, AbortSignal.any([signal, own.signal]))) for (const one of replays) take(games, one);
      } catch (error) {
        if (signal.aborted || !(own.signal.aborted || isAway(error))) return; // the list says why
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
    const byName = new Map([...games.values()].map((game) => [game.name, game]));
    for (const canvas of document.querySelectorAll<HTMLCanvasElement>(`canvas[${wallOf}]`)) {
      const game = byName.get(canvas.getAttribute(wallOf)!);
      const { top, bottom } = canvas.getBoundingClientRect();
      if (game && bottom > 0 && top < innerHeight) paint(canvas, game, now);
    }
  };
  void follow();
  requestAnimationFrame(draw);
}

/** Applies what has changed in a game. */
function take(games: Map<number, Shown>, { replay, description, whole, players, removed, end, failure }: WatchedReplay): void {
  if (end || failure) return void games.delete(replay);
  let game = games.get(replay);
  if (description) {
    const known: Shown = (game = { players: new Map(), map: undefined, view: undefined, ...game, name: description.name });
    games.set(replay, known);
    void thumbOf(description as Replay).then((thumb) => (known.map = thumb));
  }
  if (!game) return;
  const before = game.players;
  if (whole) game.players = new Map();
  const now = performance.now();
  for (const { kind: { value } } of players.value?.events ?? []) {
    let [id, x, y, colour]: [number, number | undefined, number | undefined, string] = [-1, undefined, undefined, ""];
    if (value?.$typeName === "replayd.teehistorian.v1.SamplePlayer") [id, x, y, colour] = [value.clientId, value.x, value.y, colourOf(value.clientId)];
    else if (value?.$typeName === "replayd.dem.v1.SamplePlayer") {
      [id, x, y, colour] = [value.playerId, value.alive === false ? undefined : value.place?.x, -(value.place?.y ?? 0), value.team === 2 ? theme().gold : theme().blue];
    }
    const old = before.get(id);
    if (x === undefined || y === undefined) game.players.delete(id);
    else {
      const from = old && Math.abs(old.x - x) + Math.abs(old.y - y) < furthest ? placeAt(old, now) : { x, y };
      game.players.set(id, { x, y, fromX: from.x, fromY: from.y, at: now, colour });
    }
  }
  for (const id of removed) game.players.delete(id);
}

function placeAt({ x, y, fromX, fromY, at }: Mover, now: number): { x: number; y: number } {
  const part = Math.min(1, (now - at) / interval);
  return { x: fromX + (x - fromX) * part, y: fromY + (y - fromY) * part };
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
  if (game.map) {
    const { picture, area } = game.map;
    c.imageSmoothingEnabled = false;
    c.drawImage(picture, (area.left - left) * scale, (area.top - top) * scale, (area.right - area.left) * scale, (area.bottom - area.top) * scale);
  }
  c.strokeStyle = theme().outline;
  c.lineWidth = 2;
  for (const { x, y, colour } of places) {
    c.fillStyle = colour;
    c.beginPath();
    c.arc((x - left) * scale, (y - top) * scale, Math.max(4, 15 * scale), 0, 7);
    c.stroke();
    c.fill();
  }
  canvas.dataset["players"] = String(places.length);
}

/** The part of the world to show next: it glides to where all players are. */
function viewOf(places: readonly { x: number; y: number }[], now: Area | undefined, shape: number, jump: boolean): Area | undefined {
  if (places.length === 0) return now;
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  const margin = 300;
  const [x, y] = [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
  const wide = Math.max(Math.max(...xs) - Math.min(...xs) + 2 * margin, (Math.max(...ys) - Math.min(...ys) + 2 * margin) * shape, 1600);
  const target = { left: x - wide / 2, right: x + wide / 2, top: y - wide / shape / 2, bottom: y + wide / shape / 2 };
  if (!now || jump) return target;
  const glide = (from: number, to: number) => from + (to - from) * 0.08;
  return { left: glide(now.left, target.left), right: glide(now.right, target.right), top: glide(now.top, target.top), bottom: glide(now.bottom, target.bottom) };
}
