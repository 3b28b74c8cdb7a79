// Package teehistorian decodes DDNet's server-side log of one game, a .teehistorian file, as a stream of events.
//
// A file is a header, which is a line of JSON about the server and the map, followed by records of a few bytes each.
// The server appends records during the game: joins and leaves, the clients' inputs, the characters' positions after
// each tick, messages and console commands. docs/formats/teehistorian.md describes the format.
//
// # Reading a file
//
// A [Decoder] fills one event struct again and again; package decoders describes the contract:
//
//	d := teehistorian.New(file, teehistorian.Options{})
//	header, err := d.Header() // optional; Next reads it otherwise
//	...
//	for ev, err := range decoders.All(d) {
//		if err != nil {
//			return err
//		}
//		if ev.Kind == teehistorian.KindPlayerDiff {
//			fmt.Println(ev.AtTick, ev.PlayerDiff.ClientId, ev.PlayerDiff.X, ev.PlayerDiff.Y)
//		}
//	}
//
// Only the field that Kind names is valid, and only until the next call: its slices point into the window. Event
// structs are generated from proto/replayd/teehistorian/v1/events.proto, which documents each event.
//
// # The end of a file
//
// Next returns io.EOF after the finish event, which a server writes when it shuts down properly. When the bytes present
// end before it, Next returns decoders.ErrMore. If the file may grow, wait and call Next again. If it will not, call
// Close. Its error distinguishes a server that crashed between two records from a file that was cut inside one. Any
// other error is a *decoders.Error with the offset of the record that cannot be read. Decoding cannot continue behind
// it, because records do not contain their length.
//
// An odd but readable record is not an error. Its event carries Warnings. For example, files of some servers name
// clients that never joined. The decoder creates such a client when a record first names it.
//
// # Derived values
//
// Files hold changes, and events also carry the result. A player_diff has the resulting position, an input_diff the
// resulting input. [Decoder.State] returns the sum of all changes so far.
//
// Most ticks have no record of their own. They follow from the order of client ids. The decoder delivers a tick event
// for each tick that left a trace. If a record implies the tick, that record yields two events. Between them,
// [Decoder.Position] has the Index decoders.Room.
//
// # Starting in the middle
//
// A file has no index, and a position alone is not enough to decode from: the state is needed too. [Decoder.Snapshot]
// saves the state, and [Restore] returns a decoder that continues from it.
//
// Units: a tick is 1/50 s. Positions are in world units, 32 to a tile; y grows downwards.
package teehistorian
