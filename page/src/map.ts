// The physics of a Teeworlds map, from datafile events, and how to draw them.

import type { Client } from "@replayd/client";
import { LayerKind, type TileLayer, type Tiles } from "@replayd/client/gen/replayd/datafile/v1/events_pb.js";
import { channels, circle, line } from "./draw.js";
import { Lazy } from "./lazy.js";
import { theme } from "./theme.js";

/** The size of a tile in world units. */
export const tileSize = 32;

/** How a tile is drawn. */
const enum Look { Air, Solid, Unhookable, Death, Freeze, Unfreeze, Deep, Start, Finish, Checkpoint, Stopper, Through, Spawn, Other }

const looks: Record<number, Look> = {
  1: Look.Solid, 2: Look.Death, 3: Look.Unhookable, 5: Look.Through, 6: Look.Through, 9: Look.Freeze, 11: Look.Unfreeze, 12: Look.Deep,
  13: Look.Unfreeze, 33: Look.Start, 34: Look.Finish, 60: Look.Stopper, 61: Look.Stopper, 62: Look.Stopper, 66: Look.Through,
  67: Look.Through, 192: Look.Spawn, 193: Look.Spawn, 194: Look.Spawn,
};

function lookOf(index: number): Look {
  if (index >= 35 && index <= 59) return Look.Checkpoint;
  return looks[index] ?? (index === 0 ? Look.Air : Look.Other);
}

/** The colours of looks, in a theme. */
const colours = new Lazy((t: ReturnType<typeof theme>): Record<Look, string> => ({
  [Look.Air]: "#00000000", [Look.Solid]: t.wall, [Look.Unhookable]: t.metal, [Look.Death]: t.death, [Look.Freeze]: t.freeze, [Look.Unfreeze]: t.unfreeze,
  [Look.Deep]: t.deep, [Look.Start]: t.start, [Look.Finish]: t.finish, [Look.Checkpoint]: t.start, [Look.Stopper]: t.mark,
  [Look.Through]: t.through, [Look.Spawn]: t.start, [Look.Other]: t.mark,
}));

/** The layers that are drawn over the others, and their colours. */
const overlays = [[LayerKind.TUNE, "tune"], [LayerKind.SPEEDUP, "boost"], [LayerKind.TELE, "tele"], [LayerKind.SWITCH, "switch"]] as const;

/** The number of tiles along a side of a piece. A piece is drawn once and cached. */
const pieceTiles = 16;
/** The sizes of a tile, in pixels, at which pieces are drawn. */
const details = [4, 8, 16, 32, 64];
/** How many pixels of pieces are kept: 80 MB. */
const keptPixels = 20e6;
/** Below this size of a tile, in pixels, the map is drawn as one picture of at most this many pixels on a side. */
const overviewTile = 3;
const overviewSide = 2048;

/** The layers of physics, and which byte of a tile says what it is, by the bytes that a tile has. */
const physics: Partial<Record<LayerKind, Record<number, number>>> = {
  [LayerKind.GAME]: {}, [LayerKind.FRONT]: {}, [LayerKind.TELE]: { 2: 1 }, [LayerKind.SPEEDUP]: { 6: 2 }, [LayerKind.SWITCH]: { 4: 1 }, [LayerKind.TUNE]: { 2: 1 },
};

/** The physics of a map. */
export class GameMap {
  private readonly layers: Partial<Record<LayerKind, Uint8Array>> = {};
  private readonly pieces = new Map<string, HTMLCanvasElement>();
  private pixels = 0;
  private whole: HTMLCanvasElement | undefined;
  private shade = "";

  constructor(readonly width: number, readonly height: number) {
    for (const kind of Object.keys(physics)) this.layers[Number(kind) as LayerKind] = new Uint8Array(width * height);
  }

  /** Loads a map's physics. Returns undefined if the map has none. */
  static async load(client: Client, name: string, signal?: AbortSignal): Promise<GameMap | undefined> {
    const found: TileLayer[] = [];
    for await (const { event: { kind } } of client.events(name, { kinds: ["tile_layer"], signal })) {
      if (kind.case === "tileLayer" && physics[kind.value.kind]) found.push(kind.value);
    }
    const game = found.find(({ kind }) => kind === LayerKind.GAME);
    if (!game || game.width * game.height > 1e8) return undefined;
    const map = new GameMap(game.width, game.height);
    for await (const { event: { kind } } of client.events(name, { kinds: ["tiles"], layers: found.map(({ layer }) => layer), signal })) {
      if (kind.case === "tiles") map.put(kind.value);
    }
    return map;
  }

  /** Sets a rectangle of tiles. */
  put({ kind, x, y, columns, rows, bytesPerTile: bytes, data }: Tiles): void {
    const layer = this.layers[kind];
    if (!layer) return;
    const at = physics[kind]![bytes] ?? 0;
    for (let row = 0; row < rows && y + row < this.height; row++) {
      for (let column = 0; column < columns && x + column < this.width; column++) {
        layer[(y + row) * this.width + x + column] = data[(row * columns + column) * bytes + at];
      }
    }
  }

