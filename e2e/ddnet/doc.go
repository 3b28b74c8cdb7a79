// Package ddnet runs a real DDNet server with real clients, for tests and for
// recording samples.
//
//   - [Install] finds the server program, installing Debian's package where it may.
//   - [Start] runs a server on loopback in a directory of its own, recording
//     teehistorian files; a [Server] gets commands on its console, stopped
//     cleanly or killed.
//   - [Server.Bots] starts clients (npm's teeworlds) that follow a small script.
//
// Nothing here knows replayd. Everything blocks, takes a context, and leaves no
// process behind once [Server.Stop] or [Server.Kill] and [Bots.Close] were called.
package ddnet
