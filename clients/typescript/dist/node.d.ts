import { type SecureClientSessionOptions } from "node:http2";
import { type Bytes, Client } from "./client.js";
import type { StreamOptions } from "./request.js";
import type { Batch, Event } from "./event.js";
import { type Daemon } from "./local.js";
import { Stream } from "./stream.js";
export * from "./common.js";
/** The options of connect. */
export interface ConnectOptions {
    /**
     * True: TLS that trusts the certificate authorities of Node. Options of node:tls: TLS with these options, such as `ca` for
     * other certificate authorities, or `cert` and `key` for a client certificate. Default: no TLS.
     */
    tls?: boolean | SecureClientSessionOptions;
    /** The bearer token for the daemon. Use it only with TLS, except for a daemon on this machine. */
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
 * Returns a client of the daemon at an address such as "localhost:7171". It sends nothing before the first call. The connection
 * is kept for later calls. It does not keep the process alive while nothing is streamed.
 */
export declare function connect(address: string, { tls, token }?: ConnectOptions): NodeClient;
/** A client of a daemon of its own. */
export declare class LocalClient extends NodeClient {
    private readonly daemon;
    /** @internal */
    constructor(daemon: Daemon);
    /** The name of the file that was opened, for `events` and the other methods. */
    get name(): string;
    /** Ends the daemon, and waits for it. Streams end. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
/**
 * Returns a client for a local file or directory. It needs no running daemon: it starts one for this file alone, and `close` ends
 * it. The name of the file for the client's methods is `client.name`. Names of other replays in its directory begin with "local/".
 *
 * The program `replayd` must be in the PATH, or $REPLAYD must have its path; without it, or without such a file, an error is
 * thrown. The daemon listens at a socket that only this user can reach. It does not keep this process alive, and ends when this
 * process does, even if it is killed. Windows has no such sockets: use `connect` there.
 */
export declare function open(path: string): Promise<LocalClient>;
