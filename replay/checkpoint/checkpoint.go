// Package checkpoint keeps states of decoders. A stream that starts at a tick, resumes, or wants the last events of a large
// replay then starts in the middle of the file. Formats like teehistorian cannot seek otherwise.
//
// A checkpoint is valid while the bytes before it are those that it was made from. As long as the file was not written to,
// that is known. Afterwards a reader must compare the bytes before it uses a checkpoint; see codec.Checkpoints.
//
// The memory of a Store is bounded. It thins out the checkpoints of the least recently used replay first, and drops them when
// few are left.
package checkpoint

import (
	"container/list"
	"slices"
	"sort"
	"sync"

	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
)

// Spacing is the minimum distance between checkpoints of a replay, in bytes of the replay, if its format has no other.
const Spacing = 1 << 20

// overhead is the approximate size of a checkpoint without its state, in bytes.
const overhead = 128

// Store keeps the checkpoints of all replays. It is safe for concurrent use.
type Store struct {
	limit int

	mu    sync.Mutex
	bytes int
	byKey map[any]*list.Element // elements have a *replay
	used  *list.List            // most recently used first
}

// NewStore returns a store that holds at most that many bytes.
func NewStore(limit int) *Store {
	return &Store{limit: limit, byKey: map[any]*list.Element{}, used: list.New()}
}

// replay holds the checkpoints of one replay.
type replay struct {
	key    any
	points []point // ascending
	bytes  int
	// spacing is the minimum distance between points. It doubles whenever they take too much memory.
	spacing int64
}

// point is a stored checkpoint.
type point struct {
	codec.Checkpoint

	version source.Version // of the file when its bytes before the checkpoint were last compared, or known to be the same
}

// Of returns the checkpoints of one replay, whose file has that version now. The key must be comparable and identify the
// replay, such as the file's id together with the replay's identity.
// spacing is the minimum distance between checkpoints, in bytes of the replay; 0 stands for Spacing.
func (s *Store) Of(key any, version source.Version, spacing int64) codec.Checkpoints {
	if spacing <= 0 {
		spacing = Spacing
	}
	return view{s, key, version, spacing}
}

type view struct {
	s       *Store
	key     any
	version source.Version
	spacing int64
}

// Proven implements codec.Checkpoints.
func (v view) Proven(c *codec.Checkpoint) bool {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	p := v.s.find(v.key, c)
	return p != nil && p.version == v.version
}

// Prove implements codec.Checkpoints.
func (v view) Prove(c *codec.Checkpoint) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if p := v.s.find(v.key, c); p != nil {
		p.version = v.version
	}
}

// find returns the stored checkpoint that equals c, nil if it was dropped.
func (s *Store) find(key any, c *codec.Checkpoint) *point {
	e := s.byKey[key]
	if e == nil {
		return nil
	}
	points := e.Value.(*replay).points
	i := sort.Search(len(points), func(i int) bool { return !points[i].Position.Before(c.Position) })
	if i == len(points) || points[i].Position != c.Position || points[i].Sum != c.Sum {
		return nil
	}
	return &points[i]
}

// Drop implements codec.Checkpoints.
func (v view) Drop() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if e := v.s.byKey[v.key]; e != nil {
		v.s.drop(e)
	}
}

// Last implements codec.Checkpoints.
func (v view) Last(before func(*codec.Checkpoint) bool) (codec.Checkpoint, bool) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	e := v.s.byKey[v.key]
	if e == nil {
		return codec.Checkpoint{}, false
	}
	v.s.used.MoveToFront(e)
	points := e.Value.(*replay).points
	n := sort.Search(len(points), func(i int) bool { return !before(&points[i].Checkpoint) })
	if n == 0 {
		return codec.Checkpoint{}, false
	}
	return points[n-1].Checkpoint, true
}

// After implements codec.Checkpoints.
func (v view) After(offset int64) (codec.Checkpoint, bool) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	e := v.s.byKey[v.key]
	if e == nil {
		return codec.Checkpoint{}, false
	}
	points := e.Value.(*replay).points
	i := sort.Search(len(points), func(i int) bool { return points[i].Position.Offset > offset })
	if i == len(points) {
		return codec.Checkpoint{}, false
	}
	return points[i].Checkpoint, true
}

// Wanted implements codec.Checkpoints.
func (v view) Wanted(offset int64) bool {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if e := v.s.byKey[v.key]; e != nil {
		return e.Value.(*replay).room(offset)
	}
	return offset >= v.spacing
}

// room reports whether there is no checkpoint near that offset.
func (r *replay) room(offset int64) bool {
	i := sort.Search(len(r.points), func(i int) bool { return r.points[i].Position.Offset > offset })
	before := int64(0)
	if i > 0 {
		before = r.points[i-1].Position.Offset
	}
	return offset-before >= r.spacing && (i == len(r.points) || r.points[i].Position.Offset-offset >= r.spacing)
}

// Add implements codec.Checkpoints.
func (v view) Add(c codec.Checkpoint) {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[v.key]
	if e == nil {
		e = s.used.PushFront(&replay{key: v.key, spacing: v.spacing})
		s.byKey[v.key] = e
	}
	s.used.MoveToFront(e)
	r := e.Value.(*replay)
	if !r.room(c.Position.Offset) {
		return
	}
	i := sort.Search(len(r.points), func(i int) bool { return r.points[i].Position.Offset > c.Position.Offset })
	r.points = slices.Insert(r.points, i, point{c, v.version})
	s.grow(r, hold(&c))
	for s.bytes > s.limit {
		s.shrink()
	}
}

// hold returns how many bytes adding a checkpoint takes. release returns how many bytes removing it frees.
func hold(c *codec.Checkpoint) int {
	if c.Shared != nil {
		return overhead + c.Shared.Hold()
	}
	return overhead + len(c.State)
}

func release(c *codec.Checkpoint) int {
	if c.Shared != nil {
		return overhead + c.Shared.Release()
	}
	return overhead + len(c.State)
}

// drop removes a replay.
func (s *Store) drop(e *list.Element) {
	r := e.Value.(*replay)
	s.used.Remove(e)
	delete(s.byKey, r.key)
	for i := range r.points {
		s.grow(r, -release(&r.points[i].Checkpoint))
	}
}

func (s *Store) grow(r *replay, n int) {
	r.bytes += n
	s.bytes += n
}

// few is the number of checkpoints below which a replay's are removed as a whole, and not thinned out.
const few = 4

// shrink thins out the checkpoints of the least recently used replay, which stay spread over the whole of it. When only few are
// left it removes them all, if there are others.
func (s *Store) shrink() {
	e := s.used.Back()
	r := e.Value.(*replay)
	if s.used.Len() > 1 && len(r.points) <= few || len(r.points) < 2 {
		s.drop(e)
		return
	}
	r.spacing *= 2
	kept, last := r.points[:0], int64(0)
	for _, c := range r.points {
		if c.Position.Offset-last >= r.spacing {
			kept = append(kept, c)
			last = c.Position.Offset
		} else {
			s.grow(r, -release(&c.Checkpoint))
		}
	}
	clear(r.points[len(kept):])
	r.points = kept
}

// Bytes returns the size of the store's contents.
func (s *Store) Bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
