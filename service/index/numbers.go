package index

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// A subscription to many replays resumes by the numbers of the replays that it is done with. So the index numbers the replays of each
// root, from 1, in the order in which it meets them, and keeps the numbers of replays that are gone. A copy, a new name or a
// compressed file is the same replay. In each directory a replay is met anew, because a subscription to that directory has not seen it:
// of several numbers of a replay, a selection counts the oldest one below its directory.
//
// Numbers of one root say nothing about another root, because a caller may not be allowed to see that.

// Generation identifies the numbers of an index. Numbers of another generation mean nothing.
type Generation [8]byte

// Numbered is a replay with its number.
type Numbered struct {
	Root   string // the alias
	Number uint64
	// Identity is the replay's. It is empty if no file of the replay was met since the index was opened.
	Identity string

	first uint32 // the place of the replay's first meeting
}

// replayKey identifies a replay within its lineage.
type replayKey [16]byte

func (x *Index) keyOf(e *Entry) replayKey {
	sum := sha256.Sum256([]byte(x.lineage(e.Name) + "\x00" + e.Identity))
	return replayKey(sum[:16])
}

// meeting is a number that a replay has. Meetings are referred to by their place, since there may be millions.
type meeting struct {
	identity string // the replay's, in its first meeting, if a file of it was met since the index was opened
	dir      uint32 // the place of the directory's name
	number   uint32
	first    uint32 // the replay's first meeting
	next     uint32 // the replay's next meeting, or 0
}

// numbers holds the numbers of an index. It is guarded by Index.mu.
type numbers struct {
	generation Generation
	met        []meeting            // in the order in which replays were met; none at 0
	ofReplay   map[replayKey]uint32 // the first meeting
	inRoot     map[string][]uint32  // by alias: the meeting with the number n at n-1
	dirs       []string
	dirOf      map[string]uint32 // the place in dirs
	stored     map[string]uint64 // by alias: the last number that outlives the process, and may be used
	unstored   []meetingOf       // in the order in which they were met
	next       uint64            // the key of the next stored number
	wake       chan struct{}     // closed when stored changes
	work       chan struct{}     // receives when unstored is not empty
}

// meetingOf is a number that was not stored yet.
type meetingOf struct {
	key replayKey
	dir string
}

var (
	numbersName   = []byte("numbers")
	generationKey = []byte("generation")
)

func newNumbers() numbers {
	n := numbers{
		met: make([]meeting, 1), ofReplay: map[replayKey]uint32{}, inRoot: map[string][]uint32{}, dirOf: map[string]uint32{},
		stored: map[string]uint64{}, wake: make(chan struct{}), work: make(chan struct{}, 1),
	}
	_, _ = rand.Read(n.generation[:]) // never fails
	return n
}

// load reads the stored numbers. same is false if other origins belong together than when they were stored: replays that were
// one may be two then, so the numbers begin anew.
func (n *numbers) load(tx *bbolt.Tx, same bool) error {
	meta := tx.Bucket(metaName)
	if stored := meta.Get(generationKey); same && len(stored) == len(n.generation) {
		copy(n.generation[:], stored)
	} else {
		if tx.Bucket(numbersName) != nil {
			if err := tx.DeleteBucket(numbersName); err != nil {
				return err
			}
		}
		if err := meta.Put(generationKey, n.generation[:]); err != nil {
			return err
		}
	}
	b, err := tx.CreateBucketIfNotExists(numbersName)
	if err != nil {
		return err
	}
	err = b.ForEach(func(at, value []byte) error {
		if len(at) != 8 || len(value) <= len(replayKey{}) {
			return fmt.Errorf("number % x is damaged, and the index may be deleted", at)
		}
		n.meet(replayKey(value[:len(replayKey{})]), string(value[len(replayKey{}):]))
		n.next = binary.BigEndian.Uint64(at) + 1
		return nil
	})
	n.publish()
	return err
}

// meet gives a replay the next number of a root.
func (n *numbers) meet(key replayKey, dir string) {
	alias, at := root(dir), uint32(len(n.met))
	n.inRoot[alias] = append(n.inRoot[alias], at)
	known, ok := n.dirOf[dir]
	if !ok {
		known = uint32(len(n.dirs))
		n.dirs = append(n.dirs, dir)
		n.dirOf[dir] = known
	}
	m := meeting{dir: known, number: uint32(len(n.inRoot[alias])), first: at}
	if first := n.ofReplay[key]; first == 0 {
		n.ofReplay[key] = at
	} else {
		m.first = first
		last := first
		for n.met[last].next != 0 {
			last = n.met[last].next
		}
		n.met[last].next = at
	}
	n.met = append(n.met, m)
	n.unstored = append(n.unstored, meetingOf{key, n.dirs[known]})
}

