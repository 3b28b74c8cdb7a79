// Shows the positions of all players on a live DDNet server, as a table in the terminal.
//
//     node positions.mjs server1/teehistorian [localhost:7171]
//
// It continues with the next game when the map changes, and resumes when the daemon restarts. For a finished replay it shows the
// positions at the end.

import { connect } from "@replayd/client";

const [replay, address = "localhost:7171"] = process.argv.slice(2);
if (!replay) {
  console.error("usage: node positions.mjs REPLAY [ADDRESS]");
  process.exit(2);
}

const tile = 32; // world units
const players = new Map(); // by client id
const player = (id) => {
  if (!players.has(id)) players.set(id, { name: `player ${id}`, alive: false });
  return players.get(id);
};

function learn({ kind, tick, value }) {
  switch (kind) {
    case "player_state":
      Object.assign(player(value.clientId), { name: value.name, alive: value.alive, x: value.x, y: value.y });
      break;
    case "player_name":
      player(value.clientId).name = value.name;
      break;
    case "message":
      if (value.content.case === "startInfo") player(value.clientId).name = value.content.value.name;
      break;
    case "player_new":
    case "player_diff":
      Object.assign(player(value.clientId), { alive: true, x: value.x, y: value.y, moved: tick });
      break;
    case "player_old":
      player(value.clientId).alive = false;
      break;
    case "drop":
      players.delete(value.clientId);
  }
}

function table(stream, tick) {
  const time = new Date((tick * 1000) / (stream.replay.ticksPerSecond || 50)).toISOString().slice(11, 19);
  const rows = [...players].sort(([a], [b]) => a - b).map(([id, { name, alive, x, y, moved }]) => {
    const where = alive ? `${(x / tile).toFixed(1).padStart(8)} ${(y / tile).toFixed(1).padStart(8)}` : "       -        -";
    return `${String(id).padStart(3)}  ${name.padEnd(16)} ${where}  ${alive && tick - moved < 25 ? "moves" : ""}`;
  });
  return [`${stream.replay.mapName}  ${time}`, ` id  ${"name".padEnd(16)}   x/tile   y/tile`, ...rows].join("\n");
}

const client = connect(address);
const stream = client.batches(replay, {
  kinds: ["player_name", "message", "player_new", "player_diff", "player_old", "drop"],
  now: true,
  withState: true, // the current positions
  follow: true,
  followSuccessors: true,
  maxBatchDelay: 100,
});
const live = process.stdout.isTTY;
let tick = 0;
let game;
for await (const batch of stream) {
  if (game !== stream.replay.name) {
    game = stream.replay.name;
    players.clear();
  }
  for (const event of batch) {
    learn(event);
    tick = event.tick;
  }
  if (live) process.stdout.write(`\x1b[H\x1b[2J${table(stream, tick)}\n`);
}
if (!live) console.log(table(stream, tick));
client.close();
