// Package index holds what is known of all files below the roots, so that requests need not read the disk: names, sizes and
// times; of each replay what its header says; and, where the header does not say it, who played, how long, and whether it
// has its end.
//
//	index.go     the index, its directories, and what it asks of the catalogue
//	entry.go     what is known of a file
//	scan.go      directories are read when the watcher says that they changed, or on request
//	grow.go      files that may grow are looked at, the more often the more recently they did
//	identify.go  headers are read, in the background and on request
//	survey.go    replays are decoded in the background, within a budget
//	query.go     lists and searches; games by cursor, and by the game before
//	changes.go   what became of files, for any number of watchers
//	store.go     the index on disk
//
// # What holds
//
// What is known of a file is known of its contents: it is used for as long as device, inode, size and time are the same,
// also under another name. Of a file that only grew, what its beginning says still holds.
//
// A root, its files and its directories are looked at one at a time, so that an older result never replaces a newer one: a
// file that is gone does not come back, and one that grows is added once.
//
// A query first checks whether its directory has changed since it was read, so that it finds a file that was just made.
// What is known of a file that grows may be a second old.
//
// Each query names the roots that it may see: a caller may not be allowed all of them.
//
// An [Index] may be used by several goroutines at once. Entries never change once they are handed out.
package index