// of returns the meetings of a replay from its first one on, the oldest first.
func (n *numbers) of(first uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for at := first; at != 0 && yield(at); at = n.met[at].next {
		}
	}
}

// dir returns the name of the directory of a meeting.
func (n *numbers) dir(at uint32) string { return n.dirs[n.met[at].dir] }

// publish makes the numbers usable that were not stored before.
func (n *numbers) publish() { n.published(n.unstored); n.unstored = nil }

func (n *numbers) published(list []meetingOf) {
	if len(list) == 0 {
		return
	}
	for _, m := range list {
		n.stored[root(m.dir)]++
	}
	close(n.wake)
	n.wake = make(chan struct{})
}

// number gives the replay of an entry its number. The index must be locked.
func (x *Index) number(e *Entry) {
	if e.Identity == "" {
		return
	}
	n, key, dir := &x.numbers, x.keyOf(e), dirOf(e.Name)
	for at := range n.of(n.ofReplay[key]) {
		if n.dir(at) == dir {
			n.met[n.ofReplay[key]].identity = e.Identity
			return
		}
	}
	n.meet(key, dir)
	n.met[n.ofReplay[key]].identity = e.Identity
	if x.stored == nil {
		n.publish()
		return
	}
	select {
	case n.work <- struct{}{}:
	default:
	}
}

// numbering stores new numbers at once.
func (x *Index) numbering() {
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-x.numbers.work:
		}
		for {
			err := x.storeNumbers()
			if err == nil {
				break
			}
			x.Log.Warn("the numbers of new replays cannot be stored, so nobody subscribes to them", "path", x.Path, "error", err)
			select {
			case <-x.ctx.Done():
				return
			case <-time.After(storeEvery):
			}
		}
	}
}

func (x *Index) storeNumbers() error {
	x.mu.Lock()
	n := &x.numbers
	list := n.unstored
	n.unstored = nil
	x.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	err := x.stored.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(numbersName)
		b.FillPercent = 1 // keys only ascend
		for i, m := range list {
			if err := b.Put(binary.BigEndian.AppendUint64(nil, n.next+uint64(i)), append(m.key[:], m.dir...)); err != nil {
				return err
			}
		}
		return nil
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		n.unstored = append(list, n.unstored...)
		return err
	}
	n.next += uint64(len(list))
	n.published(list)
	return nil
}

// Generation returns the generation of the index's numbers. It lasts as long as the stored index and the lineages.
func (x *Index) Generation() Generation {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.numbers.generation
}

// Selection is the set of replays that a query finds, now and later. The query must not have conditions that change while a replay
// grows: on players and states.
type Selection struct {
	x      *Index
	query  Query
	wanted *wanted
}

// Select returns the selection of a query.
func (x *Index) Select(q Query) Selection { return Selection{x, q, newWanted(&q.Filter)} }

// Roots returns the aliases of the roots that may have replays of the selection, in order.
func (s Selection) Roots() (list []string) {
	for alias := range s.x.roots {
		if s.query.Scope.has(alias) && (s.query.Dir == "" || root(s.query.Dir) == alias) {
			list = append(list, alias)
		}
	}
	slices.Sort(list)
	return list
}

// Last returns the last number of a root that may be used.
func (s Selection) Last(alias string) uint64 {
	s.x.mu.RLock()
	defer s.x.mu.RUnlock()
	return s.x.numbers.stored[alias]
}

// Next returns the replays that were met below the selection's directory, of the numbers of a root after a number and up to another
// one. It looks at some numbers, and returns the last one of them. more is closed when further numbers may be used.
func (s Selection) Next(alias string, after uint64) (list []Numbered, last uint64, more <-chan struct{}) {
	x := s.x
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := &x.numbers
	for last = after; last < n.stored[alias] && last < after+chunk; {
		m := n.met[n.inRoot[alias][last]]
		last++
		if s.counts(m.first, alias, last) {
			list = append(list, Numbered{Root: alias, Number: last, Identity: n.met[m.first].identity, first: m.first})
		}
	}
	return list, last, n.wake
}

