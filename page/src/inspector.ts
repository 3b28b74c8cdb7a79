// The raw events, and how to get them with other tools.

import { fill, h, sizeText } from "./dom.js";
import { fileOf } from "./file.js";
import { ask, client } from "./net.js";
import { Format, type Replay } from "@replayd/client";

const most = 400;

/** Kinds that many files of a format have. */
const examples: Partial<Record<Format, string>> = {
  [Format.TEEHISTORIAN]: "join,message", [Format.DATAFILE]: "group,image", [Format.DEM]: "chat,combat_log", [Format.SC2REPLAY]: "chat,unit_died",
};

/** Shows the events at a tick, or all of a replay without a clock. */
export class Inspector {
  readonly element: HTMLElement;
  private readonly list = h("ol", { class: "events", tabIndex: 0, "aria-label": "Events" });
  private readonly status = h("p", { class: "quiet", role: "status" });
  private readonly lines = h("div", { class: "lines" });
  private readonly kinds = h("input", { type: "text", "aria-label": "Kinds of events", spellcheck: false });
  private readonly players = h("input", { type: "text", placeholder: "players", "aria-label": "Players, by number", class: "narrow", inputMode: "numeric" });
  private readonly types = h("input", { type: "text", placeholder: "types", "aria-label": "Types of events, such as COMBAT_LOG_TYPE_DEATH", spellcheck: false });
  private asking = new AbortController();
  private shown: number | undefined;
  private due = 0;

  /** tickOf is undefined for replays without a clock. */
  constructor(private readonly replay: Replay, signal: AbortSignal, private readonly tickOf?: () => number) {
    signal.addEventListener("abort", () => this.asking.abort());
    this.kinds.placeholder = `kinds, such as ${examples[replay.format] ?? "chat"}`;
    const again = () => {
      this.shown = undefined;
      this.update(true);
    };
    this.element = h("section", { class: "inspector", "aria-label": "Inspector" },
      h("form", { class: "filter", onsubmit: (event: Event) => { event.preventDefault(); again(); }, onchange: again },
        this.kinds, replay.format !== Format.DATAFILE && this.players, replay.format === Format.DEM && this.types),
      this.status, this.list, h("h2", {}, "The same elsewhere"), this.lines);
  }

  /** The filter that the viewer has entered, of the events at a tick. */
  private filter(tick: number): { kinds?: string[]; players?: number[]; dem?: { types: string[] }; ticks?: { min: number; max: number } } {
    const parts = ({ value }: HTMLInputElement) => value.split(/[\s,]+/).filter(Boolean);
    const [kinds, players, types] = [parts(this.kinds), parts(this.players).map(Number).filter(Number.isInteger), parts(this.types)];
    return {
      ...(kinds.length && { kinds }), ...(players.length && { players }), ...(types.length && { dem: { types } }), ...(this.tickOf && { ticks: { min: tick, max: tick } }),
    };
  }

  /** Shows the events at the current tick. During playback it updates only every 400 ms, unless now is set. */
  update(now = false): void {
    if (!this.element.isConnected || this.element.hidden) return;
    const tick = this.tickOf ? Math.floor(this.tickOf()) : 0;
    if (tick === this.shown || (!now && performance.now() < this.due)) return;
    this.shown = tick;
    this.due = performance.now() + 400;
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.print(tick);
    void ask(() => this.load(tick, signal), signal, () => (this.status.textContent = "The daemon is away. Waiting for it …")).catch((error) => signal.aborted || (this.status.textContent = String(error.message ?? error)));
  }

  private async load(tick: number, signal: AbortSignal): Promise<void> {
    const stream = client.events(this.replay.name, { include: [this.filter(tick)], ...(this.tickOf && { tick }), maxBatchEvents: most, signal, retry: false });
    const rows: HTMLElement[] = [];
    let more = false;
    for await (const event of stream) {
      if (rows.length >= most) {
        more = true;
        break;
      }
      const { kind, sequence: _, offset: __, index: ___, at_tick: ____, ...rest } = event.toJSON();
      const body = JSON.stringify(rest[kind as string] ?? rest);
      rows.push(h("li", {}, h("b", {}, String(kind)), " ", h("span", {}, body.length > 600 ? `${body.slice(0, 600)} …` : body)));
    }
    fill(this.list, ...rows);
    const many = `${rows.length}${more ? "+" : ""} event${rows.length === 1 ? "" : "s"}`;
    this.status.textContent = this.tickOf ? `${many} at tick ${tick}` : many;
  }

  private print(tick: number): void {
    const { name } = this.replay;
    const filter = this.filter(tick);
    const { kinds, players, dem, ticks } = filter;
    const filtered = Object.keys(filter).length > 0;
    const request = JSON.stringify({ replay: name, ...(ticks && { start: { tick } }), ...(filtered && { include: [filter] }) });
    const flags = [
      ...(ticks ? [`--tick ${tick}`, `--from-tick ${tick}`, `--to-tick ${tick}`] : []),
      kinds && `--kind ${kinds.join()}`, players && `--player ${players.join()}`, dem && `--type ${dem.types.join()}`,
    ].filter((flag) => flag !== undefined);
    const query = flags.map((flag) => flag.slice(2).replace(" ", "=")).join("&");
    const { host, origin, protocol } = location;
    const options = [JSON.stringify(name), ticks && `tick=${tick}`, filtered && `include=[EventFilter(${named(filter)})]`].filter(Boolean);
    const texts: [what: string, text: string][] = [
      ["replayd", `replayd cat --addr ${host} ${quote(name)} ${flags.join(" ")}`.trim()],
      ["grpcurl", `grpcurl ${protocol === "https:" ? "" : "-plaintext "}-d ${quote(request)} ${host} replayd.v1.ReplayService/StreamEvents`],
      ["curl", `curl -sN ${quote(`${origin}/v1/replays/${name.split("/").map(encodeURIComponent).join("/")}/events${query && `?${query}`}`)}`],
      ["Python", `${filtered ? "from replayd.v1.filter_pb2 import EventFilter\n" : ""}for event in replayd.connect(${JSON.stringify(host)}).events(${options.join(", ")}): print(event)`],
    ];
    fill(this.lines, ...texts.map(([what, text]) => h("div", { class: "line" }, h("span", { class: "what" }, what), h("code", {}, text),
      h("button", {
        type: "button", class: "small", "aria-label": `Copy the line for ${what}`,
        onclick: async ({ currentTarget }: Event) => {
          await navigator.clipboard?.writeText(text);
          (currentTarget as HTMLElement).textContent = "copied";
          setTimeout(() => ((currentTarget as HTMLElement | null) ?? this.lines).isConnected && this.print(tick), 1200);
        },
      }, "copy"))));
  }
}

/** Quotes a text as one word for a shell. */
const quote = (text: string): string => /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A filter as keyword arguments of a Python call. */
const named = (filter: object): string => Object.entries(filter).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ");

/** The known facts about a replay, as a list. */
export function facts(replay: Replay): HTMLElement {
  const rows: [string, string | undefined][] = [
    ["map", replay.mapName], ["players", replay.players.map(({ name }) => name).filter(Boolean).join(", ")],
    ["size", sizeText(Number(replay.sizeBytes))], ["file", fileOf(replay.name)],
  ];
  const { header } = replay;
  if (header.case) {
    for (const [name, value] of Object.entries(header.value)) {
      if (name.startsWith("$") || typeof value === "object" || value === undefined || value === "" || value === 0 || value === 0n || value === false) continue;
      rows.push([name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`), String(value)]);
    }
  }
  return h("dl", { class: "facts" }, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
