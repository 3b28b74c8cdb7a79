// The players of a replay in a line.

import { type Player, PlayerResult } from "@replayd/client/gen/replayd/v1/replay_pb.js";

/** The players as a line, such as "Serral (Zerg) vs Maru (Terran), Serral won". */
export function lineupText(players: readonly Player[]): string {
  const named = players.filter(({ name }) => name);
  const sides = new Map<number, Player[]>();
  for (const player of named) {
    const side = player.team ?? -1;
    sides.set(side, [...(sides.get(side) ?? []), player]);
  }
  const few = named.length <= 4;
  const text = [...sides.values()].map((side) => side.map(({ name, character }) => (few && character ? `${name} (${character})` : name)).join(", "));
  const winners = named.filter(({ result }) => result === PlayerResult.WIN);
  const won = winners.length > 0 && winners.length < named.length ? `, ${winners.map(({ name }) => name).join(" and ")} won` : "";
  return text.join(sides.size === 2 ? " vs " : ", ") + won;
}
