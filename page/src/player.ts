// Plays a game.

import type { Replay } from "@replayd/client";
import { ReplayState } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { baseOf, fill, h, icon, timeText } from "./dom.js";
import { Game } from "./game.js";
import { facts, Inspector } from "./inspector.js";
import { GameMap } from "./map.js";
import { client } from "./net.js";
import { Scene } from "./scene.js";
import { colourOf } from "./theme.js";
import { Timeline } from "./timeline.js";
import type { News, World } from "./world.js";

const speeds = [0.25, 0.5, 1, 2, 4, 8, 16, 32];

/** The line on top of every view of a replay. */
export function bar(replay: Replay, ...more: (HTMLElement | false)[]): HTMLElement {
  const { header } = replay;
  const server = header.case === "teehistorian" ? header.value.serverName : "";
  const date = replay.startTime ? new Date(Number(replay.startTime.seconds) * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "";
  return h("header", { class: "topbar" },
    h("a", { class: "back", href: "/", "aria-label": "All replays" }, icon("back")),
    h("div", { class: "heading" }, h("h1", {}, replay.mapName || baseOf(replay.name)),
      h("p", { class: "quiet" }, [server, date].filter(Boolean).join(" · ") || replay.name)),
    ...more);
}

/** Shows a replay for which there is no player: what is known of it, and its events. */
export function factsView(app: HTMLElement, replay: Replay, elsewhere = true): void {
  const inspector = new Inspector(replay, undefined, elsewhere);
  document.title = `${replay.mapName || baseOf(replay.name)} · replayd`;
  fill(app, h("main", { class: "sheet" }, bar(replay), facts(replay), inspector.element));
  inspector.update(true);
}

/** Lets a picture be moved by mouse, fingers and keys. */
export function steer(canvas: HTMLCanvasElement, scene: Scene, game: Game, picked: (id: number | undefined) => void): void {
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
    if (fingers.delete(event.pointerId) && moved <= 5 && event.type === "pointerup") picked(scene.pick(game, event.offsetX, event.offsetY));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    scene.zoom(Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 400)), event.offsetX, event.offsetY);
  }, { passive: false });
}

