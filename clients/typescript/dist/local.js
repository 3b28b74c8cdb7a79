// A daemon of this process's own, for a local file.
import { spawn } from "node:child_process";
import { accessSync, closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
/** How many milliseconds the daemon may take to start. It needs some tens. */
const startTimeout = 60_000;
/** How many milliseconds it may take to end before it is killed. */
const endTimeout = 10_000;
const root = "local";
/** Starts a daemon for a file or directory, and waits until it listens. */
export async function start(path) {
    const file = resolve(path);
    const whole = statSync(file).isDirectory(); // throws if there is no such file
    const program = binary();
    const directory = mkdtempSync(join(tmpdir(), "replayd-"));
    const socket = join(directory, "socket");
    const log = join(directory, "log");
    // When this process ends, so does the daemon, by the end of its input.
    const remove = () => rmSync(directory, { recursive: true, force: true });
    process.once("exit", remove);
    // Of the environment, REPLAYD_... are flags of the user's own daemon.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("REPLAYD_")));
    // The root is the working directory, because --root is a list and the directory's name may have commas.
    const options = ["serve", "--root", `${root}=.`, "--listen", `unix:${socket}`, "--web-listen", "none", "--survey-budget", "0"];
    options.push("--log-level", "error", "--drain-timeout", "1s", "--until-stdin-ends");
    const output = openSync(log, "w");
    const child = spawn(program, options, { cwd: whole ? file : dirname(file), env, stdio: ["pipe", "ignore", output] });
    closeSync(output);
    const exited = new Promise((done) => {
        child.once("exit", () => done());
        child.once("error", () => done());
    });
    let ended;
    const end = () => (ended ??= (async () => {
        child.stdin.destroy();
        child.ref(); // the caller waits for it
        const timer = setTimeout(() => child.kill("SIGKILL"), endTimeout);
        await exited;
        clearTimeout(timer);
        process.off("exit", remove);
        remove();
    })());
    try {
        await listening(child, socket);
    }
    catch (thrown) {
        const printed = readFileSync(log, "utf8").slice(-2000).trim();
        await end();
        throw new Error(`${program} does not start: ${printed || thrown.message}`);
    }
    // It does not keep this process alive.
    child.unref();
    child.stdin.unref();
    return { socket, name: whole ? root : `${root}/${basename(file)}`, end };
}
/** Waits until a daemon listens at a socket. */
async function listening(child, socket) {
    let failure;
    child.once("error", (error) => (failure = error));
    for (const deadline = Date.now() + startTimeout; Date.now() < deadline; await sleep(5)) {
        const listens = await new Promise((done) => {
            const probe = dial(socket, () => {
                probe.destroy();
                done(true);
            });
            probe.once("error", () => done(false));
        });
        if (listens)
            return;
        if (failure)
            throw failure;
        if (child.exitCode !== null || child.signalCode !== null)
            throw new Error(`exit status ${child.exitCode ?? child.signalCode}`);
    }
    throw new Error("it does not listen");
}
/** The path of the program. */
function binary() {
    const given = process.env["REPLAYD"];
    const found = find(given || "replayd");
    if (found)
        return found;
    if (given)
        throw new Error(`$REPLAYD is ${JSON.stringify(given)}, which is no program: set it to the path of replayd`);
    throw new Error("the program replayd is not in the PATH: install it (https://github.com/replayd/replayd), or set $REPLAYD to its path, or " +
        "use connect with a daemon that runs elsewhere");
}
function find(program) {
    const places = basename(program) !== program ? [program] : (process.env["PATH"] ?? "").split(delimiter).map((d) => join(d, program));
    for (const place of places) {
        try {
            accessSync(place, constants.X_OK);
            if (statSync(place).isFile())
                return isAbsolute(place) ? place : resolve(place);
        }
        catch {
            // not here
        }
    }
    return undefined;
}
