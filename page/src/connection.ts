// Requests that do not outlive their connections. Those of a computer that has slept are dead without a sign.

/** How many connections a browser keeps to a daemon, and for how many milliseconds one may be silent when it is in doubt. */
const kept = { connections: 6, silent: 1000 };

/** A computer has slept if its timers stood still for so many milliseconds. Browsers run those of a hidden page once a minute. */
const stood = { shown: 10_000, hidden: 90_000 };

/** Ends all that is under way when the computer wakes. */
let awake = new AbortController();
/** The requests without an answer, and when they began. */
const waiting = new Map<AbortController, number>();
/** The time between two sleeps for which probe runs. */
let probed: AbortSignal | undefined;

/** fetch, which ends with an error when its connection turns out to be dead. */
export async function awakeFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const own = new AbortController();
  waiting.set(own, Date.now());
  try {
    return await fetch(input, { ...init, signal: AbortSignal.any([own.signal, awake.signal, ...(init.signal ? [init.signal] : [])]) });
  } finally {
    waiting.delete(own);
  }
}

/**
 * Asks the daemon for a sign until it answers. The first requests take the connections that the browser keeps, and those that are silent are
 * closed. Later ones find that the network is back: then what has waited longer than the one that was answered is ended, and made again.
 * The daemon may take as long as it wants for an answer that it is already working on.
 */
export async function probe(): Promise<void> {
  const { signal } = awake;
  if (probed === signal) return;
  probed = signal;
  for (let many = kept.connections; !signal.aborted; many = 1) {
    const began = Date.now();
    const answered = await Promise.any(Array.from({ length: many }, sign)).then(() => true, () => false);
    if (answered) for (const [own, since] of waiting) if (since < began) own.abort();
    if (answered) break;
    await sleep(began + kept.silent - Date.now());
  }
  if (probed === signal) probed = undefined;
}

async function sign(): Promise<void> {
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(), kept.silent);
  await fetch("/page/icon.svg", { method: "HEAD", cache: "no-store", signal: own.signal }).finally(() => clearTimeout(timer));
}

/** Ends all requests, so that they are made again at once. */
function wake(): void {
  awake.abort();
  awake = new AbortController();
  void probe();
}

/** Notices that the computer has slept, or the network is back. */
export function watchSleep(): void {
  let [before, hidden] = [Date.now(), document.hidden];
  const look = () => {
    const now = Date.now();
    if (now - before > (hidden ? stood.hidden : stood.shown)) wake();
    [before, hidden] = [now, document.hidden];
  };
  setInterval(look, 250);
  document.addEventListener("visibilitychange", look);
  addEventListener("online", wake);
}

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
