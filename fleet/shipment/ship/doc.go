// Package ship follows the files of a directory and puts their bytes into a stream of package shipment, as they grow.
//
// The file is the buffer: while NATS is away, nothing is read and nothing is kept, and shipping goes on where it was. What was shipped is
// known from the stream alone, so that a [Shipper] that was killed goes on.
//
// # The owner of a source
//
// A source has one owner at a time, which is written in a key-value bucket beside the stream with the identity of its directory
// ([shipment.Owner]). The owner renews the entry; another shipper of the same directory waits until the entry did not change
// for Options.Lease, or until it has the lock of the directory, which a process that was killed has lost. A shipper of another directory is
// refused: a machine that was cloned, a --source that is used twice, a directory that is not mounted. Only the owner removes files
// from the stream, and only while its directory has files.
//
// # When a file is over
//
// A teehistorian file is over at its own end. Any other file, and one whose server was killed, is over when it was not written to
// for Options.Quiet. If it is written to nevertheless, it is shipped on. A file that is over is written to the Archive, if there
// is one, read back and compared, and leaves the stream. That needs no room in the stream: if the stream is full, missing bytes
// are read from the disk.
//
// # What is shipped
//
// Files below the directory that a root of replays would list: no hidden ones, no links to directories, no names that are not UTF-8.
// Files that were last written to long ago are not, unless the stream has a part of them: see Options.MaxAge.
//
// A file that is renamed is shipped anew under its new name; under the old one it is removed.
package ship
