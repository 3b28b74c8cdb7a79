package teehistorian_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// BenchmarkSearch searches bytes that are no records.
func BenchmarkSearch(b *testing.B) {
	random := make([]byte, 1<<20)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(source.Uint32())
	}
	for name, bad := range map[string][]byte{
		"zeros": make([]byte, 1<<20), "random": random, "text": bytes.Repeat([]byte("HIJHIJ\x4a\x49"), 1<<17),
		"texts": bytes.Repeat([]byte("\x48\x03aaaaaaaaaa"), 1<<20/12), "moves": bytes.Repeat([]byte{0, 1, 1}, 1<<20/3),
	} {
		b.Run(name, func(b *testing.B) {
			data := append(file(func(w *writer) { w.opening(); w.int(-12) }), bad...)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := all(decode(data, nil)); !errors.Is(err, decoders.ErrMore) {
					b.Fatal(err)
				}
			}
		})
	}
}

// damaged returns a game with two damages, one of which is long.
func damaged() []byte {
	return file(func(w *writer) {
		w.opening()
		w.b = append(w.b, make([]byte, 10_000)...)
		w.play(200, 1)
		w.begin(w.tick + 1)
		for id := range int32(3) {
			w.playerNew(id, 500, 600)
		}
		w.begin(w.tick + 1)
		for id := range int32(4) {
			w.input(-6, id, [10]int32{1, 2, 3})
		}
		w.play(300, 2)
		w.int(-12)
		w.b = append(w.b, "HIJ text that is no record at all"...)
		w.play(500, 4)
		w.finish()
	})
}

