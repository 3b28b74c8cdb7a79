package source

import (
	"os"
	"time"
)

// Writer is what is known of who writes to a file. The API's Writer has the same names.
type Writer uint8

const (
	// NotAsked means that nobody asked, because nothing depends on it.
	NotAsked Writer = iota
	// Present means that a process on this machine has the file open for writing.
	Present
	// Absent means that no process has the file open for writing. A process that was killed has no file open.
	Absent
	// Elsewhere means that it cannot be known, because of where the file is: another machine may write to it, or it is written from
	// below, or the system has no leases.
	Elsewhere
	// Forbidden means that it cannot be known, because this process may take no lease on the file. The file's owner may, and a process
	// with CAP_LEASE.
	Forbidden
)

var writerNames = [...]string{
	NotAsked: "unspecified", Present: "present", Absent: "absent", Elsewhere: "unknown_elsewhere", Forbidden: "unknown_forbidden",
}

// Writers returns all values.
func Writers() []Writer { return []Writer{NotAsked, Present, Absent, Elsewhere, Forbidden} }

// String returns the value's name in the API, such as "present".
func (w Writer) String() string { return writerNames[w] }

// A Witness is a Handle that knows by itself who writes to its file, such as that of a copy of a file of another machine.
type Witness interface {
	Writer() Writer
}

// WriterOf returns who writes to the file of a handle, and when it was last written to before that. It returns Elsewhere if the handle
// is of another file than id says. For a file of the file system it takes a lease, and releases it at once; see lease.
func WriterOf(h Handle, id ID) (w Writer, modified time.Time) {
	switch h := h.(type) {
	case Witness:
		w = h.Writer()
	case *os.File: // nothing that contains one: its file may be a copy
		w = lease(h)
	default:
		return Elsewhere, time.Time{}
	}
	// After the question: what the writer wrote before it went is counted.
	stat, err := h.Stat()
	if err != nil || Identify(stat) != id || !stat.Mode().IsRegular() {
		return Elsewhere, time.Time{}
	}
	return w, stat.ModTime()
}
