// A program with type errors. Only the lines after an expect-error have one.

import { type Client, EntityState, Format, type Kind, ReplayView } from "../src/node.js";

export async function program(client: Client): Promise<void> {
  const kinds: Kind[] = ["player_diff", "join", "tile_layer", "cmd_update_target_point", "joinver6"];
  client.events("r/x", { kinds, players: [1], tick: 5, withState: true });
  client.events("r/x", { kinds: EntityState.kinds });
  client.events("r/x", { include: [{ kinds: ["a kind of a newer daemon"] }] });
  // @ts-expect-error a kind
  client.events("r/x", { kinds: ["joins"] });
  // @ts-expect-error a kind as the generated code has it
  client.events("r/x", { kinds: ["playerDiff"] });
  // @ts-expect-error an option
  client.events("r/x", { kind: ["join"] });
  for await (const event of client.events("r/x")) {
    if (event.kind === "player_diff" || event.kind === "") console.log(event.tick);
    // @ts-expect-error a kind
    if (event.kind === "plyer_diff") console.log(event.tick);
  }
  client.replays("r", { formats: [Format.DEM], view: ReplayView.FULL, filter: { mapName: "x*" }, pageSize: 10 });
  // @ts-expect-error a field of a filter
  client.replays("r", { filter: { map: "x" } });
}
