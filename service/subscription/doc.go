// Package subscription streams the events of many replays as one stream: of those that are over one after another, of live games as they
// are played, and of replays to come. It runs one stream of service/stream for each replay that is open, and knows neither
// gRPC nor files.
//
//	subscription.go  the call: what is sent
//	agenda.go        which replays are begun, and when
//	replay.go        one replay: its streams, one after another, until it is over
//	queue.go         what the replays have to send
//	token.go         where a subscription stands, as opaque bytes
//	named.go         subscriptions that the daemon keeps by name
//	passed.go        a set of numbers
//
// # Once
//
// A token says which replays are over and where the open ones stand. It changes with the response that it is sent with, and a replay goes
// on at its cursor, whatever file has it by then. The index knows replays by number: see its Selection.
//
// # No replay waits for another
//
// Each replay has a goroutine, which opens files, reads and waits for disks. The call's goroutine only takes what is there to send. A
// replay may have one response waiting, so that replays take turns, and a client that does not read holds a bounded amount of memory.
// A response is handed over without waiting where none of the replay waits: a feed that pushes never blocks (see package stream).
package subscription
