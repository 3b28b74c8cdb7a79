import { Client } from "./client.js";
export * from "./common.js";
/** The options of connect. */
export interface ConnectOptions {
    /** The bearer token for the daemon. */
    token?: string;
}
/** Returns a client of the daemon at a URL such as "https://replays.example.org". Nothing is sent before the first call. */
export declare function connect(baseUrl: string, { token }?: ConnectOptions): Client;
