package dem_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// snapshots decodes data from where d is and returns a snapshot of each so many records.
func snapshots(data []byte, from *dem.Snapshot, each int) (out []*dem.Snapshot) {
	var d *dem.Decoder
	n := 0
	opts := dem.Options{Record: func() bool {
		if n++; n%each == 0 {
			if s := d.Snapshot(); s != nil {
				out = append(out, s)
			}
		}
		return false
	}}
	if d = dem.New(bytes.NewReader(data), opts); from != nil {
		d = dem.Resume(bytes.NewReader(data[from.Position().Offset:]), opts, from)
	}
	_ = run(d, func(*dem.Event) {})
	return out
}

// resumed returns the events from a snapshot on, or from where seek leads from there.
func resumed(t *testing.T, data []byte, opts dem.Options, s *dem.Snapshot, seek func(*dem.Decoder) error) (out []placed) {
	t.Helper()
	d := dem.Resume(bytes.NewReader(data[s.Position().Offset:]), opts, s)
	if seek != nil {
		if err := seek(d); err != nil {
			t.Fatalf("seeking ended with %v", err)
		}
	} else if want := (decoders.Position{Offset: s.Position().Offset}); d.Position() != want || d.Sum() != s.Sum() || d.Tick() != s.Tick() {
		t.Errorf("resumed at %v, sum %x, tick %d; want %v, %x, %d", d.Position(), d.Sum(), d.Tick(), want, s.Sum(), s.Tick())
	}
	_ = run(d, func(ev *dem.Event) {
		out = append(out, placed{at: d.EventPosition(), next: d.Position(), kind: ev.Kind, text: eventText(d, ev)})
	})
	return out
}

// snapshotSamples are demos of our own making with everything that a snapshot has to hold.
func snapshotSamples() map[string][]byte {
	files := positionSamples()
	files["world"], files["damaged world"] = demtest.World(false), demtest.World(true)
	files["client"] = demtest.ClientWorld()
	files["match"], files["round"] = demtest.Match(), demtest.Round()
	return files
}

// TestSnapshots: from each snapshot, whatever is wanted, come the events that come without it.
func TestSnapshots(t *testing.T) {
	taken := 0
	for name, data := range snapshotSamples() {
		t.Run(name, func(t *testing.T) { taken += testSnapshots(t, data, 1, 6) })
	}
	if taken < 500 {
		t.Errorf("only %d snapshots were taken", taken)
	}
}

// TestCorpusSnapshots is TestSnapshots of real files, from fewer places.
func TestCorpusSnapshots(t *testing.T) {
	for name, data := range someSource2(t) {
		t.Run(name, func(t *testing.T) {
			if testSnapshots(t, data, 12, 1) == 0 {
				t.Error("no snapshot was taken")
			}
		})
	}
}

// testSnapshots takes a snapshot of each so many records, and resumes from at most limit of them. It returns how many there
// were.
func testSnapshots(t *testing.T, data []byte, each, limit int) int {
	t.Helper()
	all := walk(t, data, dem.Options{Kinds: everything}, nil)
	whole := dem.New(bytes.NewReader(data), dem.Options{})
	_ = run(whole, func(*dem.Event) {})
	random := rand.New(rand.NewPCG(uint64(len(data)), 3))
	first := snapshots(data, nil, each)
	n := len(first)
	random.Shuffle(n, func(i, k int) { first[i], first[k] = first[k], first[i] })
	for i, s := range first[:min(n, limit)] {
		classes := map[string]bool{}
		for _, p := range all {
			classes[p.class] = random.IntN(2) > 0
		}
		one := dem.Kind(1 + random.IntN(dem.KindCount-1))
		views := []struct {
			name string
			opts dem.Options
			keep func(*placed) bool
		}{
			{"all", dem.Options{Kinds: everything}, func(*placed) bool { return true }},
			{one.String(), dem.Options{Kinds: func(k dem.Kind) bool { return k == one }}, func(p *placed) bool { return p.kind == one }},
			{"classes", dem.Options{Kinds: everything, Classes: func(c string) bool { return classes[c] }}, func(p *placed) bool { return p.class == "" || classes[p.class] }},
			{"entities of classes", dem.Options{Kinds: isEntity, Classes: func(c string) bool { return classes[c] }}, func(p *placed) bool { return isEntity(p.kind) && classes[p.class] }},
		}
		for _, view := range views {
			what := fmt.Sprintf("%s from %d", view.name, s.Position().Offset)
			rest := only(all, func(p *placed) bool { return view.keep(p) && p.at.Offset >= s.Position().Offset })
			same(t, what, resumed(t, data, view.opts, s, nil), rest)
			if len(rest) == 0 || i > 1 {
				continue
			}
			at := rest[random.IntN(len(rest))].at
			got := resumed(t, data, view.opts, s, func(d *dem.Decoder) error { return d.Seek(at) })
			same(t, fmt.Sprintf("%s, then %v", what, at), got, only(rest, func(p *placed) bool { return !p.at.Before(at) }))
		}
		some := dem.Options{Fields: func(class, field string) bool { return (len(class)+len(field)+i)%3 > 0 }}
		rest := only(walk(t, data, some, nil), func(p *placed) bool { return p.at.Offset >= s.Position().Offset })
		same(t, fmt.Sprintf("fields from %d", s.Position().Offset), resumed(t, data, some, s, nil), rest)
		sameState(t, data, s)
		end := dem.Resume(bytes.NewReader(data[s.Position().Offset:]), dem.Options{}, s)
		if _ = run(end, func(*dem.Event) {}); end.Stats() != whole.Stats() {
			t.Errorf("from %d, at the end: %+v\nwant %+v", s.Position().Offset, end.Stats(), whole.Stats())
		}
		if i > 0 {
			continue
		}
		if again := snapshots(data, s, each); len(again) > 0 { // of a decoder that was itself resumed
			s := again[random.IntN(len(again))]
			rest := only(all, func(p *placed) bool { return p.at.Offset >= s.Position().Offset })
			same(t, fmt.Sprintf("twice resumed at %d", s.Position().Offset), resumed(t, data, dem.Options{Kinds: everything}, s, nil), rest)
		}
		if t.Failed() {
			break
		}
	}
	return n
}