/** Shows a teehistorian; one that this tab has loaded, or one of the daemon's. */
export function player(app: HTMLElement, signal: AbortSignal, replay: Replay, loaded?: World): void {
  const game = new Game(replay, loaded);
  const asked = new URL(location.href).searchParams;
  document.title = `${replay.mapName || baseOf(replay.name)} · replayd`;

  const canvas = h("canvas", { class: "scene", role: "img", "aria-label": "The game", tabIndex: 0 });
  const scene = new Scene(canvas);
  const timeline = new Timeline(game, (tick) => { game.seek(tick); scene.reset(); address(); });
  const inspector = new Inspector(replay, () => game.tick, !loaded);
  const notice = h("p", { class: "notice", role: "status", hidden: true });
  const players = h("ul", { class: "players" });
  const feed = h("ol", { class: "feed", tabIndex: 0, "aria-label": "What happened" });
  const clock = h("span", { class: "clock" });
  const play = h("button", { type: "button", class: "round", onclick: () => toggle() });
  const live = h("button", { type: "button", class: "pill", hidden: true, title: "Go to what happens now (L)", onclick: () => game.goLive() });
  const speed = h("select", { "aria-label": "Speed", onchange: () => { game.speed = Number(speed.value); if (game.speed !== 1) game.live = false; } },
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
  inspector.element.id = "inspector";
  inspector.element.hidden = true;
  const tools = h("div", { class: "zoom" },
    h("button", { type: "button", "aria-label": "Closer", onclick: () => scene.zoom(1.4) }, icon("plus")),
    h("button", { type: "button", "aria-label": "Farther", onclick: () => scene.zoom(1 / 1.4) }, icon("minus")),
    h("button", { type: "button", "aria-label": "Show everybody", onclick: () => { scene.automatic = true; follow(undefined); } }, icon("frame")));

  fill(app, h("main", { class: "player" },
    bar(replay, live, !loaded && share, inspect),
    h("div", { class: "stage" }, canvas, notice, tools),
    h("aside", { class: "side", "aria-label": "Players and events" },
      h("section", { class: "people" }, heads, players),
      h("section", { class: "news" }, h("h2", {}, "What happened"), feed),
      h("details", { class: "about" }, h("summary", {}, "About this game"), facts(replay))),
    h("footer", { class: "transport" },
      timeline.element,
      h("div", { class: "controls" },
        h("button", { type: "button", "aria-label": "One tick back (,)", onclick: () => step(-1) }, icon("stepBack")),
        play,
        h("button", { type: "button", "aria-label": "One tick on (.)", onclick: () => step(1) }, icon("stepOn")),
        clock, speed)),
    inspector.element));

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
  const step = (ticks: number) => {
    game.playing = game.live = false;
    game.seek(Math.floor(game.tick) + ticks);
    address();
  };
  const jump = (seconds: number) => {
    game.seek(Math.floor(game.tick + seconds * game.ticksPerSecond));
    address();
  };
  const follow = (id: number | undefined) => {
    scene.followed = id;
    if (id !== undefined) scene.camera.scale = Math.max(scene.camera.scale, 0.9);
    told = "";
    address();
  };
  /** Has the address lead to what is shown. */
  const address = () => {
    if (loaded) return;
    const url = new URL(location.href);
    url.search = "";
    if (!game.live) url.searchParams.set("tick", String(Math.floor(game.tick)));
    if (scene.followed !== undefined) url.searchParams.set("player", String(scene.followed));
    history.replaceState(null, "", url);
  };

  const keys: Record<string, () => void> = {
    " ": toggle, k: toggle, l: () => game.grows && game.goLive(), i: () => open(inspector.element.hidden), ",": () => step(-1), ".": () => step(1),
    ArrowLeft: () => jump(-5), ArrowRight: () => jump(5), Home: () => { game.seek(0); address(); }, End: () => { game.seek(game.last); address(); },
    "+": () => scene.zoom(1.25), "-": () => scene.zoom(0.8), "0": () => { scene.automatic = true; follow(undefined); },
    "<": () => faster(-1), ">": () => faster(1),
  };
  const faster = (by: number) => {
    const index = speeds.indexOf(game.speed) + by;
    if (!speeds[index]) return;
    game.speed = speeds[index];
    if (game.speed !== 1) game.live = false;
    speed.value = String(game.speed);
  };
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.metaKey || event.ctrlKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (event.key === " " && /^(BUTTON|SUMMARY|A)$/.test(target.tagName)) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }, { signal });

  /** Draws the lists, where they have changed. */
  let told = "";
  let newest = "";
  const lists = () => {
    const tick = Math.floor(game.tick);
    const here = [...game.world.clients.values()].filter((one) => one.joined.at(tick) || (one.joined.at(tick) === undefined && one.places.at(tick)))
      .sort((a, b) => (a.teams.at(tick) ?? 0) - (b.teams.at(tick) ?? 0) || a.id - b.id);
    const state = here.map((one) => [one.id, one.nameAt(tick), one.teams.at(tick), one.places.at(tick) !== undefined].join()).join("|") + scene.followed;
    if (state !== told) {
      told = state;
      const focused = (document.activeElement as HTMLElement | null)?.dataset["client"];
      heads.textContent = here.length === 1 ? "1 player" : `${here.length} players`;
      fill(players, ...here.map((one) => {
        const dot = h("span", { class: "dot" });
        dot.style.background = colourOf(one.id);
        const team = one.teams.at(tick) ?? 0;
        return h("li", {}, h("button", {
          type: "button", "data-client": one.id, "aria-pressed": String(scene.followed === one.id), title: "Follow",
          class: one.places.at(tick) ? "" : "gone", onclick: () => follow(scene.followed === one.id ? undefined : one.id),
        }, dot, h("span", { class: "name" }, one.nameAt(tick)), team > 0 && h("span", { class: "team" }, `team ${team}`),
        !one.places.at(tick) && h("span", { class: "team" }, "not in game")));
      }));
      if (focused !== undefined) players.querySelector<HTMLElement>(`[data-client="${focused}"]`)?.focus();
    }
    const past = (game.world.from === 0 ? game.world.news : [...game.marks.filter((mark) => mark.tick < game.world.from), ...game.world.news])
      .filter((news) => news.tick <= tick).slice(-60);
    const latest = `${past.length},${past.at(-1)?.tick},${past[0]?.tick},${game.world.from},${here.map((one) => one.nameAt(tick)).join()}`;
    if (latest !== newest) {
      newest = latest;
      const stay = feed.scrollTop + feed.clientHeight < feed.scrollHeight - 30;
      fill(feed, ...past.map((news) => entry(news)));
      if (!stay) feed.scrollTop = feed.scrollHeight;
    }
  };
  const entry = (news: News) => {
    const name = news.client >= 0 ? (game.world.clients.get(news.client)?.nameAt(Math.max(news.tick, game.world.from)) ?? `#${news.client}`) : "";
    const who = h("b", {}, name);
    if (news.client >= 0) who.style.setProperty("--who", colourOf(news.client));
    return h("li", { class: `news-${news.kind}` }, h("button", {
      type: "button", class: "when", "aria-label": `Go to ${timeText(news.tick / game.ticksPerSecond)}`,
      onclick: () => { game.seek(news.tick); address(); },
    }, timeText(news.tick / game.ticksPerSecond)), h("p", {}, name && who, news.kind === "chat" ? `: ${news.text}` : ` ${news.text}`));
  };

  let shownPlaying: boolean | undefined;
  const controls = () => {
    clock.textContent = `${timeText(game.tick / game.ticksPerSecond)} / ${timeText(game.last / game.ticksPerSecond)}`;
    if (shownPlaying !== game.playing) {
      shownPlaying = game.playing;
      fill(play, icon(game.playing ? "pause" : "play"));
      play.setAttribute("aria-label", game.playing ? "Pause (space)" : "Play (space)");
    }
    live.hidden = !game.grows;
    live.classList.toggle("on-air", game.live);
    const text = game.live ? `LIVE ${game.delay} ms` : "GO LIVE";
    if (live.textContent !== text) live.textContent = text;
    const problem = game.failure ? `The game cannot be read: ${game.failure instanceof Error ? game.failure.message : String(game.failure)}`
      : !game.ready && game.playing ? "Loading …"
      : game.grows && !game.connected && game.reconnects > 0 ? "The daemon is away. Waiting for it …" : "";
    if (notice.textContent !== problem) notice.textContent = problem;
    notice.hidden = !problem;
  };

  let before = performance.now();
  let nextLists = 0;
  const frame = (now: number) => {
    if (signal.aborted) return game.close();
    const passed = Math.min(now - before, 250);
    before = now;
    if (canvas.isConnected) {
      game.advance(passed);
      scene.draw(game, passed);
      timeline.draw();
      if (now >= nextLists) {
        nextLists = now + 150;
        lists();
        controls();
      }
      inspector.update();
      canvas.dataset["tick"] = String(Math.floor(game.tick));
      canvas.dataset["ready"] = String(game.ready && (scene.map !== undefined || mapDone));
    }
    requestAnimationFrame(frame);
  };

  let mapDone = !replay.mapReplay;
  if (replay.mapReplay) {
    GameMap.load(client, replay.mapReplay, signal).then((map) => (scene.map = map)).catch(() => {}).finally(() => (mapDone = true));
  }
  game.loadMarks(signal, () => {}).catch(() => {}); // without them there is still the game
  const tick = asked.get("tick");
  const one = asked.get("player");
  if (one !== null && Number.isInteger(Number(one))) scene.followed = Number(one);
  if (tick !== null && Number.isFinite(Number(tick))) {
    game.last = Math.max(game.last, Number(tick));
    game.seek(Number(tick));
  } else if (replay.state === ReplayState.GROWING) game.goLive();
  else {
    game.seek(0);
    game.playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  }
  signal.addEventListener("abort", () => game.close());
  requestAnimationFrame(frame);
}
