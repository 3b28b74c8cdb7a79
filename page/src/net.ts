// The connection to the daemon that served the page.

import { Client, Code, ReplaydError } from "@replayd/client";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type ListReplaysRequestSchema, type ListReplaysResponse } from "@replayd/client/gen/replayd/v1/replay_pb.js";
import { ReplayService } from "@replayd/client/gen/replayd/v1/service_pb.js";
import type { WatchedReplay } from "@replayd/client/gen/replayd/v1/state_pb.js";
import type { ReplayChange } from "@replayd/client/gen/replayd/v1/watch_pb.js";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

// Without TLS a browser opens at most six connections to a daemon for all of its tabs, and each stream occupies one. So tabs
// take turns. Each stream holds one of these locks. If another stream waits for it, the holder ends and resumes at its cursor.
const places = 4;
const turn = 400; // milliseconds
const lockOf = (place: number) => `replayd stream ${place}`;

const tokenKey = "replayd token";

/** What tabs say to one another about the token: one that has none asks, those that have it answer, and one that is signed out says so. */
type Word = { ask: true } | { token: string } | { out: true };
const tabs = new BroadcastChannel(tokenKey);
tabs.addEventListener("message", ({ data }: MessageEvent<Word>) => {
  if ("ask" in data && token.get()) tabs.postMessage({ token: token.get() } satisfies Word);
  else if ("out" in data && token.get()) forget();
});

function forget(): void {
  sessionStorage.removeItem(tokenKey);
  location.reload();
}

/** The token of this browser's tabs, which keep it until the last of them is closed. */
export const token = {
  get: () => sessionStorage.getItem(tokenKey) ?? "",
  set: (value: string) => sessionStorage.setItem(tokenKey, value),
  /** Signs all tabs out. */
  forget: () => {
    tabs.postMessage({ out: true } satisfies Word);
    forget();
  },
  /** The token of another tab, or "" if none has a token. */
  ofAnotherTab: () => new Promise<string>((resolve) => {
    const answered = ({ data }: MessageEvent<Word>) => "token" in data && done(data.token);
    const done = (value: string) => {
      tabs.removeEventListener("message", answered);
      resolve(value);
    };
    tabs.addEventListener("message", answered);
    tabs.postMessage({ ask: true } satisfies Word);
    setTimeout(done, 150, "");
  }),
};

/** Headers for requests that do not use the client. */
export function authorization(): Record<string, string> {
  return token.get() ? { authorization: `Bearer ${token.get()}` } : {};
}

/** Ends all that is under way when the computer wakes. */
let awake = new AbortController();

/** fetch, which ends when the computer wakes. */
function awakeFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  return fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, awake.signal]) : awake.signal });
}

/** Gets a file of the daemon's that the client does not know. */
export function getFile(path: string, signal?: AbortSignal): Promise<Response> {
  return awakeFetch(path, { headers: authorization(), ...(signal && { signal }) });
}

/** How many connections a browser keeps to a daemon, and for how many milliseconds one may be silent after a sleep. */
const kept = { connections: 6, silent: 1000 };

/** Ends all requests, so that they are made again. The connections behind them may be dead without a sign. */
function wake(): void {
  // So may be those that the browser keeps for later requests. These requests take them first, and those that are silent are closed.
  for (let i = 0; i < kept.connections; i++) fetch("/page/icon.svg", { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(kept.silent) }).catch(() => {});
  awake.abort();
  awake = new AbortController();
}

/** Notices that the computer has slept, or the network is back. */
export function watchSleep(): void {
  addEventListener("online", wake);
  let before = Date.now();
  setInterval(() => {
    const now = Date.now();
    if (now - before > (document.hidden ? 90_000 : 10_000)) wake(); // browsers run the timers of a hidden page once a minute
    before = now;
  }, 500);
}

async function takeTurns(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const url = String(input instanceof Request ? input.url : input);
  const streams = /\/(StreamEvents|WatchReplays|WatchState)$/.test(url);
  if (!streams || location.protocol === "https:" || !navigator.locks) return awakeFetch(input, init);
  const { release, place } = await acquire(init?.signal ?? undefined);
  const own = new AbortController();
  const signal = init?.signal ? AbortSignal.any([init.signal, own.signal]) : own.signal;
  signal.addEventListener("abort", release);
  const held = setInterval(async () => {
    const { pending } = await navigator.locks.query();
    if (pending?.some(({ name }) => name === lockOf(place))) own.abort();
  }, turn);
  signal.addEventListener("abort", () => clearInterval(held));
  const done = () => {
    clearInterval(held);
    release();
  };
  try {
    const response = await awakeFetch(input, { ...init, signal });
    const watched = response.body?.pipeThrough(new TransformStream({ flush: done }), { signal });
    watched ?? done();
    return new Response(watched, { status: response.status, statusText: response.statusText, headers: response.headers });
  } catch (error) {
    done();
    throw error;
  }
}