// TestSharedSnapshots: decoders that were resumed from one snapshot, and the one that made it, go on at once and do not disturb one
// another, nor those that are resumed when they are done.
func TestSharedSnapshots(t *testing.T) {
	samples := snapshotSamples()
	if testing.Short() { // with the race detector
		samples = map[string][]byte{"damaged world": demtest.World(true)}
	}
	for name, data := range samples {
		t.Run(name, func(t *testing.T) {
			views := []dem.Options{{}, {}, {Fields: func(class, field string) bool { return (len(class)+len(field))%2 > 0 }}}
			wants := make([][]placed, len(views))
			for i, opts := range views {
				wants[i] = walk(t, data, opts, nil)
			}
			check := func(s *dem.Snapshot, view int) {
				want := only(wants[view], func(p *placed) bool { return p.at.Offset >= s.Position().Offset })
				same(t, fmt.Sprintf("view %d from %d", view, s.Position().Offset), resumed(t, data, views[view], s, nil), want)
			}
			var taken []*dem.Snapshot
			var running sync.WaitGroup
			var d *dem.Decoder
			n := 0
			d = dem.New(bytes.NewReader(data), dem.Options{Record: func() bool {
				if n++; n%5 > 0 || len(taken) == 6 {
					return false
				}
				if s := d.Snapshot(); s != nil {
					taken = append(taken, s)
					for view := range views {
						running.Go(func() { check(s, view) })
					}
				}
				return false
			}})
			var got []placed
			_ = run(d, func(ev *dem.Event) {
				got = append(got, placed{at: d.EventPosition(), next: d.Position(), kind: ev.Kind, text: eventText(d, ev)})
			})
			running.Wait()
			same(t, "who makes the snapshots", got, wants[0])
			for _, s := range taken[:min(1, len(taken))] {
				for view := range views {
					check(s, view)
				}
			}
		})
	}
}

// sameState compares the entities, and what is known of the demo, of a resumed decoder and one that came from the front.
func sameState(t *testing.T, data []byte, s *dem.Snapshot) {
	t.Helper()
	to := decoders.Position{Offset: s.Position().Offset}
	got := dem.Resume(bytes.NewReader(data[s.Position().Offset:]), dem.Options{}, s)
	want := dem.New(bytes.NewReader(data), dem.Options{})
	if err := want.Seek(to); err != nil {
		t.Fatal(err)
	}
	var a, b dem.Event
	for i := range dem.MaxEntities {
		is, was := got.Present(i, &a), want.Present(i, &b)
		if next := got.NextPresent(i); next != want.NextPresent(i) || is && next != i {
			t.Fatalf("after slot %d comes %d, want %d", i, next, want.NextPresent(i))
		}
		if is != was || is && (eventText(got, &a) != eventText(want, &b) || a.EntityEntered.OutOfView != b.EntityEntered.OutOfView) {
			t.Errorf("at %d, entity %d is %v %.300s\nwant %v %.300s", s.Position().Offset, i, is, eventText(got, &a), was, eventText(want, &b))
			return
		}
	}
	if is, was := fmt.Sprint(got.Stats(), got.Health()), fmt.Sprint(want.Stats(), want.Health()); is != was {
		t.Errorf("at %d: %s\nwant %s", s.Position().Offset, is, was)
	}
}

// TestSnapshotsShare: what did not change between two snapshots takes memory once, and what is released is free.
func TestSnapshotsShare(t *testing.T) {
	all := snapshots(keyFrames(-1), nil, 1)
	var sizes []int
	held := 0
	for _, s := range all {
		sizes = append(sizes, s.Hold())
		held += sizes[len(sizes)-1]
	}
	alone := 0
	for _, s := range all {
		held -= s.Release()
	}
	for _, s := range all {
		alone += s.Hold()
		s.Release()
	}
	if held != 0 || len(all) < 90 {
		t.Errorf("%d bytes are held by none of %d snapshots", held, len(all))
	}
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	if 5*sum > 4*alone {
		t.Errorf("%d bytes together, %d alone", sum, alone)
	}
}

// TestNoSnapshot: a decoder that leaves out something cannot make one.
func TestNoSnapshot(t *testing.T) {
	for name, opts := range map[string]dem.Options{
		"kinds":   {Kinds: func(k dem.Kind) bool { return k != dem.KindFault }},
		"classes": {Classes: func(string) bool { return true }},
	} {
		var d *dem.Decoder
		opts.Record = func() bool {
			if d.Snapshot() != nil {
				t.Fatalf("%s: a snapshot", name)
			}
			return false
		}
		d = dem.New(bytes.NewReader(demtest.Sample()), opts)
		if d.Snapshot() != nil {
			t.Errorf("%s: a snapshot before anything was read", name)
		}
		_ = run(d, func(*dem.Event) {})
	}
}
