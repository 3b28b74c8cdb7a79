package index

import (
	"bytes"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

// none is a catalogue without roots.
type none struct{ Files }

func (none) Roots() []catalog.Root { return nil }
func (none) Look(name string) (catalog.File, bool, error) {
	return catalog.File{}, false, catalog.NotFound(name)
}

func opened(t *testing.T) *Index {
	t.Helper()
	x, err := Open(Config{Files: none{}, Log: slog.New(slog.DiscardHandler), Codec: func(decoders.Format) *codec.Codec { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// found is what a survey finds of a game.
func found(n int) *codec.Survey {
	s := &codec.Survey{
		Offset: int64(n), LastTick: int32(n), Ended: n%2 == 0, Broken: n%3 == 0, Names: []string{"alice", fmt.Sprint("bob ", n)},
		Roster: fmt.Append(nil, "alice and bob ", n), Participants: bytes.Repeat(fmt.Append(nil, "bob ", n, " came, and left. "), 20),
	}
	switch n % 100 {
	case 0: // of a game that grows
		s.State = []byte("state")
	case 1:
		s.State = []byte{}
	case 2:
		s.Roster, s.Names = nil, nil
	case 3:
		s.Participants = bytes.Repeat([]byte{'x'}, 3*perBlock)
	}
	return s
}

// TestSeldom: what is packed is what was found, also for those who ask while more is packed, and it takes a tenth of the memory.
func TestSeldom(t *testing.T) {
	const games = 1000
	var k seldom
	var asking sync.WaitGroup
	defer asking.Wait()
	list := make([]*Survey, games)
	blocks := map[*block]bool{}
	for i := range list {
		s := newSurvey(found(i))
		k.keep(s)
		list[i] = s
		blocks[s.in] = true
		if i%10 == 0 {
			asking.Go(func() {
				for n, s := range list[:i+1] {
					if got := s.Whole(); !reflect.DeepEqual(got, found(n)) {
						t.Errorf("%d: %+v, want %+v", n, got, found(n))
						return
					}
				}
			})
		}
	}
	asking.Wait()
	raw, packed := 0, 0
	for i, s := range list {
		raw += len(s.rest())
		if s.Continues != (s.in.bytes != nil && !s.in.packed && s.in != k.open) {
			t.Errorf("%d: a survey that continues is packed, or one that is complete is not", i)
		}
	}
	for b := range blocks {
		packed += cap(b.bytes)
	}
	if packed > raw/10+perBlock {
		t.Errorf("%d bytes take %d", raw, packed)
	}
	if s := (*Survey)(nil).Whole(); s != nil {
		t.Errorf("no survey is %+v", s)
	}
	if s := (&Survey{Ended: true}).Whole(); !s.Ended || s.Roster != nil || s.Participants != nil || s.State != nil {
		t.Errorf("a survey that was not made by decoding is %+v", s)
	}
}

// TestReplacedEntries: entries that were replaced are not kept by the nodes of the tree.
func TestReplacedEntries(t *testing.T) {
	const files = 3000
	all := func(int) bool { return true }
	some := func(n int) bool { return n/100%2 == 0 } // neighbours of nodes that stay as they are
	for _, rounds := range [][]func(n int) bool{{all, all, all}, {all, some}} {
		x := opened(t)
		var now [files]weak.Pointer[Entry]
		var old []weak.Pointer[Entry]
		for round, replaced := range rounds {
			for n := range files {
				if !replaced(n) {
					continue
				}
				e := &Entry{Info: source.Info{Name: fmt.Sprintf("r/%05d", n), ID: source.ID{Inode: uint64(n) + 1}}}
				x.mu.Lock()
				x.put(now[n].Value(), e)
				x.mu.Unlock()
				if round > 0 {
					old = append(old, now[n])
				}
				now[n] = weak.Make(e)
			}
		}
		if len(rounds) == 2 {
			x.mu.Lock()
			x.pack()
			x.mu.Unlock()
		}
		runtime.GC()
		kept := 0
		for _, e := range old {
			if e.Value() != nil {
				kept++
			}
		}
		if kept > 0 || x.Figures().Files != files {
			t.Errorf("%d rounds: %d of %d replaced entries are kept, of %d files", len(rounds), kept, len(old), x.Figures().Files)
		}
	}
}

// TestLooks: files that are not expected to change are checked every ten minutes, and nothing is kept of each.
func TestLooks(t *testing.T) {
	x := opened(t)
	now := time.Now()
	x.mu.Lock()
	x.add("r")
	x.dirs["r"].read = now
	for n := range 3 {
		e := &Entry{Info: source.Info{Name: fmt.Sprint("r/", n), ID: source.ID{Inode: uint64(n) + 1}, Modified: now}, Identified: true}
		x.put(nil, e)
	}
	x.mu.Unlock()
	looked := &looks{at: map[string]time.Time{"r/1": now, "r/gone": now}}
	check := func(after time.Duration, want int) {
		t.Helper()
		if due, _ := x.due("r", looked, false, now.Add(after)); len(due) != want || len(looked.at) != 0 {
			t.Errorf("after %v: %d files are due, want %d; the last check of %d is kept", after, len(due), want, len(looked.at))
		}
	}
	check(9*time.Minute, 0)
	check(11*time.Minute, 3)
	looked.settled = now.Add(11 * time.Minute)
	check(20*time.Minute, 0)
	check(21*time.Minute, 3)
	x.mu.Lock()
	x.dirs["r"].read = now.Add(15 * time.Minute)
	x.mu.Unlock()
	check(24*time.Minute, 0)
	x.mu.Lock()
	x.dirs["r"].read = now.Add(-time.Hour)
	x.mu.Unlock()
	looked.settled = now.Add(-time.Hour)
	if next := x.grow(t.Context(), "r", looked, false); next != lookSeldom {
		t.Errorf("the next check is after %v", next)
	}
	check(9*time.Minute, 0)
}
