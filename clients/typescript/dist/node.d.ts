import { type SecureClientSessionOptions } from "node:http2";
import { type Bytes, Client, Stream, type StreamOptions } from "./client.js";
import type { Batch, Event } from "./event.js";
export * from "./common.js";
/** How to connect. */
export interface ConnectOptions {
    /**
     * True: TLS, trusting the authorities that Node trusts. Options of node:tls: TLS with those, such as `ca` to trust
     * others, `cert` and `key` to present a certificate. Default: plain text.
     */
    tls?: boolean | SecureClientSessionOptions;
    /** A token that the daemon asks for. Use it with TLS, but for a daemon on this machine. */
    token?: string;
}
/** A client that can also send files. */
export declare class NodeClient extends Client {
    /** Sends a replay, a path or its bytes, to the daemon and streams its events, one by one. It is not resumed. */
    decode(source: string | Bytes, options?: StreamOptions): Stream<Event>;
    /** Sends a replay, a path or its bytes, to the daemon and streams its events, batch by batch. It is not resumed. */
    decodeBatches(source: string | Bytes, options?: StreamOptions): Stream<Batch>;
    private send;
}
/**
 * Returns a client of the daemon at an address such as "localhost:7171". Nothing is sent before the first call. The
 * connection is kept for the next one, but does not keep the process alive while nothing is streamed.
 */
export declare function connect(address: string, { tls, token }?: ConnectOptions): NodeClient;
