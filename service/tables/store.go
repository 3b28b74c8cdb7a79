package tables

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// Idle is how long a table is kept after its last use.
	Idle = time.Minute
	// most is how many tables are kept, besides those in use.
	most = 64
)

// Store holds tables. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	tables []*kept                  // the one that was made last comes last
	making map[string]chan struct{} // by key; closed when the table is there, or could not be made
	closed bool
}

// New returns a Store. The caller must Close it.
func New() *Store { return &Store{making: map[string]chan struct{}{}} }

// Asked says which table a caller wants.
type Asked struct {
	// Key identifies the request: tables of equal keys that were made of the same contents are equal.
	Key string
	// Version identifies the present contents of the replay.
	Version string
	// Owner is the caller on whose account the table takes room.
	Owner string
	// Tag is the tag of the table that the caller knows, empty for none. A table that has it is right, whatever its version.
	Tag string
	// Part says that the caller reads a part, and may have read others: without a Tag the table that was made last is right.
	Part bool
}

// kept is a table in a Store, whose mutex guards the fields of the second part.
type kept struct {
	Result
	key, version, owner string
	file                *os.File
	size                int64
	tag                 string
	release             func()

	users int
	used  time.Time
	timer *time.Timer // runs while there are no users
}

// Table is a table that somebody reads.
type Table struct {
	*io.SectionReader
	Result

	// Tag identifies the contents.
	Tag string

	close func()
}

// Close ends the use of the table.
func (t *Table) Close() { t.close() }

// Open returns a table. If it has none that is right, fill writes it to a draft, which is closed if fill fails; meanwhile other
// callers who want it wait. The account is charged for a table that is made, and returned in any case. The caller must Close the table.
func (s *Store) Open(ctx context.Context, a Asked, fill func(*Draft) (Result, error), account Account) (*Table, error) {
	for {
		t, wait := s.find(a)
		switch {
		case t != nil:
			account.Return()
			return s.reading(t), nil
		case wait == nil:
			return s.make(a, fill, account)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			account.Return()
			return nil, ctx.Err()
		}
	}
}

// find returns a table that is right, and counts a user. If there is none it returns a channel to wait for, or nil for who is to make
// the table.
func (s *Store) find(a Asked) (*kept, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.right(a); t != nil {
		t.users++
		if t.timer != nil {
			t.timer.Stop()
		}
		return t, nil
	}
	if wait := s.making[a.Key]; wait != nil {
		return nil, wait
	}
	s.making[a.Key] = make(chan struct{})
	return nil, nil
}

// right returns the table that is right for who asks, or nil. The Store must be locked.
func (s *Store) right(a Asked) *kept {
	var last *kept
	for _, t := range slices.Backward(s.tables) {
		switch {
		case t.key != a.Key:
		case a.Tag != "" && t.tag == a.Tag:
			return t
		case last == nil:
			last = t
		}
	}
	if last != nil && (last.version == a.Version || a.Part && a.Tag == "") {
		return last
	}
	return nil
}

// make makes a table, which has one user then. Who waits for it goes on even if fill panics.
func (s *Store) make(a Asked, fill func(*Draft) (Result, error), account Account) (*Table, error) {
	var t *kept
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t != nil {
			for len(s.tables) >= most && s.dropOldest("") {
			}
			s.tables = append(s.tables, t)
		}
		close(s.making[a.Key])
		delete(s.making, a.Key)
	}()
	made, err := s.written(a, fill, account)
	if err != nil {
		return nil, err
	}
	t = made
	return s.reading(t), nil
}

// written returns a table that is written.
func (s *Store) written(a Asked, fill func(*Draft) (Result, error), account Account) (*kept, error) {
	d, err := s.draft(a.Owner, account)
	if err != nil {
		account.Return()
		return nil, err
	}
	whole := false
	defer func() {
		if !whole {
			d.close()
		}
	}()
	result, err := fill(d)
	if err == nil {
		err = d.finish()
	}
	if err != nil {
		return nil, err
	}
	whole = true
	return &kept{
		Result: result, key: a.Key, version: a.Version, owner: a.Owner, file: d.file, size: d.size, tag: d.tag(),
		release: account.Return, users: 1,
	}, nil
}

// reading returns a table for a user that was counted.
func (s *Store) reading(t *kept) *Table {
	return &Table{
		SectionReader: io.NewSectionReader(t.file, 0, t.size), Result: t.Result, Tag: t.tag, close: sync.OnceFunc(func() { s.leave(t) }),
	}
}

// leave ends a use.
func (s *Store) leave(t *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.users--; t.users > 0 {
		return
	}
	if s.closed {
		s.drop(t)
		return
	}
	t.used = time.Now()
	t.timer = time.AfterFunc(Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users == 0 && time.Since(t.used) >= Idle { // nobody came in between
			s.drop(t)
		}
	})
}

// drop forgets a table without users. The Store must be locked.
func (s *Store) drop(t *kept) {
	i := slices.Index(s.tables, t)
	if i < 0 {
		return
	}
	s.tables = slices.Delete(s.tables, i, i+1)
	if t.timer != nil {
		t.timer.Stop()
	}
	_ = t.file.Close()
	t.release()
}

// dropOldest drops the table that nobody has used for longest, of an owner or, if that is empty, of all. It reports false if all are in
// use. The Store must be locked.
func (s *Store) dropOldest(owner string) bool {
	var oldest *kept
	for _, t := range s.tables {
		if t.users == 0 && (owner == "" || t.owner == owner) && (oldest == nil || t.used.Before(oldest.used)) {
			oldest = t
		}
	}
	if oldest == nil {
		return false
	}
	s.drop(oldest)
	return true
}

// room drops a table for another one that needs room; see dropOldest.
func (s *Store) room(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropOldest(owner)
}

// Close drops all tables, those in use as soon as they are closed.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, t := range slices.Clone(s.tables) {
		if t.users == 0 {
			s.drop(t)
		}
	}
}
