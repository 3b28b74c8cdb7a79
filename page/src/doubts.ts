// What is uncertain about a replay, in words.

import { Format, type Replay } from "@replayd/client";
import { TableMatch } from "@replayd/client/gen/replayd/sc2replay/v1/events_pb.js";

/** Says why events or names may be wrong, and what is missing. It is empty when nothing is uncertain. */
export function doubts({ format, header, mapName, mapReplay }: Pick<Replay, "format" | "header" | "mapName" | "mapReplay">): string[] {
  const found: string[] = [];
  if (format === Format.TEEHISTORIAN && !mapReplay) found.push(`The map “${mapName}” is in no directory of this daemon, so the game is drawn without it.`);
  const info = header.case === "sc2replay" ? header.value.start?.decodeInfo : undefined;
  if (!info) return found;
  if (info.match === TableMatch.NEAREST || info.match === TableMatch.FITTED) {
    found.push(`Build ${info.baseBuild} of the game is unknown: it is read like build ${info.tableBuild}.`);
  }
  if (info.unproven) found.push("It does not fit: orders and selections may be false.");
  if (info.names?.buildGuessed) found.push(`Names of orders are guesses, from build ${info.names.build}.`);
  else if (info.names?.expansionGuessed) found.push(`Names of orders are guesses, as of ${info.names.expansion}.`);
  return found;
}
