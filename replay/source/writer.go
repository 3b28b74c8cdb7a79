package source

import (
	"os"
	"time"
)

// Writer says what is known of the process that writes to a file. The API's Writer has the same names.
type Writer uint8

const (
	// NotAsked means that nobody asked, because nothing depends on it.
	NotAsked Writer = iota
	// Present means that a process on this machine has the file open for writing.
	Present
	// Absent means that no process has the file open for writing. A process that was killed has no file open.
	Absent
	// Elsewhere means that the place of the file makes it impossible to know: another machine may write to it, or a layer below
	// writes it, or the system has no leases.
	Elsewhere
	// Forbidden means that this process may take no lease on the file. The file's owner may, and a process with CAP_LEASE.
	Forbidden
)

var writerNames = [...]string{
	NotAsked: "unspecified", Present: "present", Absent: "absent", Elsewhere: "unknown_elsewhere", Forbidden: "unknown_forbidden",
}

// Writers returns all values.
func Writers() []Writer { return []Writer{NotAsked, Present, Absent, Elsewhere, Forbidden} }

// String returns the value's name in the API, such as "present".
func (w Writer) String() string { return writerNames[w] }

// A Witness is a Handle that knows by itself who writes to its file, such as the Handle of a copy of another machine's file.
type Witness interface {
	Writer() Writer
}

// WriterOf returns who writes to the file of a handle, and when it was last written to before that. It returns Elsewhere if the
// handle's file has another ID than id. For a file of the file system it takes a lease, and releases it at once; see lease.
func WriterOf(h Handle, id ID) (w Writer, modified time.Time) {
	switch h := h.(type) {
	case Witness:
		w = h.Writer()
	case *os.File: // not a Handle that contains an *os.File: its file may be a copy
		w = lease(h)
	default:
		return Elsewhere, time.Time{}
	}
	// After the lease, so that the time counts the writer's last writes.
	stat, err := h.Stat()
	if err != nil || Identify(stat) != id || !stat.Mode().IsRegular() {
		return Elsewhere, time.Time{}
	}
	return w, stat.ModTime()
}
