// Tests how soon requests go on after a computer has slept, by a clock and a network of its own: no time is measured.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { source } from "./source.js";

const longest = 1000; // how long the page waits at most between two tries

/**
 * A network whose connections die while the computer sleeps, and that is back at a time. Until then requests fail, or hang. A browser keeps
 * six connections, and takes those that are there first, of which some are dead.
 */
class Network {
  tries = 0;
  signs = 0;
  constructor(dead, back, hangs, takes = 20) {
    Object.assign(this, { dead, back, hangs, takes, used: 0, queue: [] });
  }

  fetch = (path, { signal, method }) => new Promise((resolve, reject) => {
    if (method === "HEAD") this.signs++;
    else [this.tries, this.last] = [this.tries + 1, signal];
    const ended = new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)));
    ended.catch(() => {});
    const begin = () => {
      this.used++;
      const free = () => { this.used--; this.queue.shift()?.(); };
      this.serve(method === "HEAD" ? 20 : this.takes, ended).finally(free).then(resolve, reject);
    };
    if (this.used < 6) begin();
    else {
      this.queue.push(begin);
      ended.catch((reason) => { this.queue = this.queue.filter((one) => one !== begin); reject(reason); });
    }
  });

  async serve(takes, ended) {
    if (this.dead > 0) {
      this.dead--;
      return ended; // until the request is ended
    }
    if (Date.now() < this.back) return this.hangs ? ended : Promise.reject(new Error("no network"));
    return Promise.race([ended, new Promise((resolve) => setTimeout(resolve, takes, "answer"))]);
  }
}

/** Lets time pass in short steps until something is so. Returns how long that took. */
async function pass(what, most) {
  const began = Date.now();
  while (!what()) {
    mock.timers.tick(10);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(Date.now() - began <= most, `it takes more than ${most} ms of the clock`);
  }
  return Date.now() - began;
}

/** Has a page with a request under way sleep and wake among connections, of which some are dead. Returns the tries, and how long after the network's return the answer is there. */
async function wakes({ dead = 0, away = 0, hangs = false, online = false, takes, wait = longest }) {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1e12 });
  const listeners = {};
  Object.assign(globalThis, { document: { hidden: false, addEventListener() {} }, addEventListener: (type, listener) => (listeners[type] = listener) });
  const network = new Network(0, 0, true);
  globalThis.fetch = network.fetch;
  try {
    const { awakeFetch, watchSleep, probe, sleep } = await source("connection.ts", Math.random());
    watchSleep();
    let [answer, begun] = [];
    awakeFetch("/WatchState").then(() => (begun = network.last)); // its answer is still read when the computer sleeps
    await pass(() => begun, 1000);
    network.dead = 1;
    (async () => {
      while (!answer) await awakeFetch("/StreamEvents").then((got) => (answer = got), () => (void probe(), void probe(), sleep(wait)));
    })();
    await pass(() => network.tries === 2, 1000);
    mock.timers.setTime(Date.now() + 3_600_000); // it sleeps
    const back = Date.now() + away;
    Object.assign(network, { dead, back, hangs, takes: takes ?? 20, tries: 0 });
    const took = await pass(() => {
      if (online && Date.now() >= back) { listeners.online(); online = false; }
      return answer;
    }, away + 60_000);
    assert.ok(begun.aborted, "what had its answer goes on, though nothing comes any more");
    const { tries, signs } = network;
    await pass(() => network.used === 0, 60_000);
    void probe();
    assert.equal(network.signs, signs + 6, "at the next doubt all connections are tried again");
    return { tries, signs, late: took - away };
  } finally {
    mock.timers.reset();
  }
}

test("a request is made again within five seconds of a computer's return, whatever its connections and network do", async () => {
  for (const dead of [0, 3, 6]) for (const away of [0, 700, 3000, 20_000]) for (const hangs of [false, true]) for (const online of [false, true]) {
    const { tries, signs, late } = await wakes({ dead, away, hangs, online });
    const what = JSON.stringify({ dead, away, hangs, online, tries, signs, late });
    assert.ok(late <= 3500, what);
    assert.ok(tries <= 4 + away / longest && signs <= 14 + away / 1000, `it asks too often: ${what}`);
  }
});

test("an answer that takes the daemon long is waited for", async () => {
  const { tries, late } = await wakes({ takes: 30_000, wait: 10 });
  assert.equal(tries, 1);
  assert.ok(late >= 30_000);
});
