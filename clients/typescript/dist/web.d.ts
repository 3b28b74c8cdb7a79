import { Client } from "./client.js";
export * from "./common.js";
/** The options of connect. */
export interface ConnectOptions {
    /** The bearer token for the daemon. */
    token?: string;
    /** Makes the requests in place of the browser's fetch. */
    fetch?: typeof fetch;
}
/** Returns a client of the daemon at a URL such as "https://replays.example.org". Nothing is sent before the first call. */
export declare function connect(baseUrl: string, { token, fetch }?: ConnectOptions): Client;
