// Package tables keeps tables as files without names for a short time, so that clients can read them in parts.
//
//	store.go  which files are kept, for whom, and how long
//	draft.go  a file that is being written
//	maker.go  writes the events of a stream to a draft
package tables
