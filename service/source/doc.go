// Package source opens the bytes of replays: plain files, compressed ones, uploads, and files that a game server is
// still writing.
//
// # Opening
//
// A [File] is an open replay. Its format and its compression are recognised by content, never by name. [File.Input]
// gives a codec its bytes, decompressed:
//
//   - of a plain file by pread, anywhere, also what is appended later. Nothing is ever mapped into memory: a mapped file
//     that its writer truncates would end the process;
//   - of a compressed file (.gz, .zst, .xz, .bz2, and files of several such members one after the other) from front to
//     back. [File.Spool] unpacks it into a file without a name where a codec has to read anywhere;
//   - of an upload ([FromReader]) from front to back, once, or spooled. [File.ReadAhead] lets who reads it never wait.
//
// [OpenLocal] opens what a person names on a command line. Names that clients send are the business of service/catalog,
// which opens files below its roots and hands them to [New].
//
// # Compression
//
// Every compressed file is taken to be hostile. What it unpacks to is bounded in size and in ratio ([Limits]), and so is
// the memory that its window or dictionary may ask for, before it is allocated. A file that is cut delivers what its
// compression allows to be read before the cut, and then says that it is truncated: to the byte for gzip and xz, to the
// block for the others (128 KiB for Zstandard, 900 kB for bzip2). Every such failure is a [decoders.Error] whose offset
// counts decompressed bytes and that wraps one of decoders.ErrTruncated, ErrCorrupt, ErrUnsupported and ErrLimit. What
// reads .xz is our own, in source/xz.
//
// # Growing
//
// A plain file may be read while it grows. [File.Check] looks what has become of it, and tells when it can no longer be
// followed: it shrank, was replaced or was removed. When to look is told by service/watch.
//
// # Concurrency
//
// A File may be used by several goroutines at once. An [Input], when it has to be read from front to back, belongs
// to one.
package source
