// A client that speaks protocol 0.7 as far as votes need it: it enters the game, and stands there.

import { createSocket } from "node:dgram";
import { randomBytes } from "node:crypto";
import huffman from "teeworlds/lib/huffman.js";

const joinTimeout = 15_000;
const keepAliveEvery = 250;

// Flags of packets and of chunks, and the numbers of control messages, system messages and messages of the game.
const control = 1;
const resend = 2;
const compressed = 4;
const vital = 1;
const controls = { keepAlive: 0, connect: 1, accept: 2, close: 4, token: 5 };
const system = { info: 1, mapChange: 2, conReady: 5, ready: 18, enterGame: 19 };
const game = { readyToEnter: 8, startInfo: 27, vote: 31, callVote: 32 };

const sequences = 1 << 10;
const noToken = Buffer.alloc(4, 0xff);
const tokenRequest = 512; // servers answer no shorter one

/** An integer as the games write it. */
function int(n) {
  const sign = n < 0 ? 0x40 : 0;
  let rest = n < 0 ? ~n : n;
  const out = [sign | (rest & 0x3f)];
  for (rest >>>= 6; rest > 0; rest >>>= 7) {
    out[out.length - 1] |= 0x80;
    out.push(rest & 0x7f);
  }
  return Buffer.from(out);
}

const text = (s) => Buffer.from(`${s}\0`);

export class Sixup {
  constructor(host, port, name) {
    Object.assign(this, { host, port, name, ack: 0, sequence: 0, sent: [], mine: randomBytes(4), theirs: noToken });
    this.huffman = new huffman.Huffman();
    this.socket = createSocket("udp4");
    this.socket.on("message", (packet) => this.receive(packet));
  }

  join() {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no connection in time")), joinTimeout);
      this.entered = () => {
        clearTimeout(timer);
        resolve();
      };
      this.control(controls.token, this.mine, Buffer.alloc(tokenRequest));
      this.alive = setInterval(() => this.control(controls.keepAlive), keepAliveEvery);
    });
  }

  leave() {
    this.control(controls.close);
    clearInterval(this.alive);
  }

  callVote(type, value, reason) {
    this.message(false, game.callVote, text(type), text(value), text(reason), int(0));
  }

  vote(yes) {
    this.message(false, game.vote, int(yes ? 1 : -1));
  }

  packet(flags, chunks, body) {
    const head = Buffer.from([(flags << 2) | (this.ack >> 8), this.ack & 0xff, chunks]);
    this.socket.send(Buffer.concat([head, this.theirs, body]), this.port, this.host);
  }

  control(number, ...body) {
    this.packet(control, 0, Buffer.concat([Buffer.from([number]), ...body]));
  }

  /** Sends a message, and keeps it until the server has it. */
  message(isSystem, number, ...fields) {
    const body = Buffer.concat([int(2 * number + (isSystem ? 1 : 0)), ...fields]);
    this.sequence = (this.sequence + 1) % sequences;
    const head = [(vital << 6) | (body.length >> 6), (body.length & 0x3f) | ((this.sequence >> 2) & 0xc0), this.sequence & 0xff];
    const chunk = Buffer.concat([Buffer.from(head), body]);
    this.sent.push({ sequence: this.sequence, chunk });
    this.packet(0, 1, chunk);
  }

  receive(packet) {
    const flags = packet[0] >> 2;
    const acked = ((packet[0] & 3) << 8) | packet[1];
    if (flags & control) {
      this.controlled(packet[7], packet.subarray(8));
      return;
    }
    while (this.sent.length > 0 && (acked - this.sent[0].sequence + sequences) % sequences < sequences / 2) this.sent.shift();
    if (flags & resend) for (const { chunk } of this.sent) this.packet(0, 1, chunk);
    let body = packet.subarray(7);
    if (flags & compressed) body = this.huffman.decompress(body);
    for (let left = packet[2]; left > 0 && body.length > 2; left--) {
      const size = ((body[0] & 0x3f) << 6) | (body[1] & 0x3f);
      const isVital = (body[0] >> 6) & vital;
      const from = isVital ? 3 : 2;
      const sequence = ((body[1] & 0xc0) << 2) | body[2];
      if (!isVital || sequence === (this.ack + 1) % sequences) {
        if (isVital) this.ack = sequence;
        this.received(body[from]);
      }
      body = body.subarray(from + size);
    }
  }

  controlled(number, body) {
    if (number === controls.token && this.theirs === noToken) {
      this.theirs = Buffer.from(body.subarray(0, 4));
      this.control(controls.connect, this.mine, Buffer.alloc(tokenRequest));
    } else if (number === controls.accept) {
      this.message(true, system.info, text("0.7 802f1be60a05665f"), text(""), int(0x0705));
    } else if (number === controls.close) {
      console.error(`${this.name}: dropped by the server: ${body}`);
      clearInterval(this.alive);
    }
  }

  /** Answers a message on the way into the game. Its first byte is its number, and whether the system sends it. */
  received(first) {
    if (first === 2 * system.mapChange + 1) this.message(true, system.ready);
    else if (first === 2 * system.conReady + 1) {
      const skin = ["standard", "", "", "standard", "standard", "standard"];
      this.message(false, game.startInfo, text(this.name), text("replayd"), int(-1), ...skin.map(text), ...skin.map(() => int(0)), ...skin.map(() => int(0)));
    } else if (first === 2 * game.readyToEnter) {
      this.message(true, system.enterGame);
      this.entered();
    }
  }
}
