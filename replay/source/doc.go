// Package source opens the bytes of replays: plain files, compressed ones, uploads, and files that a game server is
// still writing.
//
// # Opening
//
// A [File] is an open replay. Its format and its compression are recognised by content, never by name. [File.Input]
// gives a codec its bytes, decompressed:
//
//   - A plain file is read at any offset by pread, even where it has grown. It is never mapped into memory: if its writer
//     truncated a mapped file, the process would crash.
//   - A compressed file (.gz, .zst, .xz, .bz2, also of several members one after the other) is read from front to back. If a
//     codec needs random access, [File.Spool] unpacks it into a temporary file without a name.
//   - An upload ([FromReader]) is read from front to back, once, or spooled. With [File.ReadAhead] its reader never waits for
//     the sender.
//
// [OpenLocal] opens a path from the command line. Names from clients are opened by service/catalog, below its roots, and
// passed to [New] as handles.
//
// # Compression
//
// Every compressed file is treated as hostile. [Limits] bound the size and the ratio of what it unpacks to, and the memory of
// its window or dictionary, before that is allocated. From a truncated file everything before the cut is delivered, and then
// decoders.ErrTruncated: to the byte for gzip and xz, to the block for Zstandard (128 KiB) and bzip2 (900 kB). Each failure is a
// [decoders.Error] whose offset counts decompressed bytes. It wraps one of decoders.ErrTruncated, ErrCorrupt, ErrUnsupported
// and ErrLimit. The reader of .xz is our own (source/xz), because it must be bounded so.
//
// # Growing
//
// A plain file may be read while it grows. [File.Check] finds out whether it can still be followed, and returns an error once it
// shrank, was replaced or was removed. service/watch notifies when to check.
//
// # Concurrency
//
// A File is safe for concurrent use. An [Input] without At belongs to one goroutine.
package source
