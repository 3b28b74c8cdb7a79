// A whole Teeworlds map, from datafile events.

import type { Client } from "@replayd/client";
import {
  Curve, type Entity, type EnvelopePoint, type Group, LayerKind, type Link, type PhysicsTile, PixelFormat, type Quad, type TileLayer, type Tiles,
} from "@replayd/client/gen/replayd/datafile/v1/events_pb.js";
import { Lazy } from "./lazy.js";
import { GameMap, tileSize } from "./map.js";
import { getFile } from "./net.js";

/** The largest layer that is loaded, in tiles; and the largest image, in bytes. */
const mostTiles = 1e8;
const mostPixels = 64 << 20;

/** A layer of the map, in the order of drawing. */
export interface Layer {
  index: number;
  group: number;
  kind: LayerKind;
  name: string;
  /** What it shows, for people. */
  what: string;
  detail: boolean;
  tiles?: TileLayer;
  /** Index and flags of each tile of a decoration. */
  cells?: Uint8Array;
  quads?: Quad[];
  image?: Picture;
}

export interface Picture {
  name: string;
  width: number;
  height: number;
  external: boolean;
  /** The format of its data in the file. */
  format: PixelFormat;
  /** RGBA, row by row. */
  pixels?: Uint8Array;
}

/** The envelopes of a map, which animate quads and colours. */
export class Envelopes {
  readonly points: EnvelopePoint[] = [];
  readonly ranges = new Map<number, [first: number, count: number]>();

  /** The four values of an envelope at a time in milliseconds. */
  at(index: number | undefined, time: number): number[] | undefined {
    const range = index === undefined ? undefined : this.ranges.get(index);
    if (!range || range[1] <= 0) return undefined;
    const points = this.points.slice(range[0], range[0] + range[1]);
    if (points.length === 0) return undefined;
    const values = (point: EnvelopePoint) => [0, 1, 2, 3].map((i) => (point.values[i] ?? 0) / 1024);
    const last = points.at(-1)!;
    if (points.length === 1 || last.timeMs <= 0) return values(points[0]);
    const now = ((time % last.timeMs) + last.timeMs) % last.timeMs;
    const next = points.findIndex(({ timeMs }) => timeMs > now);
    if (next <= 0) return values(next < 0 ? last : points[0]);
    const [a, b] = [points[next - 1], points[next]];
    const part = (now - a.timeMs) / Math.max(1, b.timeMs - a.timeMs);
    const [from, to] = [values(a), values(b)];
    return from.map((value, i) => value + (to[i] - value) * (a.curve === Curve.BEZIER && a.bezier && b.bezier ? bezier(a, b, i, part, to[i] - value) : ease(a.curve, part)));
  }
}

function ease(curve: Curve, part: number): number {
  switch (curve) {
    case Curve.STEP: return 0;
    case Curve.SLOW: return part ** 3;
    case Curve.FAST: return 1 - (1 - part) ** 3;
    case Curve.SMOOTH: return part * part * (3 - 2 * part);
    default: return part;
  }
}

/** The progress of a bezier curve's value, which may be outside of 0 to 1. */
function bezier(a: EnvelopePoint, b: EnvelopePoint, channel: number, part: number, rise: number): number {
  if (rise === 0) return 0;
  const span = Math.max(1, b.timeMs - a.timeMs);
  const clamp = (x: number) => Math.min(1, Math.max(0, x));
  const [x1, x2] = [clamp((a.bezier!.outDxMs[channel] ?? 0) / span), clamp(1 + (b.bezier!.inDxMs[channel] ?? 0) / span)];
  const [y1, y2] = [(a.bezier!.outDy[channel] ?? 0) / 1024 / rise, 1 + (b.bezier!.inDy[channel] ?? 0) / 1024 / rise];
  const cubic = (p1: number, p2: number, t: number) => 3 * (1 - t) ** 2 * t * p1 + 3 * (1 - t) * t * t * p2 + t ** 3;
  let [low, high] = [0, 1];
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (cubic(x1, x2, middle) < part) low = middle;
    else high = middle;
  }
  return cubic(y1, y2, (low + high) / 2);
}

