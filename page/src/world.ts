// The state of a game from a teehistorian, kept for each tick of the loaded part.

import type { Event, Kind } from "@replayd/client";
import type { Point } from "./draw.js";
import { type News, World } from "./format.js";
import { Lazy } from "./lazy.js";
import { type Place, placeBetween, Steps } from "./steps.js";
import type { Event as TeeEvent, Input } from "@replayd/client/gen/replayd/teehistorian/v1/events_pb.js";

/** A client's state over time. */
export class Client {
  readonly places = new Steps<Place>();
  readonly inputs = new Steps<Input>();
  readonly names = new Steps<string>();
  readonly teams = new Steps<number>();
  /** Undefined behind damage, until a record names the client. */
  readonly joined = new Steps<boolean | undefined>();
  readonly shots = new Steps<true>();
  readonly deaths = new Steps<Point>();

  constructor(readonly id: number) {}

  nameAt(tick: number): string { return this.names.at(tick) || `#${this.id}`; }

  /** Records all that holds from a tick on. */
  is(tick: number, joined: boolean | undefined, name = "", team = 0, place?: Point): void {
    this.joined.push(tick, joined);
    this.names.push(tick, name);
    this.teams.push(tick, team);
    this.places.push(tick, place);
  }
}

/** Kinds of events that produce news or marks, and those that set the names in them. */
export const wholeKinds: Kind[] = [
  "join", "drop", "player_name", "fact_team", "fact_finish", "message", "fact_chat", "fact_death", "fact_save", "fact_load", "damage",
];

/** Kinds of events that TeeWorld uses. */
export const kinds: Kind[] = [...wholeKinds, "player_state", "player_diff", "player_new", "player_old", "input_diff", "input_new", "tick", "player_team"];

/** The loaded part of a game. */
export class TeeWorld extends World {
  readonly clients = new Lazy((id: number) => new Client(id));

  private input(tick: number, id: number, input: Input | undefined): void {
    if (!input) return;
    const { inputs, shots } = this.clients.of(id);
    const before = inputs.values.at(-1);
    // An odd count means that the button is pressed.
    if (before && before.fire !== input.fire && input.fire & 1) shots.push(tick, true);
    inputs.push(tick, input);
  }

  protected take({ event }: Event, tick: number): void {
    const { kind } = event as TeeEvent;
    const tell = (kind: News["kind"], client: number, text: string, name = this.clients.get(client)?.names.at(tick)) => {
      // The name is kept here, since another part of the game may be loaded when it is shown.
      this.news.push({ tick, kind, client, text, ...(name && { name }) });
    };
    switch (kind.case) {
      case "playerState": {
        const { clientId, joined, name, team, alive, x, y, input } = kind.value;
        this.clients.of(clientId).is(tick, joined, name, team, alive ? { x, y } : undefined);
        this.input(tick, clientId, input);
        break;
      }
      case "damage": // the players and their places are no longer known
        for (const client of this.clients.values()) client.is(tick, undefined);
        tell("command", -1, "A part of the recording is damaged");
        break;
      case "playerDiff": {
        const { clientId, x, y } = kind.value;
        if (x !== undefined && y !== undefined) this.clients.of(clientId).places.push(tick, { x, y });
        break;
      }
      case "playerNew":
        this.clients.of(kind.value.clientId).places.push(tick, { x: kind.value.x, y: kind.value.y });
        break;
      case "playerOld":
        this.clients.of(kind.value.clientId).places.push(tick, undefined);
        break;
      case "factDeath": {
        const { clientId, x, y, name } = kind.value;
        if (x !== undefined && y !== undefined) {
          this.clients.of(clientId).deaths.push(tick, { x, y });
          this.dots.push({ tick, id: clientId, x, y, died: true });
        }
        tell("death", clientId, "died", name);
        break;
      }
      case "samplePlayer": {
        const { x, y, clientId: id } = kind.value;
        if (x !== undefined && y !== undefined) this.dots.push({ tick, id, x, y });
        break;
      }
      case "inputNew":
      case "inputDiff":
        this.input(tick, kind.value.clientId, kind.value.input);
        break;
      case "join":
        this.clients.of(kind.value.clientId).is(tick, true);
        tell("join", kind.value.clientId, "joined");
        break;
      case "drop": {
        const { clientId, reason } = kind.value;
        const client = this.clients.of(clientId);
        tell("leave", clientId, reason ? `left (${reason})` : "left");
        client.joined.push(tick, false);
        client.places.push(tick, undefined);
        break;
      }
      case "playerName":
        this.named(tick, kind.value.clientId, kind.value.name);
        break;
      case "playerTeam":
        this.clients.of(kind.value.clientId).teams.push(tick, kind.value.team);
        break;
      case "factTeam":
        if (kind.value.team > 0) tell("team", kind.value.clientId, `is in team ${kind.value.team}`, kind.value.name);
        break;
      case "factFinish": {
        const { clientId = -1, team, name, seconds } = kind.value;
        tell("finish", clientId, `${clientId < 0 ? `Team ${team ?? "?"} ` : ""}finished in ${raceTime(seconds)}`, name);
        break;
      }
      case "factSave":
      case "factLoad":
        tell("save", -1, `Team ${kind.value.team} ${kind.case === "factSave" ? "saved its game" : "went on with a saved game"}`);
        break;
      case "factChat":
        if (kind.value.text) tell("chat", kind.value.clientId, kind.value.text, kind.value.name ?? kind.value.requestedName);
        break;
      case "message": {
        const { clientId, content } = kind.value;
        // The server may confirm the name later, or never.
        if ((content?.case === "startInfo" || content?.case === "changeInfo") && content.value.name) {
          this.named(tick, clientId, content.value.name);
        }
      }
    }
  }

  /** Records a client's name. Its joining, which came before, is told by that name. */
  private named(tick: number, id: number, name: string): void {
    this.clients.of(id).names.push(tick, name);
    const joined = this.news.findLast((news) => news.client === id);
    if (joined?.kind === "join") joined.name ??= name;
  }

  protected *steps(): Iterable<Steps<unknown>> {
    for (const { places, inputs, names, teams, joined, shots, deaths } of this.clients.values()) yield* [places, inputs, names, teams, joined, shots, deaths];
  }

  /** The position of a character at a time between two ticks. */
  placeAt(client: Client, time: number): Place {
    if (client.joined.at(time) === false) return undefined;
    return placeBetween(client.places, time, 1, furthest);
  }
}

/** The maximum distance that a character moves in a tick. A longer one is a teleport. */
export const furthest = 400;

/** A client's team in words. */
export const teamText = (team: number) => (team > 0 ? `team ${team}` : "");

/** The time of a race. */
function raceTime(seconds: number): string {
  const whole = Math.floor(seconds);
  const hundredths = String(Math.round(seconds * 100) % 100).padStart(2, "0");
  return whole >= 60 ? `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}.${hundredths}` : `${whole}.${hundredths} s`;
}
