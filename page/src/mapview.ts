// Shows a map without a game: its layers, what is under the cursor, entities, teleporters and switches.

import type { Replay } from "@replayd/client";
import { LayerKind, type Link } from "@replayd/client/gen/replayd/datafile/v1/events_pb.js";
import { Designed } from "./designed.js";
import { circle, type Point } from "./draw.js";
import { fill, h, sizeText } from "./dom.js";
import { Game } from "./game.js";
import { facts, Inspector } from "./inspector.js";
import { tileSize } from "./map.js";
import { kindNames, type Layer, MapData } from "./mapdata.js";
import { ask, client } from "./net.js";
import { bar, steer, zoomTools } from "./player.js";
import { Scene } from "./scene.js";
import { label, type Stage } from "./stage.js";
import { tees } from "./tees.js";
import { theme } from "./theme.js";

/** The picture of a map. */
class MapScene extends Scene {
  data: MapData | undefined;
  designed: Designed | undefined;
  /** The layers that are not shown, and whether the physics, entities and links are. */
  readonly hidden = new Set<number>();
  physics = true;
  withEntities = true;
  links = true;
  /** The link under the cursor. */
  marked: Link | undefined;
  /** The time of the animation in milliseconds; it can be fixed for a picture. */
  time = 0;

  protected override paint(c: CanvasRenderingContext2D, _: unknown, ratio: number): void {
    const { data } = this;
    if (!data) return;
    this.ground(c, ratio, this.designed, this.time, ({ index }) => !this.hidden.has(index), this.physics);
    if (this.links) for (const link of data.links) this.link(c, ratio, link);
    if (this.withEntities) this.entities(c, ratio);
  }

  private link(c: CanvasRenderingContext2D, ratio: number, link: Link): void {
    const marked = link === this.marked;
    this.in(c, ratio);
    c.strokeStyle = c.fillStyle = link.kind === LayerKind.SWITCH ? theme().finish : theme().mark;
    if (link.kind === LayerKind.TELE) c.strokeStyle = c.fillStyle = colourOfNumber(link.number);
    c.globalAlpha = marked ? 1 : 0.35;
    c.lineWidth = (marked ? 2.5 : 1.2) / this.camera.scale;
    const middle = ({ x, y, columns }: { x: number; y: number; columns: number }) => [(x + columns / 2) * tileSize, (y + 0.5) * tileSize];
    for (const from of link.from) {
      for (const to of link.to.slice(0, marked ? 32 : 4)) {
        const [[x0, y0], [x1, y1]] = [middle(from), middle(to)];
        const bend = Math.hypot(x1 - x0, y1 - y0) * 0.12;
        c.setLineDash(link.kind === LayerKind.SWITCH ? [6 / this.camera.scale, 4 / this.camera.scale] : []);
        c.beginPath();
        c.moveTo(x0, y0);
        c.quadraticCurveTo((x0 + x1) / 2, (y0 + y1) / 2 - bend, x1, y1);
        c.stroke();
        circle(c, x1, y1, 4 / this.camera.scale);
        c.fill();
      }
    }
    c.setLineDash([]);
    c.globalAlpha = 1;
  }

  private entities(c: CanvasRenderingContext2D, ratio: number): void {
    const t = theme();
    const named = this.camera.scale > 0.55;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const { position, name, number, kind } of this.data!.entities) {
      if (!position || kind === LayerKind.SWITCH && !number) continue;
      const at = this.onPage(position);
      if (at.x < -20 || at.y < -20 || at.x > this.width + 20 || at.y > this.height + 20) continue;
      c.fillStyle = name?.startsWith("spawn") ? t.start : t.finish;
      c.strokeStyle = t.outline;
      c.lineWidth = 1.5;
      circle(c, at.x, at.y, Math.max(2.5, Math.min(7, 9 * this.camera.scale)));
      c.fill();
      c.stroke();
      if (named && kind !== LayerKind.SWITCH) label(c, ratio, words(name ?? "") || "entity", at.x, at.y - 14, false);
    }
  }

  /** A point of the page in world units. */
  toWorld(x: number, y: number): Point {
    return { x: this.camera.x + (x - this.width / 2) / this.camera.scale, y: this.camera.y + (y - this.height / 2) / this.camera.scale };
  }

  protected override grid(): number | undefined { return undefined; }

  showMap(map: MapData): void {
    this.data = map;
    this.map = map.physics;
    this.designed = Designed.make(map);
    this.reset();
  }
}

const words = (name: string): string => name.replaceAll("_", " ");

/** The colour of a teleporter. */
const colourOfNumber = (number: number) => `hsl(${(number * 137.508) % 360} 75% ${theme().name === "dark" ? 66 : 42}%)`;

