// The entry for Node: gRPC over HTTP/2.
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { batchesOf, bearer, Client, eventsOf, Stream } from "./client.js";
export * from "./common.js";
/** A client that can also send files. */
export class NodeClient extends Client {
    /** Sends a replay, a path or its bytes, to the daemon and streams its events, one by one. It is not resumed. */
    decode(source, options = {}) {
        const { session, responses } = this.send(source, options);
        return new Stream(session, responses, eventsOf);
    }
    /** Sends a replay, a path or its bytes, to the daemon and streams its events, batch by batch. It is not resumed. */
    decodeBatches(source, options = {}) {
        const { session, responses } = this.send(source, options);
        return new Stream(session, responses, batchesOf);
    }
    send(source, options) {
        if (typeof source !== "string")
            return this.upload(source, "", options);
        return this.upload(createReadStream(source), basename(source), options);
    }
}
/** Bytes that the daemon may have under way. HTTP/2's default, 64 KiB, has it wait for this client after half a batch. */
const window = 4 << 20;
/** Sees to it that connections have that window, too, and not their streams alone. */
class WideSessionManager extends Http2SessionManager {
    widened;
    async request(...call) {
        const stream = await super.request(...call);
        if (stream.session && stream.session !== this.widened) {
            this.widened = stream.session;
            stream.session.setLocalWindowSize(window);
        }
        return stream;
    }
}
/** Returns a client of the daemon at an address such as "localhost:7171". Nothing is sent before the first call. */
export function connect(address, { tls = false, token } = {}) {
    const baseUrl = `${tls ? "https" : "http"}://${address}`;
    // A dead connection is noticed also while nothing is streamed. The daemon allows a ping every 10 s.
    const pings = { pingIntervalMs: 30_000, pingTimeoutMs: 20_000 };
    const sessionManager = new WideSessionManager(baseUrl, pings, {
        ...(typeof tls === "object" ? tls : {}),
        settings: { initialWindowSize: window },
    });
    const interceptors = token ? [bearer(token)] : [];
    return new NodeClient(createGrpcTransport({ baseUrl, sessionManager, interceptors }), () => sessionManager.abort());
}
