// Shows a map without a game.

import type { Replay } from "@replayd/client";
import { fill, h, icon } from "./dom.js";
import { Game } from "./game.js";
import { facts, Inspector } from "./inspector.js";
import { GameMap } from "./map.js";
import { client } from "./net.js";
import { bar, steer } from "./player.js";
import { Scene } from "./scene.js";
import { tees } from "./tees.js";

export async function mapView(app: HTMLElement, signal: AbortSignal, replay: Replay): Promise<void> {
  const canvas = h("canvas", { class: "scene", role: "img", "aria-label": `The map ${replay.name}`, tabIndex: 0 });
  const game = new Game(replay, tees(replay, signal));
  const scene = new Scene(canvas, game);
  const inspector = new Inspector(replay, signal);
  const status = h("p", { class: "notice", role: "status" }, "Loading the map …");
  fill(app, h("main", { class: "player still" },
    bar(replay),
    h("div", { class: "stage" }, canvas, status,
      h("div", { class: "zoom" },
        h("button", { type: "button", "aria-label": "Closer", onclick: () => scene.zoom(1.4) }, icon("plus")),
        h("button", { type: "button", "aria-label": "Farther", onclick: () => scene.zoom(1 / 1.4) }, icon("minus")),
        h("button", { type: "button", "aria-label": "Show everything", onclick: () => scene.showAll() }, icon("frame")))),
    h("aside", { class: "side", "aria-label": "About the map" }, facts(replay), inspector.element)));
  steer(canvas, scene, () => {});
  const draw = () => {
    if (signal.aborted) return;
    if (canvas.isConnected) scene.draw(16);
    requestAnimationFrame(draw);
  };
  requestAnimationFrame(draw);
  inspector.update(true);
  scene.map = await GameMap.load(client, replay.name, signal);
  scene.reset();
  status.hidden = scene.map !== undefined;
  if (!scene.map) status.textContent = "This map has no game layer.";
  canvas.dataset["ready"] = "true";
}
