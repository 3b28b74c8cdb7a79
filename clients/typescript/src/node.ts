// The entry point for Node, with gRPC over HTTP/2.

import { AsyncLocalStorage } from "node:async_hooks";
import { createReadStream } from "node:fs";
import { constants, type SecureClientSessionOptions } from "node:http2";
import { connect as dial } from "node:net";
import { basename } from "node:path";
import type { Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { batchesOf, bearer, type Bytes, Client, eventsOf } from "./client.js";
import type { StreamOptions } from "./request.js";
import type { Batch, Event } from "./event.js";
import { type Daemon, start } from "./local.js";
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
export class NodeClient extends Client {
  /** Sends a replay, a path or its bytes, to the daemon and streams its events, one by one. It is not resumed. */
  decode(source: string | Bytes, options: StreamOptions = {}): Stream<Event> {
    const { session, responses } = this.send(source, options);
    return new Stream(session, responses, eventsOf);
  }

  /** Sends a replay, a path or its bytes, to the daemon and streams its events, batch by batch. It is not resumed. */
  decodeBatches(source: string | Bytes, options: StreamOptions = {}): Stream<Batch> {
    const { session, responses } = this.send(source, options);
    return new Stream(session, responses, batchesOf);
  }

  private send(source: string | Bytes, options: StreamOptions) {
    if (typeof source !== "string") return this.upload(source, "", options);
    return this.upload(contents(source), basename(source), options);
  }
}

/** The bytes of a file. The first read opens the file, and throws if that fails. */
async function* contents(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield* createReadStream(path);
}

/** The flow-control window in bytes. With HTTP/2's default of 64 KiB, the daemon waits for this client after half a batch. */
const window = 4 << 20;

/** Passes the abort signal of a call to the session manager, which the transport calls to open an HTTP/2 stream. */
const ends = new AsyncLocalStorage<AbortSignal>();

const withEnd: Interceptor = (next) => (request) => ends.run(request.signal, () => next(request));

/** Sets the window for connections too, not only for streams, and ends a stream when its call ends. */
class SessionManager extends Http2SessionManager {
  private widened: unknown;

  override async request(...request: Parameters<Http2SessionManager["request"]>) {
    const end = ends.getStore();
    const stream = await super.request(...request);
    // The transport only resets the stream. If the daemon's last bytes have not been read, Node keeps the stream open for a
    // reader, and with it the connection and the process.
    end?.addEventListener("abort", () => {
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy();
    });
    if (stream.session && stream.session !== this.widened) {
      this.widened = stream.session;
      stream.session.setLocalWindowSize(window);
    }
    return stream;
  }
}

/**
 * Returns a client of the daemon at an address such as "localhost:7171". It sends nothing before the first call. The connection
 * is kept for later calls. It does not keep the process alive while nothing is streamed.
 */
export function connect(address: string, { tls = false, token }: ConnectOptions = {}): NodeClient {
  const { transport, abort } = transportTo(`${tls ? "https" : "http"}://${address}`, typeof tls === "object" ? tls : {}, token);
  return new NodeClient(transport, abort);
}

function transportTo(baseUrl: string, options: SecureClientSessionOptions, token?: string) {
  const pings = { pingIntervalMs: 12_000, pingTimeoutMs: 8_000 }; // see "Dead connections" in clients/README.md
  const sessionManager = new SessionManager(baseUrl, pings, { ...options, settings: { initialWindowSize: window } });
  const interceptors = token ? [withEnd, bearer(token)] : [withEnd];
  return { transport: createGrpcTransport({ baseUrl, sessionManager, interceptors }), abort: () => sessionManager.abort() };
}

/** A client of a daemon of its own. */
export class LocalClient extends NodeClient {
  private readonly daemon: Daemon;

  /** @internal */
  constructor(daemon: Daemon) {
    const { transport, abort } = transportTo("http://localhost", { createConnection: () => dial(daemon.socket) });
    super(transport, abort);
    this.daemon = daemon;
  }

  /** The name of the file that was opened, for `events` and the other methods. */
  get name(): string {
    return this.daemon.name;
  }

  /** Ends the daemon, and waits for it. Streams end. */
  override close(): Promise<void> {
    super.close();
    return this.daemon.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Returns a client for a local file or directory. It needs no running daemon: it starts one for this file alone, and `close` ends
 * it. The name of the file for the client's methods is `client.name`. Names of other replays in its directory begin with "local/".
 *
 * The program `replayd` must be in the PATH, or $REPLAYD must have its path; without it, or without such a file, an error is
 * thrown. The daemon listens at a socket that only this user can reach. It does not keep this process alive, and ends when this
 * process does, even if it is killed. Windows has no such sockets: use `connect` there.
 */
export async function open(path: string): Promise<LocalClient> {
  return new LocalClient(await start(path));
}
