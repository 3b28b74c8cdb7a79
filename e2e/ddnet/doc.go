// Package ddnet runs a real DDNet server with real clients, for tests and for
// recording samples.
//
//   - [Install] finds the server program. It installs Debian's package if
//     necessary and possible.
//   - [Start] runs a server on loopback in a separate directory. The server
//     records teehistorian files. A [Server] accepts console commands, and can
//     be stopped cleanly or killed.
//   - [Server.Bots] starts clients (npm's teeworlds) that follow a small script.
//
// The package does not depend on replayd. Its functions block and take a
// context. No process remains after [Server.Stop] or [Server.Kill], and
// [Bots.Close].
package ddnet
