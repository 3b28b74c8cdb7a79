// Package decoders is what all replay formats share: their names, how a file is recognized, the contract of decoders, the
// window through which they see bytes, positions and errors. Each [Format] is decoded by the package of its name below this
// one, decoders/teehistorian for example.
//
// They are a plain Go library: nothing below this folder imports gRPC, protobuf or the daemon, and no format imports another.
//
// # Decoding a file
//
// Formats that are read from front to back have
//
//	func New(src io.Reader, opts Options) *Decoder
//
// and formats whose parts lie anywhere in the file have a function that reads what the file says of itself, and a method
// that returns a decoder of the events:
//
//	func Open(r io.ReaderAt, size int64, ...) (*File, error) // *Replay in sc2replay
//	func (f *File) Events(opts Options) *Decoder
//
// The zero Options deliver everything. Every Decoder is a [Decoder] of the format's Event, so that [All] has its events:
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
// A decoder turns bytes into events, one call to Next at a time:
//
//   - The caller owns the event struct and reuses it. Everything in it, slices included, is valid until the next call.
//     Kind says which of its fields holds; the others keep memory for later events.
//   - Next returns [ErrMore] when the bytes present hold no further whole record. That is neither an error nor the end:
//     the decoder's state is as it was before the record, and the caller may call Next again once there are more bytes.
//     So the same code serves a whole file, an upload, and a file that a server is still writing.
//   - Next returns [io.EOF] when the format itself says that the replay is over.
//   - When no more bytes will come, the caller calls Close, which returns nil for a complete replay only.
//   - After every event the decoder's Position is where the next one starts.
//   - Every other error is an [*Error] and final. All events before it have been delivered.
//   - No input makes a decoder panic, loop without progress, or allocate more than the bytes present justify.
package decoders
