// The entry point for browsers, with the Connect protocol over fetch. The daemon serves it at its --web-listen address.
import { createConnectTransport } from "@connectrpc/connect-web";
import { bearer, Client } from "./client.js";
export * from "./common.js";
/** Returns a client of the daemon at a URL such as "https://replays.example.org". Nothing is sent before the first call. */
export function connect(baseUrl, { token } = {}) {
    const interceptors = token ? [bearer(token)] : [];
    return new Client(createConnectTransport({ baseUrl, interceptors, useBinaryFormat: true }));
}
