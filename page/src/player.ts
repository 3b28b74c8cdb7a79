// The view that plays a game.

import { Format, type Replay } from "@replayd/client";
import { ReplayState } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { Charts } from "./chart.js";
import { dem } from "./dem.js";
import { baseOf, dateText, errorText, fill, h, icon, keepAtEnd, rename, say, timeText, titleOf, update } from "./dom.js";
import type { Choice } from "./draft.js";
import type { Format as Played, News, Person, Side, World } from "./format.js";
import { fileOf, isTemporary } from "./file.js";
import { Game } from "./game.js";
import { heats } from "./heat.js";
import { facts, Inspector } from "./inspector.js";
import { overviewOf } from "./overview.js";
import { scoreboard } from "./report.js";
import { sc2 } from "./sc2.js";
import type { Stage } from "./stage.js";
import { type Tab, Tabs } from "./tabs.js";
import { tees } from "./tees.js";
import { Timeline } from "./timeline.js";

const speeds = [0.25, 0.5, 1, 2, 4, 8, 16, 32];

/** For how many players at most what they built is shown side by side. With more, the viewer chooses one. */
const sideBySide = 2;

/** What the keys do. */
const keyNames = [
  ["Space, k", "Play and pause"], [", and .", "One tick back and on"], ["← and →", "Five seconds back and on"], ["Home and End", "To the beginning and the end"],
  ["< and >", "Slower and faster"], ["l", "To what happens now, of a live game"], ["+, - and 0", "Closer, farther, everybody"], ["h", "Where players have been, and died"], ["p", "A picture"], ["d", "The map's design, or its physics"], ["i", "The inspector"], ["?", "This list"],
] as const;

/** The bar at the top of every view of a replay. */
export function bar(replay: Replay, ...more: (HTMLElement | false)[]): HTMLElement {
  const { header } = replay;
  const server = header.case === "teehistorian" ? header.value.serverName : "";
  return h("header", { class: "topbar" },
    h("a", { class: "back", href: "/", "aria-label": "All replays" }, icon("back")),
    h("div", { class: "heading" }, h("h1", {}, isTemporary(replay.name) ? fileOf(replay.name) : titleOf(replay)),
      h("p", { class: "quiet" }, [server, dateText(replay.startTime)].filter(Boolean).join(" · ") || fileOf(replay.name))),
    ...more);
}

/** Shows the facts and events of a replay that has no player. */
export function factsView(app: HTMLElement, signal: AbortSignal, replay: Replay): void {
  const inspector = new Inspector(replay, signal);
  document.title = `${titleOf(replay)} · replayd`;
  fill(app, h("main", { class: "sheet" }, bar(replay), facts(replay), inspector.element));
  inspector.update(true);
}

/** The buttons over a scene, which show it nearer, farther and whole. */
export function zoomTools(scene: Stage, whole: string, all: () => void, ...more: HTMLElement[]): HTMLElement {
  const tool = (name: string, shape: "plus" | "minus" | "frame", onclick: () => void) => h("button", { type: "button", "aria-label": name, onclick }, icon(shape));
  return h("div", { class: "zoom" }, tool("Closer", "plus", () => scene.zoom(1.4)), tool("Farther", "minus", () => scene.zoom(1 / 1.4)), tool(whole, "frame", all), ...more);
}

/** Moves and zooms a scene by mouse, touch and keys. */
export function steer(canvas: HTMLCanvasElement, scene: Stage, picked: (id: number | undefined) => void): void {
  const fingers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    if (fingers.size === 0) moved = 0;
    fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.offsetX, y: event.offsetY };
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) scene.zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), (now.x + other.x) / 2, (now.y + other.y) / 2);
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (moved > 5) scene.pan((now.x - before.x) / (other ? 2 : 1), (now.y - before.y) / (other ? 2 : 1));
    fingers.set(event.pointerId, now);
  });
  const up = (event: PointerEvent) => {
    if (fingers.delete(event.pointerId) && moved <= 5 && event.type === "pointerup") picked(scene.pick(event.offsetX, event.offsetY));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    scene.zoom(Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 400)), event.offsetX, event.offsetY);
  }, { passive: false });
}