export class MapData {
  readonly groups = new Map<number, Group>();
  readonly layers: Layer[] = [];
  readonly images = new Map<number, Picture>();
  readonly envelopes = new Envelopes();
  readonly entities: (Entity & { kind: LayerKind })[] = [];
  readonly links: Link[] = [];
  /** The runs of tiles that affect play, by kind of layer and row. */
  private readonly rows = new Lazy((_kind: LayerKind) => new Lazy((_row: number): PhysicsTile[] => []));
  physics: GameMap | undefined;

  /** Loads a map. Without details it has what is drawn alone, without what is told of tiles. told is called with the number of tiles so far. */
  static async load(client: Client, name: string, signal?: AbortSignal, details = true, told: (tiles: number) => void = () => {}): Promise<MapData> {
    const map = new MapData();
    let loaded = 0;
    const waiting: Tiles[] = []; // for the game layer
    const byIndex = new Map<number, Layer>();
    const add = (layer: Layer) => {
      byIndex.set(layer.index, layer);
      map.layers.push(layer);
    };
    const kinds = ["group", "tile_layer", "tiles", "quad_layer", "quads", "image", "image_data", "envelope", "envelope_points"] as const;
    const more = details ? ["physics_tiles", "entities", "link"] as const : [];
    for await (const { event } of client.events(name, { kinds: [...kinds, ...more], signal })) {
      const { kind } = event;
      switch (kind.case) {
        case "group":
          map.groups.set(kind.value.group, kind.value);
          break;
        case "image": {
          const { image, width, height, external, name: title, format } = kind.value;
          const whole = !external && width > 0 && height > 0 && width * height * 4 <= mostPixels && format !== PixelFormat.UNSPECIFIED;
          map.images.set(image, { name: title, width, height, external, format, ...(whole ? { pixels: new Uint8Array(width * height * 4).fill(255) } : {}) });
          break;
        }
        case "imageData":
          put(map.images.get(kind.value.image), kind.value.offset, kind.value.data);
          break;
        case "envelope":
          map.envelopes.ranges.set(kind.value.envelope, [kind.value.firstPoint, kind.value.numPoints]);
          break;
        case "envelopePoints":
          for (const [i, point] of kind.value.points.entries()) map.envelopes.points[kind.value.first + i] = point;
          break;
        case "tileLayer": {
          const { value } = kind;
          const layer: Layer = { index: value.layer, group: value.group ?? -1, kind: value.kind, name: value.name, what: kindNames[value.kind] ?? "layer", detail: value.detail, tiles: value };
          const size = value.width * value.height;
          if (value.kind === LayerKind.TILES && size <= mostTiles) layer.cells = new Uint8Array(size * 2);
          if (value.kind === LayerKind.GAME && size <= mostTiles) map.physics = new GameMap(value.width, value.height);
          if (value.image !== undefined) layer.image = map.images.get(value.image);
          add(layer);
          break;
        }
        case "tiles": {
          const { layer, x, y, columns, rows, bytesPerTile, data } = kind.value;
          told((loaded += columns * rows));
          waiting.push(kind.value);
          const { cells, tiles } = byIndex.get(layer) ?? {};
          if (!cells || !tiles) break;
          for (let row = 0; row < rows; row++) {
            for (let column = 0; column < columns; column++) {
              const [to, from] = [((y + row) * tiles.width + x + column) * 2, (row * columns + column) * bytesPerTile];
              [cells[to], cells[to + 1]] = [data[from], data[from + 1]];
            }
          }
          break;
        }
        case "quadLayer":
          add({ index: kind.value.layer, group: kind.value.group ?? -1, kind: LayerKind.QUADS, name: kind.value.name, what: kind.value.numQuads === 1 ? "1 quad" : `${kind.value.numQuads} quads`, detail: kind.value.detail, quads: [],
            ...(kind.value.image !== undefined ? { image: map.images.get(kind.value.image) } : {}) });
          break;
        case "quads":
          byIndex.get(kind.value.layer)?.quads?.push(...kind.value.quads);
          break;
        case "physicsTiles": {
          const rows = map.rows.of(kind.value.kind);
          for (const tile of kind.value.tiles) rows.of(tile.y).push(tile);
          break;
        }
        case "entities":
          for (const entity of kind.value.entities) map.entities.push({ ...entity, kind: kind.value.kind });
          break;
        case "link":
          map.links.push(kind.value);
      }
    }
    for (const tiles of waiting) map.physics?.put(tiles);
    await Promise.all([...map.images.values()].filter(({ external }) => external).map((image) => fetchImage(image, signal)));
    return map;
  }

