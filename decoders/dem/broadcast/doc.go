// Package broadcast turns the bodies of a Source 2 HTTP broadcast (playcast, also CSTV+, GOTV+) into the bytes of a demo, and a demo
// into a broadcast. It does no I/O.
//
// A game server sends a match in fragments of some seconds. Start is the sign-on part. Each fragment has two bodies: Full is the
// state of all entities at the fragment's first tick, and Delta is what happens until the next fragment. Who joins reads Start, the
// Full of one fragment, and the Deltas of that fragment and of all that follow it. In the same order a [Demo] takes them, and makes
// of each the bytes that continue the file:
//
//	var d broadcast.Demo
//	file, err = d.Append(file, broadcast.Start, start)
//	file, err = d.Append(file, broadcast.Full, full)
//	file, err = d.Append(file, broadcast.Delta, delta) // ... and so on, until d.Stopped()
//
// The bytes depend on the bodies alone. So a program that was killed while it wrote makes the bytes of its last body once more, and
// continues where the file ends.
//
// # Format
//
// A body is records, one after another, with a head of ten bytes: the command (u8), the tick (i32), a byte that is 0, the size (u32), all
// little-endian. The record Stop has neither size nor contents, and ends the broadcast. The commands are those of a demo; bit 6
// means that the contents are a snappy block. Two records differ in their contents: Packet and SignonPacket have the bits of their
// messages without a message around them, and each SpawnGroups has one message behind a running number, both in bits. A body has no file
// header, no SyncTick, no string tables, no key frame and no file info. (Verified on all records of two recorded broadcasts of
// Deadlock.)
//
// # Errors
//
// Errors are *decoders.Error. Their offset is in the body. A body with an error adds nothing: bodies arrive damaged, and are
// then fetched again.
package broadcast
