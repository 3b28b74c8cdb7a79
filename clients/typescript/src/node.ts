// The entry for Node: gRPC over HTTP/2.

import { AsyncLocalStorage } from "node:async_hooks";
import { createReadStream } from "node:fs";
import { constants, type SecureClientSessionOptions } from "node:http2";
import { basename } from "node:path";
import type { Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { batchesOf, bearer, type Bytes, Client, eventsOf, Stream, type StreamOptions } from "./client.js";
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

/** A file's bytes. The first read opens the file, and throws when it cannot be opened. */
async function* contents(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield* createReadStream(path);
}

/** Bytes that the daemon may send ahead. With HTTP/2's default, 64 KiB, it waits for this client after half a batch. */
const window = 4 << 20;

/** Passes the signal of a call to the session manager, which the transport calls for a stream. */
const ends = new AsyncLocalStorage<AbortSignal>();

const withEnd: Interceptor = (next) => (request) => ends.run(request.signal, () => next(request));

/** Gives connections that window too, not their streams alone, and ends streams with their call. */
class SessionManager extends Http2SessionManager {
  private widened: unknown;

  override async request(...request: Parameters<Http2SessionManager["request"]>) {
    const end = ends.getStore();
    const stream = await super.request(...request);
    // The transport only resets the stream. When the daemon's last bytes are not read by then, Node waits for a reader: the
    // stream stays open, and with it the connection and the process.
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
 * Returns a client of the daemon at an address such as "localhost:7171". Nothing is sent before the first call. The
 * connection is kept for the next one, but does not keep the process alive while nothing is streamed.
 */
export function connect(address: string, { tls = false, token }: ConnectOptions = {}): NodeClient {
  const baseUrl = `${tls ? "https" : "http"}://${address}`;
  // A dead connection is noticed also while nothing is streamed. The daemon allows a ping every 10 s.
  const pings = { pingIntervalMs: 30_000, pingTimeoutMs: 20_000 };
  const sessionManager = new SessionManager(baseUrl, pings, {
    ...(typeof tls === "object" ? tls : {}),
    settings: { initialWindowSize: window },
  });
  const interceptors = token ? [withEnd, bearer(token)] : [withEnd];
  return new NodeClient(createGrpcTransport({ baseUrl, sessionManager, interceptors }), () => sessionManager.abort());
}
