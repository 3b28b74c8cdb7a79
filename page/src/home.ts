// The list of replays. The daemon searches, sorts and pages it.

import { Format, type Replay, ReplayOrder, ReplayState } from "@replayd/client";
import { ChangeKind } from "@replayd/client/gen/replayd/v1/watch_pb.js";
import { sleep } from "./connection.js";
import { baseOf, dateText, errorText, fill, h, icon, pathOf, sizeText, timeText, titleOf, update } from "./dom.js";
import { filesThere, type Opened, openedFiles, removeFile } from "./file.js";
import { ask, client, heartbeat, token, wantsToken } from "./net.js";
import { showThumb } from "./thumb.js";
import { askToken } from "./token.js";
import { wall, wallOf } from "./wall.js";

/** What a viewer chooses among, by the values in the address, with titles. The first one is not in the address. */
const formats = {
  "": ["Everything", []], ddnet: ["DDNet games", [Format.TEEHISTORIAN]], map: ["Maps", [Format.DATAFILE]], demo: ["Source 2 demos", [Format.DEM]],
  sc2: ["StarCraft II replays", [Format.SC2REPLAY]],
} satisfies Choices<Format[]>;
const states = {
  "": ["Any state", []], live: ["Live", [ReplayState.GROWING]], silent: ["Silent", [ReplayState.SILENT]], finished: ["Finished", [ReplayState.FINISHED]],
  broken: ["Broken off", [ReplayState.ABANDONED]],
} satisfies Choices<ReplayState[]>;
const orders = {
  "": ["Newest first", ReplayOrder.NEWEST], name: ["By name", ReplayOrder.UNSPECIFIED], longest: ["Longest first", ReplayOrder.LONGEST], largest: ["Largest first", ReplayOrder.LARGEST],
} satisfies Choices<ReplayOrder>;
type Choices<T> = Record<string, [title: string, value: T]>;

/** The parameters of the address of the list. */
export const homeParameters = ["q", "format", "state", "sort"];

/** The number of replays that are shown before the first click on "More". */
const page = 100;

/** How many live games are shown, and how long to wait for further changes before the list is asked for again, in milliseconds. */
const mostLive = 60;
const settle = 500;

/** What is listed. It is kept while a replay is shown, so that the list is there at once when the viewer comes back. */
interface Listed {
  address: string;
  live: Replay[];
  rest: Replay[];
  more: boolean;
  /** How many there are; undefined for a list by name. */
  matching: number | undefined;
  /** How many files are not known well enough to be found. */
  unsearched: number;
}
let listed: Listed | undefined;

/** What the browser keeps of a view of the list in its history: how many replays are shown, and how far down the view is. */
interface Kept { limit?: number; y?: number }