// TestSeam decodes a game with two damages, from its front and from each position, and however its bytes arrive.
func TestSeam(t *testing.T) {
	data := damaged()
	want, end := all(decode(data, nil))
	d := decode(data, nil)
	h, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	var ev teehistorian.Event
	var damages []teehistorian.Damage
	placed := 0
	for i := 0; i <= len(want); i++ {
		if i%17 == 0 || len(damages) > 0 && damages[len(damages)-1].To == d.Position().Offset || i == len(want) {
			snapshot := d.Snapshot(nil)
			r, err := restore(data, d.Position().Offset, h, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			got, err := all(r)
			prefixOf(t, got, want[i:], "restored")
			if len(got) != len(want)-i || err.Error() != end.Error() || !bytes.Equal(d.Snapshot(nil), snapshot) {
				t.Fatalf("after event %d: %d events of %d, %v, not %v", i, len(got), len(want)-i, err, end)
			}
		}
		if i == len(want) {
			break
		}
		at, sum := d.Position(), d.Sum()
		if err := d.Next(&ev); err != nil {
			t.Fatal(err)
		}
		if d.SumTo(at) != sum {
			t.Fatalf("another sum before the event at %+v, %s", at, describe(&ev))
		}
		if ev.Kind == teehistorian.KindDamage {
			damages = append(damages, ev.Damage)
			for id, c := range d.State().Clients() {
				t.Errorf("behind damage: client %d, %+v", id, c)
			}
		}
		if ev.Kind == teehistorian.KindPlayerDiff && len(damages) == 1 && ev.PlayerDiff.X > 0 {
			placed++
		}
	}
	if len(damages) != 2 || damages[0].To-damages[0].From < 10_000 || damages[1].To-damages[1].From > 300 || placed < 100 {
		t.Errorf("damages %v; %d moves to known places behind the first one", damages, placed)
	}
	if failure, ok := errors.AsType[*decoders.Error](end); !ok || !errors.Is(end, decoders.ErrCorrupt) || failure.Offset != damages[0].From {
		t.Errorf("it ended with %v", end)
	}
	got, _, err := allWithMoves(decode(data, nil), 0)
	prefixOf(t, got, want, "by Moves")
	if len(got) != len(want) || err.Error() != end.Error() {
		t.Errorf("by Moves: %d events of %d, %v", len(got), len(want), err)
	}
	if _, err := skipping(data); err != nil {
		t.Errorf("by SkipInputs: %v", err)
	}
	for size := 1; size < 5000; size = size*3/2 + 1 {
		got, err := all(decode(data, func(r io.Reader) io.Reader { return pieces{r, size} }))
		prefixOf(t, got, want, "in pieces")
		if len(got) != len(want) || err.Error() != end.Error() {
			t.Errorf("in pieces of %d: %d events of %d, %v", size, len(got), len(want), err)
		}
	}
}

// TestZeros: zeros that follow a game give no event but the one that they complete, whatever they cut, and however they arrive.
func TestZeros(t *testing.T) {
	whole := file(func(w *writer) { w.opening() })
	want, _ := all(decode(whole, nil))
	header := len(file(func(*writer) {}))
	for cut := header; cut <= len(whole); cut++ {
		data := append(bytes.Clone(whole[:cut]), make([]byte, 4096)...)
		for _, size := range []int{1 << 20, 700, 1} {
			if size == 1 && cut%11 > 0 {
				continue
			}
			d := decode(data, func(r io.Reader) io.Reader { return pieces{r, size} })
			got, err := all(d)
			sound := 0
			for sound < len(want) && recordEnd(want, sound) <= int64(cut) {
				sound++
			}
			if !errors.Is(err, decoders.ErrMore) || len(got) < sound {
				t.Fatalf("%d bytes: %d events of %d, %v", cut, len(got), sound, err)
			}
			prefixOf(t, got[:sound], want, "before the zeros")
			records := map[int64]bool{}
			for _, ev := range got[sound:] {
				records[ev.next.Offset] = ev.next.Index == 0
				if ev.next.Index > 0 { // the tick that the record implies
					delete(records, ev.next.Offset)
				}
			}
			if delete(records, int64(cut)); len(records) > 1 {
				t.Fatalf("%d bytes: %d records made of zeros: %v", cut, len(records), records)
			}
			if err := d.Close(); !errors.Is(err, decoders.ErrCorrupt) {
				t.Fatalf("%d bytes: %v", cut, err)
			}
		}
	}
}

// TestZerosThatAreOverwritten reads zeros, and then, from a snapshot, the bytes that came in their place.
func TestZerosThatAreOverwritten(t *testing.T) {
	whole := file(func(w *writer) { w.opening(); w.play(300, 1); w.finish() })
	want, _ := all(decode(whole, nil))
	for i := 20; i < len(want)-10; i += 37 {
		cut := want[i].next.Offset
		data := append(bytes.Clone(whole[:cut]), make([]byte, len(whole)-int(cut))...)
		d := decode(data, nil)
		h, err := d.Header()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := all(d)
		if d.Withheld() == 0 {
			t.Errorf("%d bytes: nothing is withheld", cut)
		}
		r, err := restore(whole, d.Position().Offset, h, d.Snapshot(nil))
		if err != nil {
			t.Fatal(err)
		}
		rest, err := all(r)
		if got = append(got, rest...); len(got) != len(want) || !errors.Is(err, io.EOF) {
			t.Fatalf("%d bytes: %d events of %d, %v", cut, len(got), len(want), err)
		}
		prefixOf(t, got, want, "overwritten")
	}
}

// TestLongDamage decodes a game with a damage so long that it has several events, from its front and from each position in it.
func TestLongDamage(t *testing.T) {
	data := file(func(w *writer) {
		w.opening()
		w.b = append(w.b, make([]byte, 5<<19)...)
		w.play(300, 2)
		w.finish()
	})
	d := decode(data, nil)
	h, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	want, end := all(decode(data, nil))
	var ev teehistorian.Event
	last, damages := int64(0), 0
	for i := range want {
		if err := d.Next(&ev); err != nil {
			t.Fatal(err)
		}
		if ev.Kind != teehistorian.KindDamage {
			continue
		}
		if damages++; damages > 1 && ev.Damage.From != last || ev.Damage.To > ev.Damage.From+1<<20+8<<10 {
			t.Errorf("%s, behind byte %d", describe(&ev), last)
		}
		last = ev.Damage.To
		r, err := restore(data, d.Position().Offset, h, d.Snapshot(nil))
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(r)
		prefixOf(t, got, want[i+1:], "restored")
		if len(got) != len(want)-i-1 || err.Error() != end.Error() {
			t.Fatalf("after event %d: %d events of %d, %v, not %v", i, len(got), len(want)-i-1, err, end)
		}
	}
	if damages != 3 || ev.Kind != teehistorian.KindFinish {
		t.Errorf("%d damages, then %v", damages, ev.Kind)
	}
}
