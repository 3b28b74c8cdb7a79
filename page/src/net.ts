// The connection to the daemon that served the page.

import { Code, connect, ReplaydError } from "@replayd/client";
import { awakeFetch, sleep } from "./connection.js";

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
    const over = AbortSignal.timeout(150);
    tabs.addEventListener("message", ({ data }: MessageEvent<Word>) => "token" in data && resolve(data.token), { signal: over });
    over.addEventListener("abort", () => resolve(""));
    tabs.postMessage({ ask: true } satisfies Word);
  }),
};

/** Headers for requests that do not use the client. */
export const authorization = (): Record<string, string> => token.get() ? { authorization: `Bearer ${token.get()}` } : {};

/** Gets a file of the daemon's that the client does not know. */
export function getFile(path: string, signal?: AbortSignal): Promise<Response> {
  return awakeFetch(path, { headers: authorization(), ...(signal && { signal }) });
}

async function takeTurns(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const url = String(input instanceof Request ? input.url : input);
  const streams = /\/(StreamEvents|WatchReplays|WatchState)$/.test(url);
  if (!streams || location.protocol === "https:" || !navigator.locks) return awakeFetch(input, init);
  const { release, place } = await acquire(init?.signal ?? undefined);
  const own = new AbortController();
  const signal = init?.signal ? AbortSignal.any([init.signal, own.signal]) : own.signal;
  const held = setInterval(async () => {
    const { pending } = await navigator.locks.query();
    if (pending?.some(({ name }) => name === lockOf(place))) own.abort();
  }, turn);
  const done = () => {
    clearInterval(held);
    release();
  };
  signal.addEventListener("abort", done);
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
async function acquire(signal?: AbortSignal): Promise<{ release: () => void; place: number }> {
  const order = Array.from({ length: places }, (_, i) => i).sort(() => Math.random() - 0.5);
  for (const place of order) {
    const release = await hold(place, { ifAvailable: true });
    if (release) return { release, place };
  }
  return { release: (await hold(order[0], signal ? { signal } : {}))!, place: order[0] };
}

/** Takes a place. Returns what leaves it, or undefined if it is not available. */
function hold(place: number, options: LockOptions): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    navigator.locks.request(lockOf(place), options, (lock) => (lock ? new Promise<void>((release) => resolve(release)) : resolve(undefined))).catch(reject);
  });
}

/** The client of the daemon. */
export const client = connect(location.origin, { token: token.get(), fetch: takeTurns });

/** How often the daemon gives a sign of itself in a stream, in milliseconds. After three times as long without one it is asked again. */
export const heartbeat = 2000;

/** Whether an error means that the daemon requires a token, or a different one. */
export const wantsToken = (error: unknown): boolean => error instanceof ReplaydError && error.code === Code.Unauthenticated;

/** Whether an error means that the daemon is away, or has no room, and the same call may succeed later. An error of the page itself does not. */
export const isAway = (error: unknown): boolean => error instanceof ReplaydError && error.transient;

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
