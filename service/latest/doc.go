// Package latest sends the latest state of live games: how each player stands, every so often, and what is older is left out. It knows
// neither files nor gRPC.
//
//	watch.go    a call: which games it watches, and what it sends of them
//	boards.go   the boards of the games that are watched, each shared by all calls that want the same of it
//	board.go    one game: what is sent of its state since another one
//	read.go     the goroutine that reads a game and keeps its board
//	state.go    how the players stand, and since when
//	columns.go  the part of a sample that is wanted
//
// # Who waits for whom
//
// A board's goroutine reads the game as it grows, and waits for nobody. A call takes what a board has when the call's time has come, and
// never waits for a file. It remembers only which version of each board its client has. So a client that does not read costs nothing
// more, and then gets the difference between what it has and what is there, however long that took.
package latest
