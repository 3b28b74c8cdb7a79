// Package sc2replay decodes StarCraft II replays, from the beta of 2010 to the newest patch.
//
// A replay is an MPQ archive (package mpq) of about ten small files behind a header. Most of it is three event streams:
// the players' actions, their messages, and the events of the game itself (the tracker). The members can lie anywhere
// in the file, so a decoder works on an io.ReaderAt:
//
//	r, err := sc2replay.Open(file, size) // header, map, players: no event stream is touched
//	...
//	for ev, err := range decoders.All(r.Events(sc2replay.Options{})) {
//		if err != nil {
//			return err
//		}
//		if ev.Kind == sc2replay.KindCmd {
//			fmt.Println(ev.AtTick, string(ev.Player.Name), string(ev.Cmd.Abil.Name))
//		}
//	}
//
// The layout of values differs between builds. Package protocol has the tables. bind.go binds each layout to the fields
// of the Go structs by name, once. fill.go decodes values directly into these fields. This covers every event of the
// tables. A tracker event that no table knows becomes a KindOther with a tree of values. Package names maps links,
// which are the numbers of abilities and unit types, to names.
//
// A build that is newer than the tables is decoded with the nearest table that fits its data (fit.go). The events
// KindStart and KindEnd contain the table in use and how completely every part could be read. A stream that cannot be
// read to its end delivers its readable events, and the other streams continue. The error comes after KindEnd. The same
// holds for any other damage (part.go).
//
// Units: a tick is a gameloop, 1/16 of a game second. Ownership: everything in an Event is valid until the next call of
// Next. A Replay may be used by several goroutines, a Decoder by only one.
package sc2replay
