// The list of replays.

import type { Replay } from "@replayd/client";
import { Format, ReplayState } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { ChangeKind } from "@replayd/client/gen/replayd/v1/watch_pb.js";
import { baseOf, fill, h, icon, pathOf, sizeText, timeText } from "./dom.js";
import { filesThere, type Opened, openedFiles, removeFile } from "./file.js";
import { client, sleep, token, wantsToken } from "./net.js";
import { Search } from "./search.js";
import { askToken } from "./token.js";

const formatNames: Partial<Record<Format, [short: string, long: string]>> = {
  [Format.TEEHISTORIAN]: ["ddnet", "DDNet games"], [Format.DATAFILE]: ["map", "Maps"],
  [Format.DEM]: ["demo", "Source 2 demos"], [Format.SC2REPLAY]: ["sc2", "StarCraft II replays"],
};

/** The number of replays that are shown before the first click on "More". */
const page = 100;

/** The replays. They are kept while a replay is shown, so that the list is there at once when the viewer comes back. */
const replays = new Map<string, Replay>();

/** What the browser keeps of a view of the list in its history: how many replays are shown, and how far down the view is. */
interface Kept {
  limit?: number;
  y?: number;
}

/** Shows the replays, and updates the list as they change. What is searched for is in the address. */
export function home(app: HTMLElement, signal: AbortSignal, opened: (file: File) => void): void {
  document.title = "replayd";
  const asked = new URL(location.href).searchParams;
  const kept = (history.state ?? {}) as Kept;
  const [named] = Object.entries(formatNames).find(([, [short]]) => short === asked.get("format")) ?? [];
  let format: Format | undefined = named === undefined ? undefined : Number(named);
  let limit = kept.limit ?? page;
  let whole = false;
  /** How far down the view is to be as soon as the list is that long. */
  let y = kept.y ?? 0;

  const search = h("input", {
    type: "search", placeholder: "Search maps, players and files", "aria-label": "Search", autocomplete: "off", spellcheck: false, value: asked.get("q") ?? "",
    oninput: () => { limit = page; changed(); found.ask(search.value); draw(); },
  });
  const formats = h("div", { class: "formats", role: "group", "aria-label": "Formats" });
  const live = h("div", { class: "cards" });
  const list = h("ul", { class: "replays" });
  const status = h("p", { class: "quiet", role: "status" }, "Looking …");
  const more = h("button", { type: "button", class: "more", hidden: true, onclick: () => { limit += page * 5; changed(); draw(); } }, "More");
  const mine = h("ul", { class: "replays" });
  const mineSection = h("section", { hidden: true, "aria-labelledby": "mine" }, h("h2", { id: "mine" }, "Your files"), mine);
  const liveSection = h("section", { class: "live", hidden: true, "aria-labelledby": "live" }, h("h2", { id: "live" }, "Live now"), live);
  const file = h("input", {
    type: "file", hidden: true, "aria-label": "A replay of this computer",
    onchange: () => file.files?.[0] && opened(file.files[0]),
  });
  fill(app,
    h("header", { class: "masthead" },
      h("a", { class: "brand", href: "/", "aria-label": "replayd, home" }, h("img", { src: "/page/icon.svg", alt: "", width: 34, height: 34 }), h("span", {}, "replayd")),
      h("div", { class: "search" }, icon("search"), search),
      h("button", { type: "button", class: "open", onclick: () => file.click() }, icon("drop"), h("span", {}, "Open a file")), file,
      token.get() !== "" && h("button", { type: "button", class: "open", onclick: () => token.forget() }, "Sign out")),
    h("main", { class: "home" },
      h("h1", { class: "hidden" }, "Replays"), mineSection, liveSection,
      h("section", { "aria-label": "All replays" }, h("div", { class: "bar" }, formats, status), list, more)));

  /** Records the view in the address and in the browser's history, so that back, reload and a link lead to it. */
  const changed = () => {
    const url = new URL(location.origin);
    if (search.value) url.searchParams.set("q", search.value);
    const [short] = (format !== undefined && formatNames[format]) || [];
    if (short) url.searchParams.set("format", short);
    history.replaceState({ limit, y: scrollY } satisfies Kept, "", url);
  };
  const draw = () => {
    const matching = [...replays.values()].filter((replay) => (format === undefined || replay.format === format) && found.has(replay));
    const growing = matching.filter(({ state }) => state === ReplayState.GROWING).sort((a, b) => when(b) - when(a));
    liveSection.hidden = growing.length === 0;
    fill(live, ...growing.slice(0, 12).map(card));
    const rest = matching.filter(({ state }) => state !== ReplayState.GROWING).sort((a, b) => when(b) - when(a) || (a.name < b.name ? -1 : 1));
    fill(list, ...rest.slice(0, limit).map(row));
    more.hidden = rest.length <= limit;
    if (whole) status.textContent = replays.size === 0 ? "Nothing is there yet. Drop a file here, or start replayd with --root." : `${matching.length} of ${replays.size}`;
    const present = [...new Set([...replays.values()].map((replay) => replay.format))].sort((a, b) => a - b);
    fill(formats, ...[undefined, ...present].map((one) => {
      const button = h("button", {
        type: "button", "aria-pressed": String(one === format),
        onclick: () => { format = one; limit = page; changed(); draw(); (formats.querySelector("[aria-pressed=true]") as HTMLElement)?.focus(); },
      }, one === undefined ? "Everything" : (formatNames[one]?.[1] ?? "Other"));
      return button;
    }));
    if (y > 0 && document.documentElement.scrollHeight >= y + innerHeight) {
      scrollTo(0, y);
      y = 0;
    }
  };

  let due = false;
  const drawSoon = () => {
    if (due) return;
    due = true;
    setTimeout(() => { due = false; if (!signal.aborted) draw(); }, 120);
  };
  const found = new Search(signal, drawSoon);

  const watch = async () => {
    while (!signal.aborted) {
      let settled: ReturnType<typeof setTimeout> | undefined;
      try {
        const before = new Set(replays.keys());
        settled = setTimeout(() => { // by now the initial list has arrived
          whole = true;
          for (const name of before) replays.delete(name);
          drawSoon();
        }, 700);
        for await (const { kind, replay } of client.watch("", signal)) {
          if (!replay) continue;
          before.delete(replay.name);
          if (kind === ChangeKind.REMOVED) replays.delete(replay.name);
          else replays.set(replay.name, replay);
          drawSoon();
        }
      } catch (error) {
        if (signal.aborted) return;
        if (wantsToken(error)) return askToken(app);
        status.textContent = "The daemon is away. Waiting for it …";
      } finally {
        clearTimeout(settled); // an incomplete list must not delete anything
      }
      await sleep(600, signal);
    }
  };
  const drawMine = (files: Opened[]) => {
    mineSection.hidden = files.length === 0;
    fill(mine, ...files.map((one) => h("li", { class: "mine" },
      h("a", { href: pathOf(one.name) }, h("span", { class: "title" }, h("strong", {}, one.file)),
        h("span", { class: "quiet" }, `until ${new Date(one.expires).toLocaleTimeString([], { timeStyle: "short" })}`)),
      h("button", { type: "button", "aria-label": `Remove ${one.file}`, onclick: () => void removeFile(one.name).then(() => drawMine(openedFiles())) }, icon("close")))));
  };
  drawMine(openedFiles());
  filesThere().then(drawMine, () => {});
  found.ask(search.value);
  draw();
  let scrolled: ReturnType<typeof setTimeout> | undefined;
  addEventListener("scroll", () => { // once it rests: browsers refuse to record more than some changes a second
    clearTimeout(scrolled);
    scrolled = setTimeout(() => signal.aborted || changed(), 150);
  }, { signal, passive: true });
  for (const type of ["wheel", "touchstart", "keydown"]) addEventListener(type, () => (y = 0), { signal, passive: true }); // the viewer goes elsewhere
  void watch();
}

