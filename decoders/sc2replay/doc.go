// Package sc2replay decodes StarCraft II replays, from the beta of 2010 to the newest patch.
//
// A replay is an MPQ archive (package mpq) of some ten small files behind a header. Most of it is three event streams:
// what the players did, what they said, and what the game computed. All but the header's few bytes have to be read
// anywhere in the file, so a decoder works on an io.ReaderAt:
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
// How values are laid out differs from build to build. Package protocol has the tables; bind.go binds each layout to the
// fields of our structs, by name, once; fill.go reads values straight to where they belong. Every event of the tables is
// bound so; tracker events that no table knows arrive as KindOther with a tree of values. Package names has what links are
// called: the numbers of abilities and unit types.
//
// A build that is newer than our tables is decoded with the nearest table that fits its data (fit.go). The events
// KindStart and KindEnd say which one that was, and how far every part of the replay could be read. A stream that cannot
// be read to its end delivers what it could, the others go on, and the error comes after KindEnd. So does any other damage
// (part.go).
//
// Units: a tick is a gameloop, 1/16 of a game second. Ownership: everything in an Event is valid until the next call of
// Next. A Replay may be shared; a Decoder belongs to one goroutine.
package sc2replay
