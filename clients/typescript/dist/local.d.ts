/** A daemon with one root. It listens at a socket in a directory of its own, which only this user can read. */
export interface Daemon {
    socket: string;
    /** The file's name there. */
    name: string;
    /** Ends the daemon and waits for it. */
    end(): Promise<void>;
}
/** Starts a daemon for a file or directory, and waits until it listens. */
export declare function start(path: string): Promise<Daemon>;
