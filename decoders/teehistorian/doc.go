// Package teehistorian decodes DDNet's server-side log of one game, a .teehistorian file, as a stream of events.
//
// A file is a header, a line of JSON about the server and the map, and then records of a few bytes each, appended as
// the game goes on: who joined and left, what each client pressed, where each character was after each tick, messages
// and console commands. docs/formats/teehistorian.md describes the format.
//
// # Reading a file
//
// A [Decoder] fills one event struct again and again; see package decoders for that contract:
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
// Only the field that Kind names means anything, and only until the next call: its slices show the window's bytes.
// Event structs are generated from proto/replayd/teehistorian/v1/events.proto, and events say there what they mean.
//
// # How it ends
//
// Next returns io.EOF after the finish event, which a server that is shut down properly writes. When the bytes present
// end before it, Next returns decoders.ErrMore: wait for the file to grow and call Next again, or, when it will not, ask
// Close, whose error distinguishes a server that crashed between two records from a file that was cut inside one. Any other error is a
// *decoders.Error with the offset of the record that cannot be read; there is no way on, for records do not have their
// length.
//
// What is odd but readable is no error: such events carry Warnings. Files of some servers name clients that never
// joined, for example; the decoder makes such a client up when it is first named.
//
// # What is derived
//
// Files hold changes. Events carry what they add up to as well: a player_diff has the resulting position, an input_diff
// the resulting input. [Decoder.State] shows the sum of everything so far.
//
// Most ticks have no record of their own: they follow from the order of client ids. The decoder makes a tick event of
// each tick that left any trace. Where it follows from a record, that record yields two events; between them
// [Decoder.Position] has Index 1.
//
// # Starting in the middle
//
// A file has no index, and a position in it means nothing without the state. [Decoder.Snapshot] writes down what the
// decoder knows, and [Restore] makes a decoder that goes on from there.
//
// Units: a tick is 1/50 s. Positions are in world units, 32 to a tile; y grows downwards.
package teehistorian
