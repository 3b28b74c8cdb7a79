package dem

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

// spareEvents returns the events of a demo as texts, and how it ended.
func spareEvents(d *Decoder) (out []string) {
	var ev Event
	for {
		if err := d.Next(&ev); err != nil {
			return append(out, err.Error(), fmt.Sprint(d.Stats(), d.world.store.Held))
		}
		out = append(out, fmt.Sprint(d.EventPosition(), ev.AtTick, reflect.ValueOf(&ev).Elem().Field(1+int(ev.Kind)).Interface()))
	}
}

// TestLeave: what decoders leave to others changes nothing of what these tell, whatever is in it, and a decoder that has left still knows where it
// was. No more than a short demo needs is left.
func TestLeave(t *testing.T) {
	large := demtest.New()
	large.Record(demtest.CmdSpawnGroups|64, 1, make([]byte, maxSpare+1))
	large.Compressed(demtest.CmdConsoleCmd, 1, demtest.Proto(nil).Bytes(1, bytes.Repeat([]byte{7}, maxSpare+1)))
	large.Packet(2, demtest.Message{ID: 1000, Data: make([]byte, maxSpare+1)})
	many := make([]demtest.Message, 2*maxSpare/messageSize)
	for i := range many {
		many[i].ID = 1000
	}
	large.Packet(3, many...)
	demos := [][]byte{demtest.Sample(), demtest.Match(), demtest.Round(), demtest.Zeros(), large.Bytes()}
	for i := range 20 {
		damaged := slices.Clone(demos[i%4])
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		for range 3 {
			damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
		}
		demos = append(demos, damaged)
	}
	t.Run("demos", func(t *testing.T) {
		for i, demo := range demos {
			first := New(bytes.NewReader(demo), Options{})
			want := spareEvents(first)
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for range 3 {
					d := New(bytes.NewReader(demo), Options{})
					if got := spareEvents(d); !slices.Equal(got, want) {
						t.Fatalf("%d events, want %d", len(got), len(want))
					}
					d.Leave()
					d.Leave()
					if d.Position() != first.Position() || d.Sum() != first.Sum() || d.Offset() != first.Offset() {
						t.Errorf("at %v, not %v", d.Position(), first.Position())
					}
				}
			})
		}
	})
	met := map[*spare]bool{}
	for range 100 {
		s := spares.Get().(*spare)
		if met[s] {
			t.Fatal("memory is left twice")
		}
		met[s] = true
		if n := max(cap(s.window), cap(s.inflated), cap(s.unpacked), cap(s.arena), cap(s.messages)*messageSize); n > maxSpare {
			t.Errorf("%d bytes are left", n)
		}
	}
}

// TestLeaveMemory: a decoder of a short demo takes little memory if others have left theirs.
func TestLeaveMemory(t *testing.T) {
	demo := demtest.Match()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which drops what was left
	took := func(leave bool) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 20 {
			d := New(bytes.NewReader(demo), Options{})
			spareEvents(d)
			if leave {
				d.Leave()
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 20
	}
	if alone, after := took(false), took(true); after > alone/2 {
		t.Errorf("%d bytes, and %d after others", alone, after)
	}
}