/** Acquires the lock of any place, and waits if all are taken. */
function acquire(signal?: AbortSignal): Promise<{ release: () => void; place: number }> {
  return new Promise((resolve, reject) => {
    const order = Array.from({ length: places }, (_, i) => i).sort(() => Math.random() - 0.5);
    const hold = (place: number) =>
      new Promise<void>((release) => {
        if (signal?.aborted) release();
        resolve({ release, place });
      });
    const next = async () => {
      for (const place of order) {
        let taken = false;
        // The lock is held until the callback's promise settles. So wait only for the decision here.
        await new Promise<void>((decided) => {
          navigator.locks
            .request(lockOf(place), { ifAvailable: true }, (lock) => {
              taken = lock !== null;
              decided();
              return taken ? hold(place) : undefined;
            })
            .catch(reject);
        });
        if (taken) return;
      }
      navigator.locks.request(lockOf(order[0]), signal ? { signal } : {}, () => hold(order[0])).catch(reject);
    };
    next().catch(reject);
  });
}

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  fetch: takeTurns,
  interceptors: [
    (next) => (request) => {
      for (const [name, value] of Object.entries(authorization())) request.header.set(name, value);
      return next(request);
    },
  ],
});

/** The client of the daemon. */
export const client = new Client(transport);
const calls = createClient(ReplayService, transport);

/** One page of replays. */
export async function listReplays(request: MessageInitShape<typeof ListReplaysRequestSchema>, signal: AbortSignal): Promise<ListReplaysResponse> {
  try {
    return await calls.listReplays(request, { signal });
  } catch (thrown) {
    throw ReplaydError.from(thrown);
  }
}

/** How often the daemon gives a sign of itself in a stream, in seconds. After three times as long without one it is asked again. */
const beat = 2;
const heartbeatInterval = { seconds: BigInt(beat) };

/** The responses of a stream that is not resumed. It ends with an error when the connection is lost, also without a sign. */
async function* heard<T>(call: (signal: AbortSignal) => AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const own = new AbortController();
  const listen = () => setTimeout(() => own.abort(), 3000 * beat);
  let silence = listen();
  try {
    for await (const response of call(AbortSignal.any([signal, own.signal]))) {
      clearTimeout(silence);
      silence = listen();
      yield response;
    }
  } catch (thrown) {
    throw ReplaydError.from(thrown);
  } finally {
    clearTimeout(silence);
    own.abort();
  }
}

/** The changes of replays from now on. Calls begun once none can be missed any more. */
export async function* changes(signal: AbortSignal, begun: () => void): AsyncGenerator<ReplayChange, void, undefined> {
  const call = (signal: AbortSignal) => calls.watchReplays({ changesOnly: true, heartbeatInterval }, { signal });
  for await (const { changes, initialDone } of heard(call, signal)) {
    if (initialDone) begun();
    yield* changes;
  }
}

/** What changes in the live games, as often as an interval in milliseconds allows: where players are. Each call begins with all games. */
export async function* states(interval: number, signal: AbortSignal): AsyncGenerator<WatchedReplay[], void, undefined> {
  const request = { interval: { nanos: interval * 1e6 }, columns: ["x", "y", "place", "alive", "team"], heartbeatInterval };
  for await (const { replays } of heard((signal) => calls.watchState(request, { signal }), signal)) yield replays;
}

/** Whether an error means that the daemon requires a token, or a different one. */
export function wantsToken(error: unknown): boolean {
  return error instanceof ReplaydError && error.code === Code.Unauthenticated;
}

/** Whether an error means that the daemon is away, or has no room, and the same call may succeed later. An error of the page itself does not. */
export function isAway(error: unknown): boolean {
  return error instanceof ReplaydError && error.transient;
}

/** Calls the daemon until it answers, and returns what it says. A daemon that is away is waited for; it is said to be at the first time. */
export async function ask<T>(call: () => Promise<T>, signal?: AbortSignal, away: () => void = () => {}): Promise<T> {
  for (let wait = 100; ; wait = Math.min(wait * 2, longestWait)) {
    try {
      return await call();
    } catch (error) {
      if (signal?.aborted || !isAway(error)) throw error;
      away();
    }
    await sleep(wait, signal);
    signal?.throwIfAborted();
  }
}

/** How many milliseconds to wait at most for a daemon that is away before it is asked again. */
const longestWait = 1000;

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done);
  });
}
