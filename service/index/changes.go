package index

import "errors"

// Kind is the kind of a change. The API's ChangeKind has the same names.
type Kind uint8

// The kinds.
const (
	Added   Kind = iota // the file is new, was identified, or replaced another
	Grown               // the file has more bytes
	Quiet               // nothing was written to the file for a minute
	Ended               // the replay has ended: see Finished and Abandoned
	Removed             // the file is gone
)

var kindNames = [...]string{Added: "added", Grown: "growing", Quiet: "silent", Ended: "finished", Removed: "removed"}

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Added, Grown, Quiet, Ended, Removed} }

// String returns the kind's name in the API, such as "added".
func (k Kind) String() string { return kindNames[k] }

// Change is a change of one file.
type Change struct {
	Kind  Kind
	Entry *Entry
}

// kept is how many changes are kept for watchers that have not read them yet.
const kept = 1 << 16

// ErrBehind means that changes which a watcher has not read yet are no longer kept.
var ErrBehind = errors.New("more became of replays than is kept for a client that is slow")

// changes holds the last changes. It is guarded by Index.mu.
type changes struct {
	ring [kept]Change
	next uint64 // the number of the next change, from 0
	wake chan struct{}
}

func (c *changes) add(change Change) {
	c.ring[c.next%kept] = change
	c.next++
	close(c.wake)
	c.wake = make(chan struct{})
}

// Now returns the number of the next change.
func (x *Index) Now() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.changes.next
}

// Since returns up to most changes from a number on, the number of the change after them, and a channel that is closed when more
// changes occur. It returns ErrBehind if the changes are no longer kept.
func (x *Index) Since(from uint64, most int) (list []Change, next uint64, more <-chan struct{}, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if from+kept < x.changes.next {
		return nil, 0, nil, ErrBehind
	}
	for next = from; next < x.changes.next && len(list) < most; next++ {
		list = append(list, x.changes.ring[next%kept])
	}
	return list, next, x.changes.wake, nil
}