export async function mapView(app: HTMLElement, signal: AbortSignal, replay: Replay): Promise<void> {
  const canvas = h("canvas", { class: "scene", role: "img", "aria-label": `The map ${replay.name}`, tabIndex: 0 });
  const game = new Game(replay, tees(replay, signal));
  const scene = new MapScene(canvas, game);
  const inspector = new Inspector(replay, signal);
  const status = h("p", { class: "notice", role: "status" }, `Loading the map of ${sizeText(Number(replay.sizeBytes))} …`);
  const under = h("div", { class: "under", role: "status", hidden: true });
  const shown = h("section", { class: "layers", "aria-label": "Layers" });
  fill(app, h("main", { class: "player still" },
    bar(replay),
    h("div", { class: "stage" }, canvas, status, under, zoomTools(scene as unknown as Stage, "Show everything", () => { scene.showAll(); scene.reset(); })),
    h("aside", { class: "side", "aria-label": "About the map" }, shown, h("details", { class: "about" }, h("summary", {}, "About this map"), facts(replay)), inspector.element)));
  steer(canvas, scene, () => {});
  const fixed = new URL(location.href).searchParams.get("time");
  const began = performance.now();
  const draw = () => {
    if (signal.aborted) return;
    scene.time = fixed === null ? performance.now() - began : Number(fixed) || 0;
    if (canvas.isConnected) scene.draw(16);
    requestAnimationFrame(draw);
  };
  requestAnimationFrame(draw);
  inspector.update(true);
  const map = await ask(() => MapData.load(client, replay.name, signal, true, (tiles) => (status.textContent = `Loading the map of ${sizeText(Number(replay.sizeBytes))}: ${tiles.toLocaleString()} tiles so far …`)), signal, () => (status.textContent = "The daemon is away. Waiting for it …"));
  if (signal.aborted) return;
  scene.showMap(map);
  status.hidden = map.layers.length > 0;
  if (status.hidden === false) status.textContent = "This map has no layers.";
  fill(shown, ...tree(scene, map));

  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const at = scene.toWorld(offsetX, offsetY);
    const found = map.find(at.x, at.y);
    scene.marked = map.links.find((link) => found.some(({ layer, tile }) => layer === link.kind && tile.number === link.number &&
      [...link.from, ...link.to].some((one) => one.tile === tile.tile)));
    under.hidden = false;
    fill(under, h("b", {}, `${Math.floor(at.x / tileSize)}, ${Math.floor(at.y / tileSize)}`),
      ...found.map(({ layer, tile }) => h("span", {}, h("i", {}, `${kindNames[layer]} `), `${words(tile.name ?? "") || `tile ${tile.tile}`}`,
        h("small", {}, [` ${tile.tile}`, tile.number > 0 && `no. ${tile.number}`, tile.delayS > 0 && `${tile.delayS} s`, tile.force > 0 && `force ${tile.force}`,
          layer === LayerKind.SPEEDUP && `${tile.angle}°`].filter(Boolean).join(" · ")))));
  });
  canvas.addEventListener("pointerleave", () => { under.hidden = true; scene.marked = undefined; });
  canvas.dataset["ready"] = "true";
}

/** The switches of what is shown: the physics and what belongs to them, and the layers by group. */
function tree(scene: MapScene, map: MapData): HTMLElement[] {
  const box = (text: string, note: string, on: boolean, change: (on: boolean) => void, disabled = false) => {
    const input = h("input", { type: "checkbox", checked: on && !disabled, disabled, onchange: () => change(input.checked) });
    return h("label", { class: disabled ? "layer off" : "layer" }, input, h("span", {}, text), h("small", {}, note));
  };
  const missing = (layer: Layer) => layer.image?.external && !layer.image.pixels ? `${layer.image.name} is not in the file` : layer.image ? layer.what : layer.cells ? "no image" : layer.what;
  const physics = [
    box("Physics", map.layers.filter(({ kind }) => kind > LayerKind.TILES && kind < LayerKind.QUADS).map(({ what }) => what).join(", "), scene.physics, (on) => (scene.physics = on), !map.physics),
    box("Entities", String(map.entities.length), scene.withEntities, (on) => (scene.withEntities = on), map.entities.length === 0),
    box("Teleporters and switches", String(map.links.length), scene.links, (on) => (scene.links = on), map.links.length === 0),
  ];
  const groups = [...new Set(map.layers.map(({ group }) => group))].map((index) => {
    const layers = map.layers.filter(({ group, cells, quads }) => group === index && (cells || quads));
    const group = map.groups.get(index);
    if (layers.length === 0) return undefined;
    const moves = group && (group.parallaxX !== 100 || group.parallaxY !== 100) ? `parallax ${group.parallaxX}, ${group.parallaxY}` : "";
    return h("fieldset", {}, h("legend", {}, group?.name || `Group ${index}`, moves && h("small", {}, ` ${moves}`)),
      ...layers.map((layer) => box(layer.name || layer.image?.name || `Layer ${layer.index}`, MapData.drawn(layer) ? layer.what : missing(layer), true,
        (on) => { if (on) scene.hidden.delete(layer.index); else scene.hidden.add(layer.index); }, !MapData.drawn(layer) || !scene.designed)));
  });
  const absent = map.missing;
  const note = absent.length > 0 && h("p", { class: "quiet absent" },
    `${absent.length === 1 ? "An image is" : `${absent.length} images are`} not in the file, so what shows ${absent.length === 1 ? "it" : "them"} is not drawn: ${absent.join(", ")}.`);
  return [h("h2", {}, "Layers"), ...physics, ...groups.filter((group) => group !== undefined), ...(note ? [note] : [])];
}