function when(replay: Replay): number {
  return Number((replay.startTime ?? replay.modifyTime)?.seconds ?? 0n);
}

function dateText(replay: Replay): string {
  const seconds = when(replay);
  return seconds ? new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "";
}

function card(replay: Replay): HTMLElement {
  return h("a", { class: "card", href: pathOf(replay.name) },
    h("span", { class: "pill on-air" }, "LIVE"),
    h("strong", {}, replay.mapName || baseOf(replay.name)),
    h("span", { class: "quiet" }, baseOf(replay.name)),
    h("span", { class: "quiet" }, `${lengthText(replay) ? `${lengthText(replay)} · ` : ""}${sizeText(Number(replay.sizeBytes))}`));
}

function lengthText(replay: Replay): string {
  return replay.duration ? timeText(Number(replay.duration.seconds)) : "";
}

function row(replay: Replay): HTMLElement {
  const [short] = formatNames[replay.format] ?? ["file"];
  const base = baseOf(replay.name);
  return h("li", {}, h("a", { href: pathOf(replay.name) },
    h("span", { class: `badge ${short}` }, short),
    h("span", { class: "title" }, h("strong", {}, replay.mapName || base), h("span", { class: "path" }, replay.lineup ? `${replay.lineup} · ${replay.name}` : replay.name)),
    h("span", { class: "length" }, lengthText(replay)),
    h("span", { class: "size" }, sizeText(Number(replay.sizeBytes))),
    h("time", {}, dateText(replay))));
}
