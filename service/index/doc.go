// Package index knows what lies below the roots, so that nobody has to ask the disk for it: names, sizes and times; of each
// replay what its header says; and, of those whose header does not say it, who played, how long, and whether it has its end.
//
//	index.go     the index, its directories, and what it asks of the catalogue
//	entry.go     what is known of a file
//	scan.go      directories are read when the watcher says that they changed, or when somebody asks
//	grow.go      files that may grow are looked at, the more often the more recently they did
//	identify.go  headers are read, in the background and when somebody asks
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
// Looks at a root, and at its files and directories, are made and noted one at a time, so that a later one is never replaced
// by an earlier one: a file that is gone does not come back, and one that grows is added once.
//
// A query looks first whether a directory that it is about has changed since it was read: who has just made a file finds it.
// What is known of a file that grows may be a second old.
//
// Each query names the roots that it may see, for whoever asks may not be allowed all of them.
//
// An [Index] may be used by several goroutines at once. Entries never change once they are handed out.
package index
