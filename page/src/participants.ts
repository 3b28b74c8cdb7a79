// The list of everybody who took part in a game.
import { Format, type Participant, type Replay } from "@replayd/client";
import { h, timeText } from "./dom.js";
import { client } from "./net.js";

/** A list of everybody who took part in a game of a DDNet server, which is asked for when it is opened. Undefined for other replays. */
export function participants(replay: Replay): HTMLElement | undefined {
  if (replay.format !== Format.TEEHISTORIAN) return undefined;
  const list = h("ul", { class: "participants" });
  const fill = async () => {
    const all = await client.participants(replay.name).catch(() => []);
    list.replaceChildren(...(all.length ? all.map((one) => line(one)) : [h("li", {}, "Nobody that is known yet")]));
  };
  const element = h("details", { class: "about", ontoggle: () => { if ((element as HTMLDetailsElement).open) void fill(); } },
    h("summary", {}, "Who took part"), list);
  return element;
}

/** A participant: names, when, and what is known besides. */
function line(one: Participant): HTMLElement {
  const at = (tick: number) => timeText(tick / 50);
  const more = [
    one.clan, ...one.roles, ...one.teams.map((team) => `team ${team}`),
    one.finishCount > 0 ? `${one.finishCount} ${one.finishCount === 1 ? "finish" : "finishes"}` : "", one.leaveReason,
  ].filter(Boolean).join(" · ");
  return h("li", {}, h("strong", {}, one.names.join(" → ") || `client ${one.clientId}`),
    ` ${at(one.fromTick ?? 0)} – ${one.toTick === undefined ? "end" : at(one.toTick)}`, more && h("small", {}, ` ${more}`));
}
