// Package decoders is what all replay formats share: their names, how a file is recognised, the window through which a
// decoder sees its bytes, positions and errors. The formats themselves are the packages below this one:
//
//	decoders/teehistorian   DDNet's server log
//	decoders/datafile       Teeworlds and DDNet maps
//	decoders/dem            Source 2 demos: Dota 2, CS2, Deadlock
//	decoders/sc2replay      StarCraft II
//
// They are a plain Go library. Nothing below this folder knows of gRPC, of protobuf messages of ours, or of the daemon,
// and no format imports another.
//
// # The contract
//
// A decoder turns bytes into events, one call to Next at a time:
//
//   - The caller owns the event struct and reuses it. Everything in it, slices included, is valid until the next call.
//   - Next returns [ErrMore] when the bytes present hold no further whole record. That is neither an error nor the end:
//     the decoder's state is as it was before the record, and the caller may call Next again once there are more bytes.
//     The same code so serves a whole file, an upload, and a file that a server is still writing.
//   - Next returns [io.EOF] when the format itself says that the replay is over.
//   - Whoever knows that no more bytes will come calls Close, which tells a clean end from a torn one.
//   - After every event the decoder's Position says where the next one starts.
//   - Every other error is an [*Error] and final. All that came before it has been delivered.
//   - No input makes a decoder panic, loop without progress, or allocate more than the bytes present justify.
package decoders
