// Package temporary keeps replays that clients have sent, for a limited time. Their bytes are in files without names, which
// disappear with the process.
package temporary

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
	"sync"
	"time"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// Prefix begins the name of every temporary replay. The alias of a root cannot begin with its first character.
const Prefix = "@upload/"

// Is reports whether a name is one of a temporary replay, which need not exist.
func Is(name string) bool { return strings.HasPrefix(name, Prefix) }

// Store holds temporary replays. It is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	replays map[string]*replay // by name
	closed  bool
}

// replay is a temporary replay. The mutex of its Store guards the last two fields.
type replay struct {
	owner   string
	file    *source.File
	release func()
	expires time.Time
	timer   *time.Timer

	readers int
	removed bool // no longer in the Store; it is freed when the last reader closes it
}

// New returns a Store. The caller must Close it.
func New() *Store { return &Store{replays: map[string]*replay{}} }

// name returns a new name. It has 128 random bits, so nobody can guess it.
func name() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return Prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random))
}

// Keep stores a spooled replay for a time, and returns its name and when it expires. It takes ownership of the file. It calls
// release after it has closed the file, which may be long after the replay has expired: readers finish what they read.
func (s *Store) Keep(owner string, file *source.File, life time.Duration, release func()) (string, time.Time) {
	r := &replay{owner: owner, file: file, release: release, expires: time.Now().Add(life)}
	name := name()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		r.remove()
		return name, r.expires
	}
	s.replays[name] = r
	r.timer = time.AfterFunc(life, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(name)
	})
	return name, r.expires
}

// Open opens a temporary replay of an owner, and returns when it expires. It returns the error of a missing file for a name that
// does not exist, has expired, or belongs to another owner.
func (s *Store) Open(owner, name string) (*source.File, time.Time, error) {
	r, err := s.enter(owner, name)
	if err != nil {
		return nil, time.Time{}, err
	}
	file, err := r.file.Unpacked(name, sync.OnceFunc(func() { s.leave(r) }))
	return file, r.expires, err
}

// Expires returns when a temporary replay of an owner expires, and false for one that Open would not find.
func (s *Store) Expires(owner, name string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(owner, name)
	if err != nil {
		return time.Time{}, false
	}
	return r.expires, true
}

// enter finds a replay and counts a reader of it.
func (s *Store) enter(owner, name string) (*replay, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(owner, name)
	if err == nil {
		r.readers++
	}
	return r, err
}

// leave is called when a reader has closed the replay.
func (s *Store) leave(r *replay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.readers--
	r.free()
}

// Delete removes a temporary replay of an owner. It returns the errors of Open.
func (s *Store) Delete(owner, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.find(owner, name); err != nil {
		return err
	}
	s.remove(name)
	return nil
}

// Close removes all replays. Later ones are removed at once.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for name := range s.replays {
		s.remove(name)
	}
}

// find returns a replay of an owner. The Store must be locked.
func (s *Store) find(owner, name string) (*replay, error) {
	r := s.replays[name]
	if r == nil || r.owner != owner || !time.Now().Before(r.expires) {
		return nil, catalog.NotFound(name)
	}
	return r, nil
}

// remove removes a replay if it exists. The Store must be locked.
func (s *Store) remove(name string) {
	if r := s.replays[name]; r != nil {
		delete(s.replays, name)
		r.timer.Stop()
		r.remove()
	}
}

// remove frees the replay as soon as it has no readers. The Store must be locked.
func (r *replay) remove() {
	r.removed = true
	r.free()
}

// free frees a removed replay without readers. The Store must be locked.
func (r *replay) free() {
	if r.removed && r.readers == 0 {
		_ = r.file.Close()
		r.release()
	}
}
