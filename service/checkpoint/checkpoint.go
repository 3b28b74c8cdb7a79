// Package checkpoint keeps states of decoders, so that a start at a tick, a resumed stream or the last events of a large
// replay do not cost reading it all again: formats like teehistorian cannot seek by themselves.
//
// A Store is bounded; the checkpoints of replays that were not used for the longest time go first.
package checkpoint

import (
	"container/list"
	"sort"
	"sync"

	"github.com/replayd/replayd/service/encode"
)

// Spacing is how far apart the checkpoints of a replay are at least, in bytes of the replay.
const Spacing = 1 << 20

// overhead is what a checkpoint costs besides its state, roughly, in bytes.
const overhead = 96

// Store keeps the checkpoints of all replays. It is safe for concurrent use.
type Store struct {
	limit int

	mu    sync.Mutex
	bytes int
	byKey map[any]*list.Element // of *replay
	used  *list.List            // most recently used first
}

// NewStore returns a store that holds at most that many bytes.
func NewStore(limit int) *Store {
	return &Store{limit: limit, byKey: map[any]*list.Element{}, used: list.New()}
}

// replay is what the store keeps of one replay.
type replay struct {
	key    any
	points []encode.Checkpoint // ascending
	bytes  int
	// spacing is how far apart points are at least. It doubles whenever they take too much memory.
	spacing int64
}

// Of returns the checkpoints of one replay. The key must be comparable and name one immutable beginning of a file, such
// as the file's id together with the replay's identity: files only grow.
func (s *Store) Of(key any) encode.Checkpoints { return view{s, key} }

type view struct {
	s   *Store
	key any
}

// Last implements encode.Checkpoints.
func (v view) Last(before func(*encode.Checkpoint) bool) (encode.Checkpoint, bool) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	e := v.s.byKey[v.key]
	if e == nil {
		return encode.Checkpoint{}, false
	}
	v.s.used.MoveToFront(e)
	points := e.Value.(*replay).points
	n := sort.Search(len(points), func(i int) bool { return !before(&points[i]) })
	if n == 0 {
		return encode.Checkpoint{}, false
	}
	return points[n-1], true
}

// Wanted implements encode.Checkpoints.
func (v view) Wanted(offset int64) bool {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if e := v.s.byKey[v.key]; e != nil {
		return e.Value.(*replay).room(offset)
	}
	return offset >= Spacing
}

// room tells whether no checkpoint is near that offset.
func (r *replay) room(offset int64) bool {
	i := sort.Search(len(r.points), func(i int) bool { return r.points[i].Position.Offset > offset })
	before := int64(0)
	if i > 0 {
		before = r.points[i-1].Position.Offset
	}
	return offset-before >= r.spacing && (i == len(r.points) || r.points[i].Position.Offset-offset >= r.spacing)
}

// Add implements encode.Checkpoints.
func (v view) Add(c encode.Checkpoint) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[v.key]
	if e == nil {
		e = s.used.PushFront(&replay{key: v.key, spacing: Spacing})
		s.byKey[v.key] = e
	}
	s.used.MoveToFront(e)
	r := e.Value.(*replay)
	if !r.room(c.Position.Offset) {
		return
	}
	i := sort.Search(len(r.points), func(i int) bool { return r.points[i].Position.Offset > c.Position.Offset })
	r.points = append(r.points, encode.Checkpoint{})
	copy(r.points[i+1:], r.points[i:])
	r.points[i] = c
	s.grow(r, overhead+len(c.State))
	for s.bytes > s.limit {
		s.shrink()
	}
}

func (s *Store) grow(r *replay, n int) {
	r.bytes += n
	s.bytes += n
}

// shrink forgets the replay that was not used for the longest time. When only one is left it keeps fewer checkpoints of
// it, which are still spread over the whole replay.
func (s *Store) shrink() {
	e := s.used.Back()
	r := e.Value.(*replay)
	if s.used.Len() > 1 || len(r.points) < 2 {
		s.used.Remove(e)
		delete(s.byKey, r.key)
		s.grow(r, -r.bytes)
		return
	}
	r.spacing *= 2
	kept, last := r.points[:0], int64(0)
	for _, c := range r.points {
		if c.Position.Offset-last >= r.spacing {
			kept = append(kept, c)
			last = c.Position.Offset
		} else {
			s.grow(r, -overhead-len(c.State))
		}
	}
	clear(r.points[len(kept):])
	r.points = kept
}

// Bytes is how much the store holds.
func (s *Store) Bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
