// Package index keeps an entry for each file below the roots, so that requests need not read the disk. An entry has the file's
// name, size and times, and the facts in the replay's header. If only decoding can find them, it also has the players, the
// length, and whether the replay has its end.
//
//	index.go     the index, its directories, and the methods of the catalogue that it uses
//	entry.go     the entry of a file
//	lookup.go    finds entries by directory, file and text
//	scan.go      reads directories when the watcher reports a change, and on request
//	list.go      reads directories at an interval where nothing reports changes, such as in a bucket
//	grow.go      checks files that may grow, more often the more recently they grew
//	identify.go  reads headers, in the background and on request
//	survey.go    decodes replays in the background, within a budget
//	query.go     lists and searches; finds games by cursor, and by the game before
//	changes.go   changes of files, for any number of watchers
//	numbers.go   numbers of replays, in the order in which they were met
//	seldom.go    what decoding found, most of it packed
//	store.go     the index on disk
//
// # Guarantees
//
// An entry describes a file's contents. It is used as long as device, inode, size and time are the same, also under another
// name. If a file only grew, the facts from its beginning still hold.
//
// A root, its files and its directories are checked one at a time, so that an older result never replaces a newer one. A
// removed file does not reappear, and a growing file is added once.
//
// A query first checks whether its directory has changed since it was read, so that it finds a file that was just made.
// The entry of a growing file may be a second old.
//
// A root of objects, such as a bucket, is listed at an interval, and not by requests: its list is as old as that. The object that a
// request names is checked for the request. Objects whose tag and size are known are not read again.
//
// Each query names the roots that it may see, because a caller may not be allowed all of them.
//
// An [Index] is safe for concurrent use. Entries never change once they are returned.
package index