  /** What a layer has at a position. */
  private at(kind: LayerKind, x: number, y: number): number { return this.layers[kind]![y * this.width + x]; }

  private has(x: number, y: number): boolean { return x >= 0 && y >= 0 && x < this.width && y < this.height; }

  /** How the tile at a position is drawn. Positions beyond the map look like the nearest tile at its edge. */
  private look(x: number, y: number): Look {
    const [column, row] = [Math.min(Math.max(x, 0), this.width - 1), Math.min(Math.max(y, 0), this.height - 1)];
    return lookOf(this.at(LayerKind.GAME, column, row) || this.at(LayerKind.FRONT, column, row));
  }

  /** Draws the visible part, with the camera in the middle. The context's units are pixels, scale is pixels per world unit. */
  draw(context: CanvasRenderingContext2D, cameraX: number, cameraY: number, scale: number, width: number, height: number): void {
    if (this.shade !== theme().name) {
      this.pieces.clear();
      this.pixels = 0;
      this.whole = undefined;
      this.shade = theme().name;
    }
    const wanted = scale * tileSize;
    if (wanted < overviewTile) return this.overview(context, cameraX, cameraY, scale, width, height);
    const detail = details.find((pixels) => pixels >= wanted * 0.99) ?? details.at(-1)!;
    const span = pieceTiles * tileSize;
    const [left, right] = [-1, 1].map((side) => Math.floor((cameraX + (side * width) / 2 / scale) / span));
    const [top, bottom] = [-1, 1].map((side) => Math.floor((cameraY + (side * height) / 2 / scale) / span));
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        const [x, nextX] = [column, column + 1].map((at) => Math.round((at * span - cameraX) * scale + width / 2));
        const [y, nextY] = [row, row + 1].map((at) => Math.round((at * span - cameraY) * scale + height / 2));
        context.drawImage(this.piece(column, row, detail), x, y, nextX - x, nextY - y);
      }
    }
  }

  private piece(column: number, row: number, detail: number): HTMLCanvasElement {
    const key = `${detail},${column},${row}`;
    let piece = this.pieces.get(key);
    if (piece) return piece;
    piece = document.createElement("canvas");
    piece.width = piece.height = pieceTiles * detail;
    const context = piece.getContext("2d")!;
    for (let y = 0; y < pieceTiles; y++) {
      let plain = 0; // consecutive tiles of nothing but wall, which fill most of many maps: they are drawn at once
      for (let x = 0; x <= pieceTiles; x++) {
        const [atX, atY] = [column * pieceTiles + x, row * pieceTiles + y];
        if (x < pieceTiles && this.plain(atX, atY)) {
          plain++;
          continue;
        }
        if (plain > 0) {
          context.fillStyle = theme().wall;
          context.fillRect((x - plain) * detail, y * detail, plain * detail, detail);
          plain = 0;
        }
        if (x < pieceTiles) this.tile(context, atX, atY, x * detail, y * detail, detail);
      }
    }
    for (this.pixels += piece.width ** 2; this.pixels > keptPixels && this.pieces.size > 0;) {
      const [oldest, { width }] = this.pieces.entries().next().value!;
      this.pixels -= width ** 2;
      this.pieces.delete(oldest);
    }
    this.pieces.set(key, piece);
    return piece;
  }

  /** Draws the whole map from one small picture, with wall around it where its corner is wall. */
  private overview(c: CanvasRenderingContext2D, cameraX: number, cameraY: number, scale: number, width: number, height: number): void {
    const whole = (this.whole ??= this.small());
    const [x, y] = [width / 2 - cameraX * scale, height / 2 - cameraY * scale];
    const [wide, tall] = [this.width * tileSize * scale, this.height * tileSize * scale];
    if (this.isWall(0, 0)) {
      c.fillStyle = colours.of(theme())[this.look(0, 0)];
      c.fillRect(0, 0, width, y);
      c.fillRect(0, y + tall, width, height);
      c.fillRect(0, y, x, tall);
      c.fillRect(x + wide, y, width, tall);
    }
    c.drawImage(whole, x, y, wide, tall);
  }

  /** A picture of the map with at most a pixel for each tile. */
  small(): HTMLCanvasElement {
    const step = Math.ceil(Math.max(this.width, this.height) / overviewSide);
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(this.width / step);
    canvas.height = Math.ceil(this.height / step);
    const context = canvas.getContext("2d")!;
    const picture = context.createImageData(canvas.width, canvas.height);
    const t = theme();
    const parts = { ...colours.of(t), [Look.Checkpoint]: `${t.start}59`, [Look.Stopper]: `${t.mark}59`, [Look.Other]: `${t.mark}2e` };
    const pixels = Object.values(parts).map(channels);
    for (let y = 0; y < canvas.height; y++) {
      for (let x = 0; x < canvas.width; x++) picture.data.set(pixels[this.look(x * step, y * step)], (y * canvas.width + x) * 4);
    }
    context.putImageData(picture, 0, 0);
    return canvas;
  }

  /** Whether a tile is wall with wall on all sides, and nothing else. */
  private plain(x: number, y: number): boolean {
    if (this.look(x, y) !== Look.Solid || !this.isWall(x, y - 1) || !this.isWall(x, y + 1) || !this.isWall(x - 1, y) || !this.isWall(x + 1, y)) return false;
    return !this.has(x, y) || overlays.every(([kind]) => !this.at(kind, x, y));
  }

  /** Whether nobody can be at a tile. */
  isWall(x: number, y: number): boolean {
    const look = this.look(x, y);
    return look === Look.Solid || look === Look.Unhookable;
  }

  private tile(c: CanvasRenderingContext2D, x: number, y: number, px: number, py: number, size: number): void {
    const look = this.look(x, y);
    const t = theme();
    c.fillStyle = colours.of(t)[look];
    switch (look) {
      case Look.Solid:
      case Look.Unhookable:
        this.wall(c, look, x, y, px, py, size);
        break;
      case Look.Freeze:
      case Look.Deep:
      case Look.Death:
      case Look.Unfreeze:
      case Look.Through:
        c.fillRect(px, py, size, size);
        if (size < 8) break;
        c.globalAlpha = 0.5;
        if (look === Look.Death) { // points
          line(c, { x: px + size * 0.2, y: py + size * 0.7 }, { x: px + size * 0.5, y: py + size * 0.25 }, { x: px + size * 0.8, y: py + size * 0.7 });
          c.fill();
        } else if (look !== Look.Through) {
          circle(c, px + size / 2, py + size / 2, size * 0.13);
          c.fill();
        }
        break;
      case Look.Start:
      case Look.Finish:
        for (const [dx, dy] of [[0, 0], [0.5, 0], [0, 0.5], [0.5, 0.5]]) { // a chequer
          c.globalAlpha = dx === dy ? 0.3 : 0.85;
          c.fillRect(px + dx * size, py + dy * size, size / 2, size / 2);
        }
        break;
      case Look.Checkpoint:
      case Look.Stopper:
      case Look.Other:
        c.globalAlpha = look === Look.Other ? 0.18 : 0.35;
        c.fillRect(px + size * 0.2, py + size * 0.2, size * 0.6, size * 0.6);
        break;
      case Look.Spawn:
        if (!this.has(x, y)) break;
        c.strokeStyle = t.mark;
        c.lineWidth = Math.max(1, size / 16);
        c.globalAlpha = 0.6;
        circle(c, px + size / 2, py + size / 2, size * 0.34);
        c.stroke();
    }
    c.globalAlpha = 1;
    if (!this.has(x, y)) return;
    for (const [kind, colour] of overlays) {
      if (!this.at(kind, x, y)) continue;
      c.fillStyle = t[colour];
      c.fillRect(px, py, size, size);
    }
  }

  /** Draws a wall tile, with an edge where the wall ends. */
  private wall(c: CanvasRenderingContext2D, look: Look, x: number, y: number, px: number, py: number, size: number): void {
    const t = theme();
    const up = this.isWall(x, y - 1), down = this.isWall(x, y + 1), left = this.isWall(x - 1, y), right = this.isWall(x + 1, y);
    const round = size >= 8 ? size * 0.28 : 0;
    const corners = [!up && !left, !up && !right, !down && !right, !down && !left].map((free) => (free ? round : 0));
    c.beginPath();
    c.roundRect(px, py, size, size, corners);
    c.fill();
    if (look === Look.Unhookable && size >= 8) { // hatched
      c.save();
      c.clip();
      c.strokeStyle = t.metalLine;
      c.lineWidth = size / 10;
      c.beginPath();
      for (let i = -1; i <= 1; i++) {
        c.moveTo(px + i * size * 0.5, py + size);
        c.lineTo(px + size + i * size * 0.5, py);
      }
      c.stroke();
      c.restore();
    }
    const width = Math.max(1, size / 11);
    c.strokeStyle = look === Look.Solid ? t.wallEdge : t.metalEdge;
    c.lineWidth = width;
    const inset = width / 2;
    const [x0, y0, x1, y1] = [px + inset, py + inset, px + size - inset, py + size - inset];
    c.beginPath();
    const r = Math.max(0, round - inset);
    if (!up) { c.moveTo(left ? px : x0 + r, y0); c.lineTo(right ? px + size : x1 - r, y0); }
    if (!down) { c.moveTo(left ? px : x0 + r, y1); c.lineTo(right ? px + size : x1 - r, y1); }
    if (!left) { c.moveTo(x0, up ? py : y0 + r); c.lineTo(x0, down ? py + size : y1 - r); }
    if (!right) { c.moveTo(x1, up ? py : y0 + r); c.lineTo(x1, down ? py + size : y1 - r); }
    if (r > 0) {
      if (!up && !left) { c.moveTo(x0, y0 + r); c.arcTo(x0, y0, x0 + r, y0, r); }
      if (!up && !right) { c.moveTo(x1 - r, y0); c.arcTo(x1, y0, x1, y0 + r, r); }
      if (!down && !right) { c.moveTo(x1, y1 - r); c.arcTo(x1, y1, x1 - r, y1, r); }
      if (!down && !left) { c.moveTo(x0 + r, y1); c.arcTo(x0, y1, x0, y1 - r, r); }
    }
    c.stroke();
  }
}
