// The report of a game: who took part, and how it stands or ended, as the daemon concludes it.

import type { Replay, Report } from "@replayd/client";
import { Result } from "@replayd/client/gen/replayd/sc2replay/v1/events_pb.js";
import { h, timeText, update } from "./dom.js";
import { words } from "./draft.js";
import { ask, client } from "./net.js";

/** A row of a table, by the titles of its columns. Columns without a value are left out. */
type Row = Record<string, string | number | undefined>;

/** The rows of a report, a player each. Times are reckoned with so many ticks in a second. */
export function rowsOf({ game }: Pick<Report, "game">, ticksPerSecond: number): Row[] {
  const at = (tick: number | undefined) => (tick === undefined ? undefined : timeText(tick / ticksPerSecond));
  switch (game.case) {
    case "teehistorian":
      return game.value.players.map(({ name, clan, best, finishCount, team, connected, ticks, stays }) => ({
        Player: name || `client ${stays[0]?.clientId}`, Clan: clan, Best: best && (best.time / 50).toFixed(2), Finishes: finishCount || undefined, Team: team || undefined,
        Came: at(stays[0]?.fromTick), Left: connected ? undefined : at(stays.at(-1)?.toTick), Played: at(Number(ticks)), Why: stays.at(-1)?.leaveReason,
      }));
    case "sc2replay":
      return game.value.players.map(({ name, race, result, mmr, apm, spendingQuotient, supplyCapped, workers, army, workersLost, armyLost, leftTick }) => ({
        Player: name, Race: race, Result: result ? Result[result].toLowerCase() : undefined, MMR: mmr, APM: apm && Math.round(apm), SQ: spendingQuotient,
        Capped: supplyCapped === undefined ? undefined : `${Math.round(100 * supplyCapped)}%`, Workers: workers || undefined, Army: army || undefined,
        "Workers lost": workersLost || undefined, "Army lost": armyLost || undefined, Left: at(leftTick),
      }));
    case "dem":
      if (game.value.players.length === 0) return (game.value.match?.players ?? []).map(({ playerName, heroName }) => ({ Player: playerName, Hero: words(heroName ?? "") }));
      return game.value.players.filter(({ team }) => (team ?? 2) > 1).map(({ name, hero, kills, deaths, assists, score, level, netWorth, wardsPlaced, rounds }) => ({
        Player: name, Hero: words(hero), Kills: kills, Deaths: deaths, Assists: assists, ADR: rounds && (rounds.damage / rounds.rounds).toFixed(1), Grenades: rounds?.grenades, Score: score, Level: level, "Net worth": netWorth, Wards: wardsPlaced || undefined,
      }));
  }
  return [];
}

/** How much longer than the last answer took to wait before the next report, and how long at least, in milliseconds. */
const rest = { times: 9, least: 1000 };

/**
 * The report of a game as it stood at the clock's tick, or without a clock at its end. It is asked for while it is shown, as often as the daemon
 * is quick. beside has the names of the two players who are shown side by side, if they are chosen.
 */
export function scoreboard(replay: Replay, signal: AbortSignal, tickOf: () => number | undefined): { element: HTMLElement; beside: () => readonly string[] } {
  const [table, both] = [h("table", {}), h("table", { class: "both", hidden: true })];
  let [told, next, asking, rows, chosen] = ["", 0, false, [] as Row[], [] as string[]];
  const choose = (name: string) => {
    chosen = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen.slice(-1), name];
    draw();
  };
  const draw = () => {
    const titles = [...new Set(rows.flatMap((row) => Object.keys(row).filter((title) => row[title] !== undefined && row[title] !== "")))];
    const text = (row: Row, title: string) => String(row[title] ?? "");
    update(table,
      h("tr", {}, ...(titles.length ? titles : ["Nobody that is known yet"]).map((title) => h("th", { scope: "col" }, title))),
      ...rows.map((row) => {
        const name = text(row, "Player");
        const button = h("button", { type: "button", "data-client": name, title: "Side by side with another one", "aria-pressed": String(chosen.includes(name)), onclick: () => choose(name) }, name);
        return h("tr", {}, h("th", { scope: "row" }, button), ...titles.slice(1).map((title) => h("td", {}, text(row, title))));
      }));
    const two = rows.filter((row) => chosen.includes(text(row, "Player")));
    both.hidden = two.length !== 2;
    if (both.hidden) return;
    update(both, h("tr", {}, h("td", {}), ...two.map((row) => h("th", { scope: "col" }, text(row, "Player")))), ...titles.slice(1).map((title) => {
      const [one, other] = two.map((row) => Number(row[title] ?? NaN));
      const more = [one > other, other > one];
      return h("tr", {}, h("th", { scope: "row" }, title), ...two.map((row, i) => h("td", {}, more[i] ? h("b", {}, text(row, title)) : text(row, title))));
    }));
  };
  const look = () => {
    const tick = tickOf();
    if (element.hidden || asking || String(tick) === told || performance.now() < next) return;
    [told, asking] = [String(tick), true];
    const began = performance.now();
    ask(() => client.report(replay.name, tick), signal).then((report) => { rows = rowsOf(report, replay.ticksPerSecond || 50); draw(); })
      .catch((error: unknown) => signal.aborted || table.replaceChildren(String(error))).finally(() => {
        asking = false;
        next = performance.now() + Math.max(rest.least, rest.times * (performance.now() - began));
      });
  };
  const timer = setInterval(look, 200);
  signal.addEventListener("abort", () => clearInterval(timer));
  const element = h("section", { class: "news report" }, h("div", { tabIndex: 0, role: "group", "aria-label": "Who took part" }, both, table));
  return { element, beside: () => (both.hidden ? [] : chosen) };
}