// At returns the replay with a number, which must be a used one.
func (s Selection) At(alias string, number uint64) (Numbered, bool) {
	s.x.mu.RLock()
	defer s.x.mu.RUnlock()
	n := &s.x.numbers
	if number == 0 || number > n.stored[alias] {
		return Numbered{}, false
	}
	first := n.met[n.inRoot[alias][number-1]].first
	return Numbered{Root: alias, Number: number, Identity: n.met[first].identity, first: first}, true
}

// Of returns the number by which the selection counts the replay of an entry, if it does and the number may be used.
func (s Selection) Of(e *Entry) (Numbered, bool) {
	if e.Identity == "" {
		return Numbered{}, false
	}
	x := s.x
	x.mu.RLock()
	defer x.mu.RUnlock()
	n := &x.numbers
	for at := range n.of(n.ofReplay[x.keyOf(e)]) {
		if dir, m := n.dir(at), n.met[at]; s.within(dir) {
			alias, number := root(dir), uint64(m.number)
			return Numbered{Root: alias, Number: number, Identity: e.Identity, first: m.first}, number <= n.stored[alias]
		}
	}
	return Numbered{}, false
}

// counts reports whether a number is the one by which the selection counts a replay. The index must be locked.
func (s Selection) counts(first uint32, alias string, number uint64) bool {
	n := &s.x.numbers
	for at := range n.of(first) {
		if dir := n.dir(at); s.within(dir) {
			return root(dir) == alias && uint64(n.met[at].number) == number
		}
	}
	return false
}

// within reports whether a directory is below that of the query, and in its scope.
func (s Selection) within(dir string) bool {
	return s.query.Scope.has(dir) && (s.query.Dir == "" || dir == s.query.Dir || strings.HasPrefix(dir, s.query.Dir+"/"))
}

// Files returns the files that hold a replay and match the query, those that may grow first, and whether any file that holds it is
// known. With anywhere, they may be outside the query's directory: a replay that has begun is followed when it is moved. Nothing is
// read for it.
func (s Selection) Files(n Numbered, anywhere bool) (list []*Entry, known bool) {
	copies, now := s.x.Family(s.x.nameOf(n), s.query.Scope).Copies(n.Identity), time.Now()
	for _, e := range copies {
		if (anywhere || s.within(dirOf(e.Name))) && s.x.matches(e, &s.query, s.wanted, now) {
			list = append(list, e)
		}
	}
	return list, len(copies) > 0
}

// Has reports whether a file is below the selection's directory and matches its query.
func (s Selection) Has(e *Entry) bool {
	return s.within(dirOf(e.Name)) && s.x.matches(e, &s.query, s.wanted, time.Now())
}

// MayGrow reports whether the file of an entry may grow, as far as is known.
func (s Selection) MayGrow(e *Entry) bool { return s.x.mayGrow(e) }

// Look returns the present entry of a file.
func (s Selection) Look(ctx context.Context, name string) (*Entry, error) {
	return s.x.Get(ctx, name, s.query.Scope)
}

// nameOf returns the name of a directory in which a replay was met.
func (x *Index) nameOf(n Numbered) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for at := range x.numbers.of(n.first) {
		if dir := x.numbers.dir(at); root(dir) == n.Root && uint64(x.numbers.met[at].number) == n.Number {
			return dir
		}
	}
	return n.Root
}

// Refresh reads what has changed in the root of a replay, and in the roots that belong together with it, so that Files returns
// what is there. It may take as long as the root takes to answer.
func (s Selection) Refresh(ctx context.Context, n Numbered) error {
	if err := s.x.refresh(ctx, n.Root, s.query.Scope); err != nil {
		return err
	}
	for at := ""; ; {
		entries := s.x.next(at, n.Root)
		if len(entries) == 0 {
			return nil
		}
		at = entries[len(entries)-1].Name
		for _, e := range entries {
			if s.x.identify(ctx, e); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}

// Gone reports whether it is certain that a root has no file of a replay of which Files returns none: the root was read, is there, and
// the beginnings of all its files were, but for those that the daemon may not read.
func (s Selection) Gone(alias string) bool {
	x := s.x
	state := x.roots[alias]
	if state == nil {
		return false
	}
	select {
	case <-state.settled:
	default:
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if d := x.dirs[alias]; d == nil || d.read.IsZero() || state.every == 0 && d.modified.IsZero() || state.failed != nil {
		return false
	}
	for e := range x.below(alias) {
		if !e.Identified && !e.tried && !e.denied {
			return false
		}
	}
	return true
}