/** Shows the replays, and updates the list as they change. What is searched for is in the address. */
export function home(app: HTMLElement, signal: AbortSignal, opened: (file: File) => void): void {
  document.title = "replayd";
  const asked = new URL(location.href).searchParams;
  const kept = (history.state ?? {}) as Kept;
  const chosen = { format: asked.get("format") ?? "", state: asked.get("state") ?? "", sort: asked.get("sort") ?? "" };
  let limit = kept.limit ?? page;
  /** How far down the view is to be as soon as the list is that long. */
  let y = kept.y ?? 0;

  const again = () => { limit = page; changed(); draw(); void load(); };
  let typed: ReturnType<typeof setTimeout> | undefined;
  const search = h("input", {
    type: "search", placeholder: "Search maps, players and files", "aria-label": "Search", autocomplete: "off", spellcheck: false, maxLength: 64, value: asked.get("q") ?? "",
    oninput: () => { clearTimeout(typed); typed = setTimeout(() => signal.aborted || again(), 200); },
  });
  const select = (name: "state" | "sort", title: string, choices: Choices<unknown>) => {
    const element: HTMLSelectElement = h("select", { "aria-label": title, onchange: () => { chosen[name] = element.value; again(); } },
      ...Object.entries(choices).map(([value, [text]]) => h("option", { value, selected: value === chosen[name] }, text)));
    return element;
  };
  const buttons = h("div", { class: "formats", role: "group", "aria-label": "Formats" }, ...Object.entries(formats).map(([value, [title]]) =>
    h("button", { type: "button", value, onclick: () => { chosen.format = value; again(); } }, title)));
  const live = h("div", { class: "cards" });
  const list = h("ul", { class: "replays" });
  const status = h("p", { class: "quiet", role: "status" }, "Looking …");
  const more = h("button", { type: "button", class: "more", hidden: true, onclick: () => { limit += page * 5; changed(); void load(); } }, "More");
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
      h("section", { "aria-label": "All replays" },
        h("div", { class: "bar" }, buttons, h("div", { class: "choices" }, status, select("state", "State", states), select("sort", "Order", orders))), list, more)));

  /** The address of what is searched for. */
  const address = () => {
    const url = new URL(location.origin);
    for (const [name, value] of Object.entries({ q: search.value, ...chosen })) if (value) url.searchParams.set(name, value);
    return url.href;
  };
  /** Records the view in the address and in the browser's history, so that back, reload and a link lead to it. */
  const changed = () => history.replaceState({ limit, y: scrollY } satisfies Kept, "", address());
  const draw = () => {
    for (const button of buttons.children as Iterable<Element> & HTMLCollectionOf<HTMLButtonElement>) button.setAttribute("aria-pressed", String(button.value === chosen.format));
    if (listed?.address !== address()) return;
    const { matching, unsearched, rest } = listed;
    liveSection.hidden = listed.live.length === 0;
    update(live, ...listed.live.map(card));
    update(list, ...rest.map(row));
    more.hidden = !listed.more;
    const count = matching ?? rest.length + listed.live.length;
    const nothing = search.value || chosen.format || chosen.state ? "Nothing like that is there." : "Nothing is there yet. Drop a file here, or start replayd with --root.";
    status.textContent = [count > 0 ? `${count}${matching === undefined && listed.more ? " and more" : ""}` : unsearched === 0 && nothing,
      unsearched > 0 && `${unsearched} not looked at yet`].filter(Boolean).join(", ");
    if (y > 0 && document.documentElement.scrollHeight >= y + innerHeight) {
      scrollTo(0, y);
      y = 0;
    }
  };

  let loading = new AbortController();
  /** Asks the daemon for what is to be shown. */
  const load = async () => {
    loading.abort();
    loading = new AbortController();
    const own = AbortSignal.any([signal, loading.signal]);
    const away = () => (status.textContent = "The daemon is away. Waiting for it …");
    const pick = <T>(choices: Choices<T>, value: string) => (choices[value] ?? choices[""]!)[1];
    const wanted = pick<ReplayState[]>(states, chosen.state);
    const query = { formats: pick<Format[]>(formats, chosen.format), order: pick<ReplayOrder>(orders, chosen.sort) };
    const pages = (states: ReplayState[], pageSize: number) => client.pages("", { ...query, filter: { text: search.value, states }, pageSize, signal: own });
    const others = Object.values(ReplayState).filter((state): state is ReplayState => typeof state === "number" && state !== ReplayState.GROWING);
    const look = async () => {
      const now: Listed = { address: address(), live: [], rest: [], more: false, matching: undefined, unsearched: 0 };
      const ahead = wanted.length > 0 ? undefined : (await pages([ReplayState.GROWING], mostLive).next()).value; // with a state there is one list
      now.live = ahead?.replays ?? [];
      for await (const { replays, nextPageToken, coverage } of pages(wanted.length > 0 ? wanted : others, Math.min(limit, 1000))) {
        now.rest.push(...replays);
        if (coverage?.matchingFiles !== undefined) now.matching = Number(coverage.matchingFiles + (ahead?.coverage?.matchingFiles ?? 0n));
        if (coverage) now.unsearched = Number(coverage.totalFiles - coverage.searchedFiles);
        now.more = nextPageToken !== "" || now.rest.length > limit;
        if (now.rest.length >= limit) break;
      }
      now.rest.splice(limit);
      return now;
    };
    try {
      const now = await ask(look, own, away);
      if (own.aborted) return;
      listed = now;
      draw();
      if (now.unsearched > 0) loadLater();
    } catch (error) {
      if (own.aborted) return;
      if (wantsToken(error)) return void askToken(app);
      status.textContent = errorText(error);
    }
  };
  let soon: ReturnType<typeof setTimeout> | undefined;
  const loadSoon = () => {
    patience = 1000;
    soon ??= setTimeout(() => { soon = undefined; if (!signal.aborted) void load(); }, settle);
  };
  /** Asks again for what the daemon is still looking at, more and more rarely. */
  let later: ReturnType<typeof setTimeout> | undefined;
  let patience = 1000;
  const loadLater = () => {
    clearTimeout(later);
    later = setTimeout(() => signal.aborted || void load(), patience);
    patience = Math.min(patience * 1.5, 30_000);
  };

  const watch = async () => {
    while (!signal.aborted) {
      try {
        for await (const { kind, replay } of client.watch("", { changesOnly: true, onReady: loadSoon, heartbeat, signal })) {
          const known = replay && listed?.live.findIndex(({ name }) => name === replay.name);
          if (kind === ChangeKind.GROWING && known !== undefined && known >= 0) {
            listed!.live[known] = { ...listed!.live[known], ...replay };
            draw();
          } else if (kind !== ChangeKind.GROWING || (listed?.live.length ?? 0) < mostLive) loadSoon();
        }
      } catch (error) {
        if (signal.aborted) return;
        if (wantsToken(error)) return askToken(app);
        status.textContent = "The daemon is away. Waiting for it …";
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
  draw();
  let scrolled: ReturnType<typeof setTimeout> | undefined;
  addEventListener("scroll", () => { // once it rests: browsers refuse to record more than some changes a second
    clearTimeout(scrolled);
    scrolled = setTimeout(() => signal.aborted || changed(), 150);
  }, { signal, passive: true });
  for (const type of ["wheel", "touchstart", "keydown"]) addEventListener(type, () => (y = 0), { signal, passive: true }); // the viewer goes elsewhere
  void load();
  void watch();
  wall(signal);
}

function card(replay: Replay): HTMLElement {
  return h("a", { class: "card", href: pathOf(replay.name), "data-client": replay.name },
    replay.format !== Format.SC2REPLAY && h("canvas", { class: "small", width: 320, height: 180, "aria-hidden": "true", [wallOf]: replay.name }),
    h("span", { class: "pill on-air" }, "LIVE"),
    h("strong", {}, titleOf(replay)),
    h("span", { class: "quiet" }, replay.lineup || baseOf(replay.name)),
    h("span", { class: "quiet" }, `${lengthText(replay) ? `${lengthText(replay)} · ` : ""}${sizeText(Number(replay.sizeBytes))}`));
}

const lengthText = (replay: Replay): string => replay.duration ? timeText(Number(replay.duration.seconds)) : "";

/** What is said of a replay's state, where it is not finished. */
const stateText: Partial<Record<ReplayState, string>> = { [ReplayState.GROWING]: "live", [ReplayState.SILENT]: "silent", [ReplayState.ABANDONED]: "broken off" };

function row(replay: Replay): HTMLElement {
  const [short] = Object.entries(formats).find(([, [, [format]]]) => format === replay.format) ?? ["file"];
  const thumb = h("canvas", { class: "thumb", width: 96, height: 54, "aria-hidden": "true", "data-client": replay.name });
  showThumb(thumb, replay);
  return h("li", { "data-client": replay.name, title: replay.name }, h("a", { href: pathOf(replay.name) },
    thumb, h("span", { class: `badge ${short}` }, short),
    h("span", { class: "title" }, h("strong", {}, titleOf(replay)), h("span", { class: "path" }, replay.lineup ? `${replay.lineup} · ${replay.name}` : replay.name)),
    h("span", { class: "state" }, stateText[replay.state]),
    h("span", { class: "length" }, lengthText(replay)),
    h("span", { class: "size" }, sizeText(Number(replay.sizeBytes))),
    h("time", {}, dateText(replay.startTime ?? replay.modifyTime))));
}
