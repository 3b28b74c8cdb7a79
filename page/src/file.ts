// Shows a local file. The daemon decodes it, and this tab keeps the events.

import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import type { Kind, Replay } from "@replayd/client";
import { LayerKind } from "@replayd/client/gen/replayd/datafile/v1/events_pb.js";
import { Format, ReplaySchema } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { fill, h, sizeText } from "./dom.js";
import { GameMap } from "./map.js";
import { mapView } from "./mapview.js";
import { authorization } from "./net.js";
import { factsView, playLoaded } from "./player.js";
import { kinds, TeeWorld } from "./world.js";

const most = 4 << 20;

/** Uploads a file for decoding, and shows it. */
export async function openFile(app: HTMLElement, file: File, signal: AbortSignal): Promise<void> {
  if (file.size > most) throw new Error(`${file.name} has ${sizeText(file.size)}; files from here may have 4 MB. Put it below a directory that the daemon serves.`);
  const bar = h("progress", { "aria-label": "Decoding" });
  const status = h("p", { class: "quiet", role: "status" }, `Decoding ${file.name} …`);
  fill(app, h("main", { class: "middle" }, status, bar));
  document.title = `${file.name} · replayd`;
  history.pushState(null, "", "/");

  const response = await fetch("/v1/decode", { method: "POST", body: file, headers: authorization(), signal });
  const world = new TeeWorld(0);
  let replay: Replay | undefined = undefined as Replay | undefined;
  let map: GameMap | undefined;
  let count = 0;
  for await (const line of linesOf(response, signal)) {
    const what = JSON.parse(line) as JsonObject & { [kind: string]: never };
    if (what["error"]) throw new Error((what["error"] as { message: string }).message);
    if (what["start"]) {
      const start = what["start"] as { replay: JsonObject };
      // JSON represents maps by other types. The page does not show them.
      replay = fromJson(ReplaySchema, { ...start.replay, name: file.name }, { ignoreUnknownFields: true });
    } else if (what["end"]) world.reach((what["end"] as { last_tick: number }).last_tick);
    if (!what["kind"] || !replay) continue;
    if (++count % 20_000 === 0) status.textContent = `Decoding ${file.name} … ${count.toLocaleString()} events`;
    const kind = what["kind"] as string;
    const value = what[kind] as JsonObject;
    if (replay.format === Format.TEEHISTORIAN && kinds.includes(kind as Kind)) {
      world.take({ atTick: what["at_tick"] as number, kind: { case: camel(kind), value: camels(value) } as never });
    } else if (kind === "tile_layer" && value["kind"] === "LAYER_KIND_GAME") map = new GameMap(value["width"] as number, value["height"] as number);
    else if (kind === "tiles" && map) {
      const v = value as Record<string, number>;
      map.put(LayerKind[String(value["kind"]).replace("LAYER_KIND_", "") as keyof typeof LayerKind], v.x, v.y, v.columns, v.rows, v.bytes_per_tile,
        Uint8Array.from(atob(value["data"] as string), (letter) => letter.charCodeAt(0)));
    }
  }
  if (signal.aborted) return;
  if (!replay) throw new Error(`${file.name} was not decoded`);
  if (replay.format === Format.TEEHISTORIAN) playLoaded(app, signal, replay, world);
  else if (replay.format === Format.DATAFILE) await mapView(app, signal, replay, map);
  else factsView(app, signal, replay, false);
}

async function* linesOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done || signal.aborted) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest) yield rest;
}

function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

const cases = new Set(["say", "start_info", "change_info"]);

/** Converts an event's JSON value to the generated code's form, as far as TeeWorld reads it. */
function camels(value: JsonObject): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const whole = inner && typeof inner === "object" && !Array.isArray(inner) ? camels(inner) : inner;
    if (cases.has(name)) result["content"] = { case: camel(name), value: whole };
    else result[camel(name)] = whole;
  }
  return result;
}
