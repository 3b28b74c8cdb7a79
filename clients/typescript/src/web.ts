// The entry point for browsers, with the Connect protocol over fetch. The daemon serves it at its --web-listen address.

import { createConnectTransport } from "@connectrpc/connect-web";
import { Code, ConnectError } from "@connectrpc/connect";
import { bearer, Client } from "./client.js";

export * from "./common.js";

/** The options of connect. */
export interface ConnectOptions {
  /** The bearer token for the daemon. */
  token?: string;
  /** Makes the requests in place of the browser's fetch. */
  fetch?: typeof fetch;
}

/** Returns a client of the daemon at a URL such as "https://replays.example.org". Nothing is sent before the first call. */
export function connect(baseUrl: string, { token, fetch = fetchFrom }: ConnectOptions = {}): Client {
  const interceptors = token ? [bearer(token)] : [];
  return new Client(createConnectTransport({ baseUrl, interceptors, useBinaryFormat: true, fetch }));
}

/**
 * fetch, whose error says what to do if the page is of another origin than the daemon. A browser tells pages nothing of why it refuses
 * an answer.
 */
async function fetchFrom(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  try {
    return await fetch(input, init);
  } catch (thrown) {
    const page = globalThis.location as Location | undefined; // workers of servers have none
    const url = input instanceof Request ? input.url : input;
    if (!(thrown instanceof TypeError) || !page || new URL(url, page.href).origin === page.origin) throw thrown;
    const hint = `is the daemon there, and does it allow this page (replayd serve --web-origin ${page.origin})?`;
    throw new ConnectError(`${thrown.message}: ${hint}`, Code.Unavailable, undefined, undefined, thrown);
  }
}
