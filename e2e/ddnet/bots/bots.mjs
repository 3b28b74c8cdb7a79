// Bots for a real DDNet server, driven by lines on stdin:
//
//   BOT COMMAND [ARGUMENT...]
//
// The answer to each line is "ok" or "error: REASON" on stdout, in order. It is
// sent when the command is done, as far as the client knows. BOT is the name
// that the player joined with. "*" means every bot in the game. Lines on stderr
// are for humans.
//
// Usage: node bots.mjs HOST PORT

import { createInterface } from "node:readline";
import teeworlds from "teeworlds";

import { Sixup } from "./sixup.mjs";

const [host, port] = process.argv.slice(2);
const joinTimeout = 15_000;

/** The bots that joined and have not left, by the name that they joined with. */
const bots = new Map();

/** A small linear congruential generator, so that bots wander in the same way in each run. */
function random(seedText) {
  let state = 0;
  for (const char of seedText) state = (state * 31 + char.charCodeAt(0)) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

class Bot {
  constructor(name) {
    this.name = name;
    this.random = random(name);
    this.identity = {
      name,
      clan: "replayd",
      country: -1,
      skin: "default",
      use_custom_color: 0,
      color_body: 0,
      color_feet: 0,
    };
    this.client = new teeworlds.Client(host, Number(port), name, { identity: this.identity });
  }

  join() {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no connection in time")), joinTimeout);
      this.client.once("connected", () => {
        clearTimeout(timer);
        resolve();
      });
      this.client.on("disconnect", (reason, fromServer) => {
        clearTimeout(timer);
        this.wander("off");
        this.race("off");
        bots.delete(this.name);
        if (fromServer) console.error(`${this.name}: dropped by the server: ${reason}`);
        reject(new Error(`disconnected: ${reason}`));
      });
      this.client.connect().catch(reject);
    });
  }

  leave() {
    return this.client.Disconnect();
  }

  /** Moves at random, several times a second, until the "wander off" command. */
  wander(state) {
    clearInterval(this.wandering);
    if (state !== "on") {
      this.client.movement.RunStop();
      return;
    }
    this.wandering = setInterval(() => {
      const { movement } = this.client;
      switch (this.random(7)) {
        case 0: movement.RunLeft(); break;
        case 1: movement.RunRight(); break;
        case 2: movement.RunStop(); break;
        case 3: movement.Jump(movement.input.m_Jump === 0); break;
        case 4: movement.Hook(movement.input.m_Hook === 0); break;
        case 5: movement.Fire(); break;
        default: movement.SetAim(this.random(400) - 200, this.random(400) - 200);
      }
    }, 150);
  }

  /** Runs to the right, over whatever is in the way, until the "race off" command. Each begins anew after some 13 s. */
  race(state) {
    clearInterval(this.racing);
    if (state === "off") return;
    let turn = 0;
    this.racing = setInterval(() => {
      const { movement } = this.client;
      turn++;
      const tired = turn % 160 > 153; // a second each sixteen
      if (tired) movement.RunLeft();
      else movement.RunRight();
      movement.Jump(this.random(3) === 0);
      if (this.random(4) === 0) {
        movement.SetAim(80 + this.random(160), -120 - this.random(100));
        movement.Hook(this.random(3) > 0);
      }
      if (this.random(130) === 0) this.client.game.Kill();
    }, 100);
  }

  callVote(type, value, reason) {
    this.client.game.CallVote(type, value, reason);
  }

  vote(yes) {
    this.client.game.Vote(yes);
  }

  rename(name) {
    this.identity.name = name;
    this.client.game.ChangePlayerInfo(this.identity);
  }
}

/** The commands of bots. Each takes the bot and the words after the command. */
const commands = {
  leave: (bot) => bot.leave(),
  left: (bot) => bot.client.movement.RunLeft(),
  right: (bot) => bot.client.movement.RunRight(),
  stop: (bot) => bot.client.movement.RunStop(),
  jump: (bot, state) => bot.client.movement.Jump(state !== "off"),
  hook: (bot, state) => bot.client.movement.Hook(state !== "off"),
  fire: (bot) => bot.client.movement.Fire(),
  weapon: (bot, number) => bot.client.movement.WantedWeapon(Number(number)),
  aim: (bot, x, y) => bot.client.movement.SetAim(Number(x), Number(y)),
  wander: (bot, state) => bot.wander(state),
  race: (bot, state) => bot.race(state),
  say: (bot, ...words) => bot.client.game.Say(words.join(" ")),
  rename: (bot, ...words) => bot.rename(words.join(" ")),
  team: (bot, number) => bot.client.game.SetTeam(Number(number)),
  spectate: (bot, id) => bot.client.game.SpectatorMode(Number(id)),
  emote: (bot, number) => bot.client.game.Emote(Number(number)),
  kill: (bot) => bot.client.game.Kill(),
  callvote: (bot, type, value, ...reason) => bot.callVote(type, value, reason.join(" ")),
  vote: (bot, answer) => bot.vote(answer === "yes"),
  login: (bot, password) => bot.client.rcon.auth(password),
  rcon: (bot, ...words) => bot.client.rcon.rcon(words.join(" ")),
};

async function run(line) {
  const [name, command, ...args] = line.trim().split(/\s+/);
  if (command === "join" || command === "join7") {
    if (bots.has(name)) throw new Error(`${name} is in the game already`);
    const bot = command === "join" ? new Bot(name) : new Sixup(host, Number(port), name);
    await bot.join();
    bots.set(name, bot);
    return;
  }
  const act = commands[command];
  if (!act) throw new Error(`no such command: ${command}`);
  const told = name === "*" ? [...bots.values()] : [bots.get(name)];
  if (told.includes(undefined)) throw new Error(`${name} is not in the game`);
  await Promise.all(told.map((bot) => act(bot, ...args)));
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    await run(line);
    console.log("ok");
  } catch (error) {
    console.log(`error: ${error.message}`);
  }
}
process.exit(0);
