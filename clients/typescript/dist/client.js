// The client, over any transport.
import { create } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { ReplayView } from "../gen/replayd/v1/replay_pb.js";
import { ReplayService } from "../gen/replayd/v1/service_pb.js";
import { DecodeReplayRequestSchema, EndReason } from "../gen/replayd/v1/stream_pb.js";
import { ReplaydError } from "./error.js";
import { Batch } from "./event.js";
import { build, listRequest, subscribeRequest, watchRequest, watchStateRequest, } from "./request.js";
import { Session, silenceOf } from "./session.js";
import { Watched } from "./states.js";
import { Stream } from "./stream.js";
import { Subscription } from "./subscription.js";
import { Watchdog } from "./watchdog.js";
/** A client of one daemon. */
export class Client {
    onClose;
    stubs;
    constructor(transport, onClose = () => { }) {
        this.onClose = onClose;
        this.stubs = createClient(ReplayService, transport);
    }
    /** Closes the connection. Streams end. */
    close() {
        this.onClose();
    }
    /** Streams the events of a replay, one by one. */
    events(replay, options = {}) {
        const { responses, session } = this.open(replay, options);
        return new Stream(session, responses, eventsOf);
    }
    /** Streams the events of a replay, batch by batch: the fastest way. */
    batches(replay, options = {}) {
        const { responses, session } = this.open(replay, options);
        return new Stream(session, responses, batchesOf);
    }
    /** Streams all responses of the daemon: start, states, batches, heartbeats, follow statuses, gaps, end. */
    responses(replay, options = {}) {
        const { responses, session } = this.open(replay, options);
        return new Stream(session, responses, (response) => [response]);
    }
    open(replay, options) {
        const session = new Session(build(replay, options), options.retry ?? {});
        return { session, responses: this.receive(session, options.signal) };
    }
    async *receive(session, signal) {
        while (!session.end) {
            signal?.throwIfAborted();
            let failure = new ReplaydError(Code.Unavailable, "the stream stopped without an end");
            session.called();
            try {
                const call = (signal) => this.stubs.streamEvents(session.request, { signal });
                for await (const response of connected(call, session.silence, signal)) {
                    if (session.observe(response))
                        yield response;
                }
            }
            catch (thrown) {
                signal?.throwIfAborted();
                if (!(thrown instanceof ReplaydError))
                    throw thrown;
                failure = thrown;
            }
            if (!session.end)
                await sleep(session.delay(failure), signal);
        }
    }
    /**
     * Streams the events of all replays below a directory, or of all roots: of those that are over, live ones, and those to come.
     *
     * It goes on for ever, and yields each response. When the daemon restarts or the connection breaks, it continues after the last one;
     * `retry` says how. With `token`, a later call continues where another one was.
     */
    async *subscribe(directory = "", options = {}) {
        const subscription = new Subscription(subscribeRequest(directory, options), options.retry ?? {});
        yield* again(subscription, (signal) => this.stubs.subscribeEvents(subscription.request, { signal }), options.signal);
    }
    /**
     * Yields the latest states of the live games below a directory, or of all roots, after each response: the same States, which the next
     * response changes. `players` has the players of one.
     *
     * It goes on for ever. When the daemon restarts or the connection breaks, the games have other numbers; `retry` says how it calls
     * again. States between two responses are left out, so whoever is slow misses some.
     */
    async *watchState(directory = "", options = {}) {
        const watched = new Watched(watchStateRequest(directory, options), options.retry ?? {});
        yield* again(watched, (signal) => this.stubs.watchState(watched.request, { signal }), options.signal);
    }
    /**
     * Notes that the events of a named subscription were processed, up to the response with a token. A later `subscribe` without a token goes
     * on behind it.
     */
    async acknowledge(subscription, token) {
        await explained(this.stubs.acknowledgeEvents({ subscription, token }));
    }
    /** Removes a named subscription. A call that runs under its name ends. */
    async deleteSubscription(subscription) {
        await explained(this.stubs.deleteSubscription({ subscription }));
    }
    /** @internal Sends a file's bytes and receives its events. Browsers do not support this. */
    upload(source, name, options) {
        const session = new Session(build(name, options), false);
        return { session, responses: this.uploaded(source, session, options.signal) };
    }
    async *uploaded(source, session, signal) {
        const connection = new AbortController();
        const stop = () => connection.abort(signal?.reason);
        signal?.addEventListener("abort", stop);
        const upload = new Upload(source, session);
        try {
            for await (const response of this.stubs.decodeReplay(upload.parts(), { signal: connection.signal })) {
                if (session.observe(response))
                    yield response;
            }
        }
        catch (thrown) {
            signal?.throwIfAborted();
            if (upload.failure)
                throw upload.failure.thrown;
            throw ReplaydError.from(thrown);
        }
        finally {
            signal?.removeEventListener("abort", stop);
            connection.abort();
            upload.stop();
        }
        if (!session.end)
            throw new ReplaydError(Code.Unavailable, "the stream stopped without an end");
        if (session.end.reason === EndReason.SERVER_DRAINING) {
            throw new ReplaydError(Code.Unavailable, "the daemon shut down", { reason: "DRAINING" });
        }
    }
    /**
     * Lists the replays below a directory, ordered by name if no order is given. It fetches further pages as needed. Without a directory it lists all
     * replays.
     */
    async *replays(directory = "", options = {}) {
        for await (const { replays } of this.pages(directory, options))
            yield* replays;
    }
    /** Lists replays page by page, each with how many the daemon has looked at, and how many match. Each page is fetched when it is asked for. */
    async *pages(directory = "", options = {}) {
        const request = listRequest(directory, options);
        do {
            const page = await explained(this.stubs.listReplays(request, { ...(options.signal && { signal: options.signal }) }));
            yield page;
            request.pageToken = page.nextPageToken;
        } while (request.pageToken);
    }
    /** Returns a replay's header, players, map and length. */
    async replay(name) {
        return (await explained(this.stubs.getReplay({ replay: name }))).replay;
    }
    /** Has the daemon follow the HTTP broadcast of a running match, once for each URL, and returns the name under which to stream it with follow. */
    async followBroadcast(url) {
        return (await explained(this.stubs.followBroadcast({ url }))).replay;
    }
    /** Returns who took part in a game, where, and how it stood after a tick, or how it stands or ended now without one. */
    async report(name, tick) {
        return (await explained(this.stubs.getReport({ replay: name, tick }))).report;
    }
    /**
     * Returns everybody who took part in a teehistorian file, in the order in which they connected. The list is empty while the daemon has
     * not decoded the file yet.
     */
    async participants(name) {
        const { replay } = await explained(this.stubs.getReplay({ replay: name, view: ReplayView.PARTICIPANTS }));
        return replay.participants;
    }
    /** Returns the daemon's version, formats with their kinds, limits and roots. */
    serverInfo() {
        return explained(this.stubs.getServerInfo({}));
    }
    /**
     * Streams the existing replays, and then each change. It is not resumed. A new call begins with the replays that exist then. The second argument
     * has options, or is the signal that ends the watch.
     */
    async *watch(directory = "", options = {}) {
        const given = options instanceof AbortSignal ? { signal: options } : options;
        const request = watchRequest(directory, given);
        for await (const { changes, initialDone } of connected((signal) => this.stubs.watchReplays(request, { signal }), silenceOf(request), given.signal)) {
            yield* changes;
            if (initialDone)
                given.onReady?.();
        }
    }
}
const chunk = 64 << 10;
/** The upload of a replay. */
class Upload {
    session;
    /** The exception of the source. The transport only reports that the call failed. */
    failure;
    pieces;
    constructor(source, session) {
        this.session = session;
        this.pieces = this.read(source);
    }
    /** Yields the options, then the bytes. */
    async *parts() {
        yield create(DecodeReplayRequestSchema, { part: { case: "options", value: this.session.request } });
        for await (const piece of this.pieces) {
            for (let at = 0; at < piece.length; at += chunk) {
                yield create(DecodeReplayRequestSchema, { part: { case: "data", value: piece.subarray(at, at + chunk) } });
            }
        }
    }
    async *read(source) {
        try {
            yield* source instanceof Uint8Array ? [source] : source;
        }
        catch (thrown) {
            this.failure = { thrown };
            throw thrown;
        }
    }
    /** Ends the iteration of the source, so that it can close its resources. An aborted transport does not end it. */
    stop() {
        this.pieces.return().catch(() => { }); // an error no longer matters
    }
}
/** @internal */
export function batchesOf(response) {
    return response.response.case === "batch" || response.response.case === "state" ? [new Batch(response)] : [];
}
/** @internal */
export function eventsOf(response) {
    return response.response.case === "batch" || response.response.case === "state" ? new Batch(response) : [];
}
/** Calls again and again, and yields what is made of each response. It throws the error after which there must be no other call. */
async function* again(of, call, signal) {
    for (;;) {
        signal?.throwIfAborted();
        let failure = new ReplaydError(Code.Unavailable, "the stream stopped");
        of.called();
        try {
            for await (const response of connected(call, of.silence, signal))
                yield of.take(response);
        }
        catch (thrown) {
            signal?.throwIfAborted();
            if (!(thrown instanceof ReplaydError))
                throw thrown;
            failure = thrown;
        }
        await sleep(of.delay(failure), signal);
    }
}
/** Makes a call and yields its responses. It throws a ReplaydError, or the signal's reason. */
async function* connected(call, silence, signal) {
    signal?.throwIfAborted();
    const connection = new AbortController();
    const stop = () => connection.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    const watchdog = new Watchdog(silence, connection);
    try {
        yield* watchdog.watch(call(connection.signal));
    }
    catch (thrown) {
        signal?.throwIfAborted();
        throw watchdog.expired ? new ReplaydError(Code.Unavailable, `no response for ${silence} ms`) : ReplaydError.from(thrown);
    }
    finally {
        watchdog.stop();
        signal?.removeEventListener("abort", stop);
        connection.abort();
    }
}
/** Sends a token with every call. */
export function bearer(token) {
    return (next) => (request) => {
        request.header.set("Authorization", `Bearer ${token}`);
        return next(request);
    };
}
async function explained(call) {
    try {
        return await call;
    }
    catch (thrown) {
        throw ReplaydError.from(thrown);
    }
}
function sleep(milliseconds, signal) {
    return new Promise((resolve) => {
        const done = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", done);
            resolve();
        };
        const timer = setTimeout(done, milliseconds);
        signal?.addEventListener("abort", done);
    });
}
