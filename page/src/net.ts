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

async function takeTurns(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const url = String(input instanceof Request ? input.url : input);
  const streams = /\/(StreamEvents|WatchReplays|WatchState)$/.test(url);
  if (!streams || location.protocol === "https:" || !navigator.locks) return fetch(input, init);
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
    const response = await fetch(input, { ...init, signal });
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

/** After how many seconds without a sign of it the daemon is asked again for changes, which may have been lost while a computer slept. */
const beat = 2;

/** The changes of replays from now on. Calls begun once none can be missed any more. */
export async function* changes(signal: AbortSignal, begun: () => void): AsyncGenerator<ReplayChange, void, undefined> {
  const own = new AbortController();
  const lost = () => own.abort();
  let silence = setTimeout(lost, 3000 * beat);
  try {
    const request = { changesOnly: true, heartbeatInterval: { seconds: BigInt(beat) } };
    for await (const { changes, initialDone } of calls.watchReplays(request, { signal: AbortSignal.any([signal, own.signal]) })) {
      clearTimeout(silence);
      silence = setTimeout(lost, 3000 * beat);
      if (initialDone) begun();
      yield* changes;
    }
  } catch (thrown) {
    throw ReplaydError.from(thrown);
  } finally {
    clearTimeout(silence);
    own.abort();
  }
}

/** What changes in the live games, as often as an interval in milliseconds allows: where players are. Each call begins with all games. */
export async function* states(interval: number, signal: AbortSignal): AsyncGenerator<WatchedReplay[], void, undefined> {
  try {
    const request = { interval: { nanos: interval * 1e6 }, columns: ["x", "y", "place", "alive", "team"] };
    for await (const { replays } of calls.watchState(request, { signal })) yield replays;
  } catch (thrown) {
    throw ReplaydError.from(thrown);
  }
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
