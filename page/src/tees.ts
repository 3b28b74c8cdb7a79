// Plays teehistorian files.

import type { Replay } from "@replayd/client";
import { seldom, type Format, type Person } from "./format.js";
import { Designed } from "./designed.js";
import type { Game } from "./game.js";
import { GameMap } from "./map.js";
import { MapData } from "./mapdata.js";
import { ask, client } from "./net.js";
import { Played } from "./played.js";
import { Scene } from "./scene.js";
import { colourOf } from "./theme.js";
import { kinds, teamText, TeeWorld, wholeKinds } from "./world.js";

/** Of a larger map only the physics are drawn under a game. */
const largest = 32_000_000; // bytes

/** Loads what a map looks like, for the scene of a game. */
async function design(name: string, scene: Scene, signal: AbortSignal): Promise<void> {
  if ((await client.replay(name)).sizeBytes > largest) return void (scene.note = "The map's file is large, so its physics alone are drawn.");
  const data = await MapData.load(client, name, signal, false);
  const layers = Designed.make(data);
  if (!layers) return;
  scene.design = { layers, complete: data.complete };
  if (data.missing.length > 0) scene.note = `The daemon lacks images of the map: ${data.missing.join(", ")}.`;
  scene.canvas.dataset["designed"] = "true";
}

export function tees(replay: Replay, signal: AbortSignal): Format<TeeWorld> {
  return {
    around: { kinds }, whole: { include: [{ kinds: wholeKinds }, { kinds: ["sample_player"], ticks: { every: seldom(replay) } }] },
    world: (start) => new TeeWorld(start),
    stage: (canvas, game: Game<TeeWorld>) => {
      const scene = new Scene(canvas, game);
      if (replay.mapReplay) {
        scene.whole = false;
        scene.played = Played.of(replay);
        signal.addEventListener("abort", () => scene.played?.close());
        const done = () => (scene.whole = true);
        ask(() => GameMap.load(client, replay.mapReplay, signal), signal).then((map) => (scene.map = map)).catch(() => {}).finally(done) // without a map, a grid is drawn
          .then(() => design(replay.mapReplay, scene, signal)).catch(() => {}); // without a design, the physics
      }
      return scene;
    },
    people: (world, tick) => [...world.clients.values()]
      .filter((one) => one.joined.at(tick) || (one.joined.at(tick) === undefined && one.places.at(tick)))
      .map((one): Person => {
        const here = one.places.at(tick) !== undefined;
        const team = one.teams.at(tick) ?? 0;
        return { id: one.id, name: one.nameAt(tick), note: [teamText(team), !here && "not in game"].filter(Boolean).join(", "), colour: colourOf(one.id), here, team };
      })
      .sort((a, b) => a.team - b.team || a.id - b.id),
    missing: (world, tick) => ([...world.clients.values()].some(({ places }) => places.at(tick)) ? "" : "Nobody is in the game at this moment."),
    person: (world, id, tick) => ({ name: world.clients.get(id)?.nameAt(Math.max(tick, world.from)) ?? `#${id}`, colour: colourOf(id) }),
  };
}
