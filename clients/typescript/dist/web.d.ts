import { Client } from "./client.js";
export * from "./common.js";
/** How to connect. */
export interface ConnectOptions {
    /** A token that the daemon asks for. */
    token?: string;
}
/** Returns a client of the daemon at a URL such as "https://replays.example.org". Nothing is sent before the first call. */
export declare function connect(baseUrl: string, { token }?: ConnectOptions): Client;