/** Says what is under the cursor, or was tapped, as long as draw is called. */
function pointing(canvas: HTMLCanvasElement, scene: Stage): { element: HTMLElement; draw: () => void } {
  const element = h("div", { class: "what", "aria-hidden": "true", hidden: true });
  let at: { x: number; y: number } | undefined;
  const point = ({ offsetX: x, offsetY: y, buttons, pointerType }: PointerEvent) => (at = buttons && pointerType !== "touch" ? undefined : { x, y });
  const draw = () => {
    const what = at && scene.what(at.x, at.y);
    say(element, what?.text ?? "");
    if (!what) return;
    const half = element.offsetWidth / 2 + 6;
    element.style.left = `${Math.min(Math.max(what.x, half), canvas.clientWidth - half)}px`;
    element.style.top = `${Math.max(what.y, element.offsetHeight + 20)}px`;
  };
  for (const type of ["pointermove", "pointerdown", "pointerup"] as const) canvas.addEventListener(type, (event) => { point(event); draw(); });
  canvas.addEventListener("pointerleave", ({ pointerType }) => (at = pointerType === "touch" ? at : undefined)); // what was tapped stays
  return { element, draw };
}

/** What the browser keeps of a game in its history, so that back and a reload lead to where it was. */
type Kept = Partial<Pick<Game, "tick" | "playing" | "live" | "speed">>;

/** Shows a replay of the daemon. */
export function play(app: HTMLElement, signal: AbortSignal, replay: Replay): void {
  switch (replay.format) {
    case Format.TEEHISTORIAN:
      return player(app, signal, replay, tees(replay, signal));
    case Format.DEM:
      return player(app, signal, replay, dem(replay, overviewOf(baseOf(replay.mapName), signal)));
    case Format.SC2REPLAY:
      return player(app, signal, replay, sc2(replay));
    default:
      return factsView(app, signal, replay);
  }
}

/** The views to lay over another picture, such as a video stream of the game: the news, and the scoreboard. */
const overlays = ["feed", "scoreboard"] as const;

/** How many news an overlay shows at most, and for how many seconds of the game. */
const overlaid = { most: 7, seconds: 20 };