  /** The tiles that affect play at a point of the world. */
  find(x: number, y: number): { layer: LayerKind; tile: PhysicsTile }[] {
    const [column, row] = [Math.floor(x / tileSize), Math.floor(y / tileSize)];
    const found = [...this.rows].flatMap(([layer, rows]) => {
      const tile = rows.get(row)?.find((run) => run.x <= column && column < run.x + run.columns);
      return tile ? [{ layer, tile }] : [];
    });
    return found.sort((a, b) => a.layer - b.layer);
  }

  /** The images that are drawn and are not there. */
  get missing(): string[] {
    return [...new Set(this.layers.filter(({ image }) => image?.external && !image.pixels).map(({ image }) => image!.name))];
  }

  /** Whether what can be drawn of the design shows nearly all walls. */
  get complete(): boolean {
    const { physics } = this;
    if (!physics) return true;
    const { width, height } = physics;
    const over = this.layers.filter((layer) => layer.tiles?.width === width && layer.tiles.height === height && MapData.drawn(layer));
    let [walls, seen] = [0, 0];
    for (let i = 0; i < width * height; i++) {
      if (!physics.isWall(i % width, Math.floor(i / width))) continue;
      walls++;
      if (over.some(({ cells }) => cells?.[2 * i])) seen++;
    }
    return seen >= 0.8 * walls;
  }

  /** Whether a layer can be drawn as its designer made it. */
  static drawn(layer: Layer): boolean {
    return layer.cells !== undefined ? layer.image?.pixels !== undefined : layer.quads !== undefined && (!layer.image || layer.image.pixels !== undefined);
  }
}

/** Gets an image that is not in the map's file from the daemon's assets, if it is there. */
async function fetchImage(image: Picture, signal?: AbortSignal): Promise<void> {
  try {
    const answer = await getFile(`/assets/mapres/${encodeURIComponent(image.name)}`, signal);
    if (answer.status !== 200) return;
    const bitmap = await createImageBitmap(await answer.blob(), { premultiplyAlpha: "none", colorSpaceConversion: "none" });
    const { width, height } = bitmap;
    if (width * height * 4 > mostPixels) return;
    const c = new OffscreenCanvas(width, height).getContext("2d")!;
    c.drawImage(bitmap, 0, 0);
    Object.assign(image, { width, height, pixels: new Uint8Array(c.getImageData(0, 0, width, height).data.buffer) });
  } catch {
    // it is missing, as the page says
  }
}

/** Puts a piece of an image's data where it belongs. */
function put(picture: Picture | undefined, offset: number, data: Uint8Array): void {
  if (!picture?.pixels) return;
  if (picture.format !== PixelFormat.RGB) {
    picture.pixels.set(data.subarray(0, Math.max(0, picture.pixels.length - offset)), offset);
    return;
  }
  for (let i = 0; i < data.length; i++) {
    const at = offset + i;
    picture.pixels[Math.floor(at / 3) * 4 + (at % 3)] = data[i];
  }
}

export const kindNames: Partial<Record<LayerKind, string>> = {
  [LayerKind.TILES]: "tiles", [LayerKind.GAME]: "game", [LayerKind.FRONT]: "front", [LayerKind.TELE]: "tele", [LayerKind.SPEEDUP]: "speedup",
  [LayerKind.SWITCH]: "switch", [LayerKind.TUNE]: "tune", [LayerKind.QUADS]: "quads",
};
