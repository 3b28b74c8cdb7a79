// Package decoders holds what all replay formats share: their names, how to recognize a file, the contract of
// decoders, the window through which they read bytes, positions and errors. Each format is a package below this one:
//
//	decoders/teehistorian   DDNet's server log
//	decoders/datafile       Teeworlds and DDNet maps
//	decoders/dem            Source 2 demos: Dota 2, CS2, Deadlock
//	decoders/sc2replay      StarCraft II
//
// The decoders are a plain Go library. Nothing below this folder depends on gRPC, on replayd's protobuf messages or
// on the daemon, and no format imports another.
//
// # Decoding a file
//
// A format that is read from front to back has
//
//	func New(src io.Reader, opts Options) *Decoder
//
// A format whose parts can lie anywhere in the file has a function that reads the file's metadata, and a method that
// returns a decoder of the events:
//
//	func Open(r io.ReaderAt, size int64, ...) (*File, error) // *Replay in sc2replay
//	func (f *File) Events(opts Options) *Decoder
//
// With zero Options, a decoder delivers every event. Every Decoder implements [Decoder] for the format's Event, so
// [All] can iterate over its events:
//
//	d := dem.New(file, dem.Options{})
//	for ev, err := range decoders.All(d) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(ev.AtTick, ev.Kind)
//	}
//
// [Sniff] returns the format of a file.
//
// # The contract
//
// A decoder turns bytes into events, one per call to Next:
//
//   - The caller owns the event struct and reuses it. Everything in it, slices included, is valid until the next call.
//     Kind names the field that is valid. The other fields keep memory for later events.
//   - Next returns [ErrMore] when the bytes present hold no further whole record. That is neither an error nor the end:
//     the decoder's state is as it was before the record. The caller may call Next again when more bytes have arrived.
//     So the same code serves a whole file, an upload, and a file that a server is still writing.
//   - Next returns [io.EOF] when the format itself marks the end of the replay.
//   - When no more bytes will arrive, the caller calls Close, which returns nil for a complete replay only.
//   - After every event, the decoder's Position is where the next event starts.
//   - Every other error is an [*Error] and final. All events before it have been delivered.
//   - No input makes a decoder panic, loop without progress, or allocate more than the bytes present justify.
package decoders