function player<W extends World>(app: HTMLElement, signal: AbortSignal, replay: Replay, format: Played<W>): void {
  const game = new Game(replay, format);
  const asked = new URL(location.href).searchParams;
  const overlay = overlays.find((one) => one === asked.get("overlay"));
  const title = titleOf(replay);
  document.title = `${title} · replayd`;

  const canvas = h("canvas", { class: "scene", role: "img", "aria-label": "The game", tabIndex: 0 });
  const scene = format.stage(canvas, game);
  const go = (tick: number) => { game.seek(tick); scene.reset(); address(); feedEnd(true); buildsEnd(true); };
  const timeline = new Timeline(game as unknown as Game, go);
  const board = scoreboard(replay, signal, () => (game.live || game.tick >= game.last ? undefined : Math.floor(game.tick)));
  const charts = new Charts(game as unknown as Game, format as Played, go, board.beside);
  const inspector = new Inspector(replay, signal, () => game.tick);
  const notice = h("p", { class: "notice", role: "status", hidden: true });
  const players = h("ul", { class: "players" });
  const feed = h("ol", { class: "feed", tabIndex: 0, "aria-label": "What happened" });
  const feedEnd = keepAtEnd(feed);
  const builds = h("div", { class: "builds", tabIndex: 0, role: "group", "aria-label": format.builds ?? "" });
  const buildsEnd = keepAtEnd(builds);
  const whose = h("select", { "aria-label": "Whose list", hidden: true, onchange: () => lists() });
  const draft = h("section", { class: "news drafted" });
  const bought = h("section", { class: "news" }, whose, builds);
  const listed: Tab[] = [["What happened", h("section", { class: "news" }, feed)], ["Scoreboard", board.element]];
  if (format.builds) listed.push([format.builds, bought]);
  if (format.draft) listed.push(["Draft", draft]);
  const tabs = new Tabs("What is listed", listed);
  const clock = h("span", { class: "clock" });
  const play = h("button", { type: "button", class: "round", onclick: () => toggle() });
  const live = h("button", { type: "button", class: "pill", hidden: true, title: "Go to what happens now (L)", onclick: () => game.goLive() });
  const speed = h("select", { "aria-label": "Speed", onchange: () => pace(Number(speed.value)) },
    ...speeds.map((value) => h("option", { value: String(value), selected: value === 1 }, `${value}×`)));
  const heads = h("h2", {}, "Players");
  const inspect = h("button", { type: "button", "aria-expanded": "false", "aria-controls": "inspector", onclick: () => open(inspector.element.hidden) }, icon("code"), h("span", {}, "Inspect"));
  const share = h("button", { type: "button", title: "Copy a link to this moment", onclick: async () => {
    game.playing = false;
    address();
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    const label = share.querySelector("span")!;
    label.textContent = "Copied";
    setTimeout(() => (label.textContent = "Link"), 1500);
  } }, icon("link"), h("span", {}, "Link"));
  const ground = h("p", { class: "doubt", role: "note", hidden: true });
  const heated = h("p", { class: "heated", role: "status", hidden: true });
  const warmth = h("button", { type: "button", "aria-label": "Heat map (h)", "aria-pressed": "false", onclick: () => warmer() }, icon("heat"));
  const pointed = pointing(canvas, scene as Stage);
  const help = h("dialog", { class: "help", "aria-label": "Keys" }, h("h2", {}, "Keys"),
    h("dl", {}, ...keyNames.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("button", { class: "open" }, "Close")));
  const keysButton = h("button", { type: "button", "aria-label": "Keys (?)", onclick: () => help.showModal() }, "?");
  inspector.element.id = "inspector";
  inspector.element.hidden = true;
  charts.element.hidden = true;
  const tools = zoomTools(scene as Stage, "Show everybody", () => all(), warmth,
    h("button", { type: "button", "aria-label": "Save a picture (p)", onclick: () => picture() }, icon("drop")));

  const unmapped = replay.format === Format.TEEHISTORIAN && !replay.mapReplay;
  if (overlay) {
    document.body.classList.toggle("see-through", asked.get("bg") === "transparent");
    signal.addEventListener("abort", () => document.body.classList.remove("see-through"));
    fill(app, h("main", { class: `overlay overlay-${overlay}` }, h("h1", { class: "hidden" }, title), overlay === "feed" ? feed : players));
  } else {
    fill(app, h("main", { class: format.charts ? "player wide" : "player" },
      bar(replay, live, share, inspect, keysButton),
      h("div", { class: "stage" }, canvas, notice, heated, pointed.element, tools),
      h("aside", { class: "side", "aria-label": "Players and events" },
        h("section", { class: "people" }, heads, players),
        format.charts && charts.element,
        tabs.element, ...listed.map(([, section]) => section),
        ...[...replay.doubts, unmapped && `The map “${replay.mapName}” is in no directory of this daemon, so the game is drawn without it.`].map((text) => text && h("p", { class: "doubt", role: "note" }, text)), ground,
        h("details", { class: "about" }, h("summary", {}, "About this game"), facts(replay))),
      h("footer", { class: "transport" },
        timeline.element,
        h("div", { class: "controls" },
          h("button", { type: "button", "aria-label": "One tick back (,)", onclick: () => step(-1) }, icon("stepBack")),
          play,
          h("button", { type: "button", "aria-label": "One tick on (.)", onclick: () => step(1) }, icon("stepOn")),
          clock, speed)),
      inspector.element, help));
    steer(canvas, scene, (id) => id !== undefined && follow(scene.followed === id ? undefined : id));
  }

  const open = (yes: boolean) => {
    inspector.element.hidden = !yes;
    inspect.setAttribute("aria-expanded", String(yes));
    inspector.update(true);
  };
  const toggle = () => {
    if (!game.playing && game.tick >= game.last && !game.grows) game.seek(0);
    game.playing = !game.playing;
    game.live &&= game.playing;
    if (!game.playing) address();
  };
  const to = (tick: number) => {
    game.seek(tick);
    address();
  };
  const step = (ticks: number) => {
    game.playing = game.live = false;
    to(Math.floor(game.tick) + ticks);
  };
  const jump = (seconds: number) => to(Math.floor(game.tick + seconds * game.ticksPerSecond));
  const follow = (id: number | undefined) => {
    scene.follow(id);
    if (id !== undefined) whose.value = String(id);
    address();
  };
  const all = () => {
    scene.showAll();
    follow(undefined);
  };
  /** Updates the address so that it leads to the current view. */
  const address = () => {
    const url = new URL(location.href);
    url.searchParams.delete("tick");
    url.searchParams.delete("player");
    if (!game.live) url.searchParams.set("tick", String(Math.floor(game.tick)));
    if (scene.followed !== undefined) url.searchParams.set("player", String(scene.followed));
    keep(url);
  };
  /** Records where the game is in the browser's history. */
  const keep = (url: URL | string = location.href) => {
    const { playing, live, speed } = game;
    if (!overlay) history.replaceState({ tick: Math.floor(game.tick), playing, live, speed } satisfies Kept, "", url);
  };

  /** Goes on to the next heat map that has something, and says what it is. */
  const warmer = () => {
    do scene.heat = heats[(heats.indexOf(scene.heat) + 1) % heats.length];
    while (scene.heat && !game.told.dots.some(({ died }) => (died ?? false) === (scene.heat === heats[2])));
    rename(warmth, scene.heat || "Heat map (h)");
    warmth.setAttribute("aria-pressed", String(scene.heat !== ""));
    say(heated, scene.heat);
  };
  /** Saves what is seen of the game. */
  const picture = () => canvas.toBlob((blob) => {
    const link = h("a", { href: URL.createObjectURL(blob!), download: `${title} ${timeText(game.tick / game.ticksPerSecond).replaceAll(":", ".")}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  const keys: Record<string, () => void> = {
    " ": toggle, k: toggle, l: () => game.grows && game.goLive(), h: warmer, p: picture, d: () => (scene.withDesign = !scene.withDesign), i: () => open(inspector.element.hidden), ",": () => step(-1), ".": () => step(1),
    ArrowLeft: () => jump(-5), ArrowRight: () => jump(5), Home: () => to(0), End: () => to(Infinity),
    "+": () => scene.zoom(1.25), "-": () => scene.zoom(0.8), "0": all,
    "<": () => faster(-1), ">": () => faster(1), "?": () => help.showModal(),
  };
  const pace = (times: number | undefined) => {
    if (!times) return;
    game.speed = times;
    game.live &&= times === 1;
    speed.value = String(times);
  };
  const faster = (by: number) => pace(speeds[speeds.indexOf(game.speed) + by]);
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.metaKey || event.ctrlKey || event.altKey || help.open || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (event.key === " " && /^(BUTTON|SUMMARY|A)$/.test(target.tagName)) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }, { signal });

  /** Whether what a list shows is not what it showed before. */
  const shown = new Map<unknown, string>();
  const changes = (list: unknown, ...state: unknown[]) => shown.get(list) !== shown.set(list, JSON.stringify(state)).get(list);
  /** Draws the lists that have changed. */
  const lists = () => {
    const tick = Math.floor(game.tick);
    const people = format.people(game.world, tick);
    const sides = format.sides?.(game.world, tick) ?? [];
    if (changes(players, people, sides, scene.followed)) {
      heads.textContent = people.length === 1 ? "1 player" : `${people.length} players`;
      update(players, ...(sides.length > 0
        ? sides.flatMap((side) => [
          h("li", { class: "side-head" }, dot(side.colour), h("strong", {}, side.name), side.score !== undefined && h("span", { class: "score" }, side.score)),
          ...people.filter(({ team }) => team === side.team).map(row),
        ])
        : people.map(row)));
    }
    const all = game.newsUntil(tick);
    const past = all.filter(({ kind }) => kind !== "build").slice(-60);
    const latest = overlay ? past.filter((news) => news.tick > tick - overlaid.seconds * game.ticksPerSecond).slice(-overlaid.most) : past;
    if (changes(feed, latest, !overlay && [all.length, game.world.from, game.told.covered < tick, people.map(({ name }) => name)])) {
      update(feed, ...keyed(latest.map((news) => [`${news.tick} ${news.kind} ${news.client} ${news.text}`, entry(news)])));
      feedEnd();
    }
    if (format.draft && !overlay) drafts(format.draft(game.told.marks), sides);
    if (!format.builds || overlay) return;
    const orders = all.filter(({ kind }) => kind === "build").sort((a, b) => begun(a) - begun(b));
    const ids = people.map(({ id }) => String(id));
    tabs.show(bought, orders.some(({ client }) => ids.includes(String(client))));
    if (!changes(builds, orders.length, ids, whose.value)) return;
    whose.hidden = people.length <= sideBySide;
    const chosen = ids.includes(whose.value) ? whose.value : ids[0];
    fill(whose, ...people.map(({ id, name }) => h("option", { value: String(id), selected: String(id) === chosen }, name)));
    update(builds, ...keyed(people.filter(({ id }) => whose.hidden || String(id) === chosen).map(({ id, name, colour }) => [String(id), h("div", { class: "order" }, h("h3", {}, dot(colour), name),
      h("ol", {}, ...keyed(grouped(orders.filter((news) => news.client === id)).slice(-60).map(([news, count]) => [`${begun(news)} ${news.text}`, h("li", {},
        when(begun(news)), h("span", {}, count > 1 ? `${news.text} ×${count}` : news.text))]))))])));
    buildsEnd();
  };
  const drafts = (choices: Choice[], sides: readonly Side[]) => {
    if (!changes(draft, choices)) return;
    tabs.show(draft, choices.length > 0);
    const teams = [...new Set(choices.map(({ team }) => team))].sort((a, b) => (a || 9) - (b || 9)); // those whose side is not known come last
    fill(draft, h("div", { class: "builds", tabIndex: 0, role: "group", "aria-label": "Bans and picks" }, ...teams.map((team) => {
      const side = sides.find((one) => one.team === team);
      return h("div", { class: "order" }, side && h("h3", {}, dot(side.colour), side.name),
        h("ol", {}, ...choices.filter((one) => one.team === team).map(({ hero, pick, tick }) => h("li", {},
          tick === undefined ? h("span") : when(tick),
          h("span", { class: pick ? "" : "quiet" }, pick ? hero : `${hero} banned`)))));
    })));
  };
  const begun = (news: News) => news.began ?? news.tick;
  /** A button that goes to a tick. */
  const when = (tick: number) => {
    const time = timeText(tick / game.ticksPerSecond);
    return h("button", { type: "button", class: "when", "aria-label": `Go to ${time}`, onclick: () => go(tick) }, time);
  };
  const dot = (colour: string) => h("span", { class: "dot", style: { background: colour } });
  const row = (one: Person) => {
    const health = h("span", { class: "health", "aria-hidden": "true" }, h("span", { style: { width: `${Math.round((one.health ?? 0) * 100)}%` } }));
    const parts = [dot(one.colour), h("span", { class: "who" }, h("span", { class: "name" }, one.name), one.note && h("span", { class: "team" }, one.note)),
      one.health !== undefined && health, one.value !== undefined && h("span", { class: "value" }, one.value)];
    if (overlay) return h("li", { class: one.here ? "shown" : "shown gone" }, ...parts);
    return h("li", {}, h("button", {
      type: "button", "data-client": one.id, "aria-pressed": String(scene.followed === one.id), title: one.carried ? `Follow · ${one.carried}` : "Follow",
      class: one.here ? "" : "gone", onclick: () => follow(scene.followed === one.id ? undefined : one.id),
    }, ...parts));
  };
  const entry = (news: News) => {
    const known = news.client >= 0 ? format.person(game.world, news.client, news.tick) : undefined;
    const name = news.name || known?.name || "";
    const who = h("b", {}, name);
    if (known) who.style.setProperty("--who", known.colour);
    return h("li", { class: `news-${news.kind}` }, !overlay && when(begun(news)),
      h("p", {}, name && who, news.kind === "chat" ? `: ${news.text}` : ` ${news.text}`));
  };

  /** Why nothing has been seen for a second, in one sentence: what could not be decoded, if the replay told it. */
  let seen = performance.now(); // when something was
  const missing = () => {
    const why = format.missing?.(game.world, Math.floor(game.tick));
    if (!why) seen = performance.now();
    return !why || performance.now() - seen < 1000 ? "" : (game.told.marks.find(({ kind }) => kind === "fault")?.text || why);
  };

  const controls = () => {
    const own = format.clock?.(game.world, game.tick);
    const times = [...(own ? [`${own} ·`] : []), timeText(game.tick / game.ticksPerSecond), `/ ${timeText(game.last / game.ticksPerSecond)}`];
    if (clock.textContent !== times.join(" ")) fill(clock, ...times.flatMap((text) => [h("span", {}, text), " "]).slice(0, -1)); // breaks at a space where it is narrow
    if (changes(play, game.playing)) {
      fill(play, icon(game.playing ? "pause" : "play"));
      rename(play, game.playing ? "Pause (space)" : "Play (space)");
    }
    say(ground, scene.note);
    live.classList.toggle("on-air", game.live);
    say(live, !game.grows ? "" : game.live ? `LIVE ${game.delay} ms` : "GO LIVE");
    say(notice, game.failure ? `The game cannot be read: ${errorText(game.failure)}`
      : game.away ? "The daemon is away. Waiting for it …"
      : !game.ready ? "Loading …"
      : missing());
  };

  const watched = overlay ? app.querySelector<HTMLElement>("main")! : canvas; // it says what is shown
  let before = performance.now();
  let nextLists = 0;
  let nextKept = before + 1000;
  let wasReady = false;
  let surveyed = false;
  const frame = (now: number) => {
    if (signal.aborted) return game.close();
    const passed = Math.min(now - before, 250);
    before = now;
    game.advance(passed);
    // The lists cost more than a picture does, so they are drawn less often, but at once when the replay is ready.
    const lazy = now >= nextLists || game.ready !== wasReady;
    if (!overlay) scene.draw(passed); // first, because it asks for its size, for which the lists would have to be laid out
    if (game.playing && now >= nextKept) {
      nextKept = now + 1000;
      keep();
    }
    if (lazy) {
      nextLists = now + 150;
      wasReady = game.ready;
      lists();
    }
    if (!overlay) {
      timeline.draw();
      if (lazy) {
        timeline.tell();
        controls();
        charts.draw();
        pointed.draw();
      }
      inspector.update();
    }
    if (!surveyed && ((game.ready && scene.whole) || game.failure !== undefined)) { // only then, so that the first picture is there sooner
      surveyed = true;
      game.survey().catch(() => {}); // the game plays without it, too
    }
    const { dataset } = watched;
    const [tick, ready] = [String(Math.floor(game.tick)), String(game.ready && scene.whole)];
    if (dataset["tick"] !== tick) dataset["tick"] = tick;
    if (dataset["ready"] !== ready) dataset["ready"] = ready;
    requestAnimationFrame(frame);
  };

  const kept = overlay ? {} : (history.state ?? {}) as Kept;
  const tick = kept.live ? null : kept.tick ?? asked.get("tick");
  const one = asked.get("player");
  if (one !== null && Number.isInteger(Number(one))) scene.follow(Number(one));
  if (tick !== null && Number.isFinite(Number(tick))) {
    game.last = Math.max(game.last, Number(tick));
    game.seek(Number(tick));
    game.playing = kept.playing ?? false;
  } else if (replay.state === ReplayState.GROWING) game.goLive();
  else {
    game.seek(0);
    game.playing = overlay !== undefined || !matchMedia("(prefers-reduced-motion: reduce)").matches;
  }
  game.speed = kept.live ? 1 : kept.speed ?? 1;
  speed.value = String(game.speed);
  addEventListener("pagehide", () => keep(), { signal });
  signal.addEventListener("abort", () => game.close());
  requestAnimationFrame(frame);
}

/** Gives elements their keys, for update. Equal keys are numbered. */
function keyed(elements: [key: string, element: HTMLElement][]): HTMLElement[] {
  const known = new Map<string, number>();
  return elements.map(([key, element]) => {
    const count = known.get(key) ?? 0;
    known.set(key, count + 1);
    element.dataset["key"] = count ? `${key} ${count}` : key;
    return element;
  });
}

/** Groups consecutive news with the same text, and counts them. */
function grouped(orders: News[]): [News, number][] {
  const groups: [News, number][] = [];
  for (const news of orders) {
    const last = groups.at(-1);
    if (last?.[0].text === news.text) last[1]++;
    else groups.push([news, 1]);
  }
  return groups;
}
