package teehistorian_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/iotest"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// allWithMoves is all by Moves, of lengths from 0 to 70 in turn and usually with the tick before them, by Inputs, of lengths from 0 to 3, and
// by Next for what these leave, four times of five; phase says where to begin with the turns. It also returns how many events Moves and
// Inputs decoded.
func allWithMoves(d *teehistorian.Decoder, phase int) (events []seen, quick int, err error) {
	var ev teehistorian.Event
	var memory [70]teehistorian.PlayerDiff
	for n := phase; ; n++ {
		at, tick, begin := d.Position(), d.Tick(), n%3 > 0
		moves := memory[:n%(len(memory)+1)]
		count, began := d.Moves(moves, begin)
		if moves = moves[:count]; began {
			at.Index, ev.AtTick, ev.Kind, ev.Warnings = decoders.Room, tick+1, teehistorian.KindTick, ev.Warnings[:0]
			ev.Tick = teehistorian.Tick{Implicit: true}
			events = append(events, seen{at, hash(&ev)})
		}
		for i := range moves {
			ev.AtTick, ev.Kind, ev.PlayerDiff = d.Tick(), teehistorian.KindPlayerDiff, moves[i]
			ev.Warnings = ev.Warnings[:0]
			at = decoders.Position{Offset: at.Offset + teehistorian.MoveBytes}
			events = append(events, seen{at, hash(&ev)})
		}
		if quick += len(moves); d.Position() != at || began && (!begin || len(moves) == 0 || d.Tick() != tick+1) || !began && d.Tick() != tick {
			return events, quick, fmt.Errorf("at %+v in tick %d behind %d moves, want %+v", d.Position(), d.Tick(), len(moves), at)
		}
		var inputs [3]teehistorian.InputDiff
		var offsets [4]int64 // more than are needed
		for count = n % 4; count > 0; quick += count {
			if count = d.Inputs(inputs[:n%4], offsets[:]); count > 0 && offsets[0] != at.Offset {
				return events, quick, fmt.Errorf("inputs at %d begin at %d", at.Offset, offsets[0])
			}
			at = d.Position()
			offsets[count] = at.Offset
			for i := range count {
				ev.AtTick, ev.Kind, ev.InputDiff, ev.Warnings = d.Tick(), teehistorian.KindInputDiff, inputs[i], ev.Warnings[:0]
				events = append(events, seen{decoders.Position{Offset: offsets[i+1], Index: at.Index}, hash(&ev)})
			}
		}
		if n%5 == 0 {
			continue
		}
		if err := d.Next(&ev); err != nil {
			return events, quick, err
		}
		events = append(events, seen{d.Position(), hash(&ev)})
	}
}

// TestMoves decodes files by Moves, Inputs and Next, and compares the events with those of Next alone.
func TestMoves(t *testing.T) {
	t.Parallel()
	total := 0
	for name := range references(t) {
		data := corpusFile(t, name)
		want, end := all(decode(data, nil))
		got, quick, err := allWithMoves(decode(data, nil), 0)
		prefixOf(t, got, want, name)
		if len(got) != len(want) || err.Error() != end.Error() {
			t.Errorf("%s: %d events of %d, %v, not %v", name, len(got), len(want), err, end)
		}
		total += quick
	}
	if total < 1_300_000 {
		t.Errorf("Moves and Inputs decoded %d events", total)
	}
}

// many writes moves of client 0, so that those before are not the last bytes.
func (w *writer) many() {
	for tick := range int32(40) {
		w.begin(w.tick + 1)
		w.playerDiff(0, 1-tick%2*2, 0)
	}
}

// TestMovesLeave checks what Moves leaves for Next, in the middle of moves that it takes, and that both decode it as the general path
// does, which is all there is for a byte at a time.
func TestMovesLeave(t *testing.T) {
	for what, test := range map[string]struct {
		write func(w *writer)
		taken int // of the moves before
	}{
		"nothing":            {func(*writer) {}, 6},
		"the next tick":      {func(w *writer) { w.playerDiff(1, 1, 1) }, 3},
		"a large move":       {func(w *writer) { w.playerDiff(3, 64, 1) }, 3},
		"a large move up":    {func(w *writer) { w.playerDiff(3, 1, -65) }, 3},
		"one of the largest": {func(w *writer) { w.playerDiff(3, 63, -64) }, 7},
		"nobody's":           {func(w *writer) { w.playerDiff(60, 1, 1) }, 3},
		"the next by one who left": {func(w *writer) {
			w.begin(4)
			w.playerOld(0)
			w.playerDiff(1, 1, 1)
			w.playerDiff(0, 1, 1)
		}, 3},
		"the last tick":   {func(w *writer) { w.int(-2, 0x6fffffff+180_000-4) }, 3},
		"of one who left": {func(w *writer) { w.playerDiff(7, 1, 1) }, 3},
		"no move":         {func(w *writer) { w.playerDiff(3, 0, 0) }, 3},
		"out of reach":    {func(w *writer) { w.playerDiff(3, -50, 0) }, 3},
		"a high id":       {func(w *writer) { w.playerDiff(64, 1, 1) }, 3},
		"a join":          {func(w *writer) { w.join(3) }, 3},
		"an input":        {func(w *writer) { w.input(-6, 0, [10]int32{}) }, 3},
	} {
		t.Run(what, func(t *testing.T) {
			data := file(func(w *writer) {
				w.begin(1)
				for id := range int32(8) {
					x := int32(100)
					if id == 3 {
						x = 20 - 1<<16 // near the end of the reach
					}
					w.playerNew(id, x, 100)
				}
				w.begin(2)
				w.playerOld(7)
				w.begin(3)
				for id := range int32(3) {
					w.playerDiff(id, 1, -1)
				}
				test.write(w)
				for id := int32(4); id < 7; id++ {
					w.playerDiff(id, 2, 2)
				}
				w.many()
			})
			d := decode(data, nil)
			var ev teehistorian.Event
			for d.Tick() < 3 {
				if err := d.Next(&ev); err != nil {
					t.Fatal(err)
				}
			}
			if n, began := d.Moves(make([]teehistorian.PlayerDiff, 10), true); n != test.taken || began {
				t.Errorf("Moves took %d, and a tick: %v", n, began)
			}
			want, end := all(decode(data, iotest.OneByteReader))
			for phase := range 6 {
				got, _, err := allWithMoves(decode(data, nil), phase)
				prefixOf(t, got, want, what)
				if len(got) != len(want) || err.Error() != end.Error() {
					t.Errorf("%d events of %d, %v, not %v", len(got), len(want), err, end)
				}
			}
		})
	}
}

// TestMovesOfNobody: a move in a game in which nobody has been, or nobody has a character, is left for Next, which refuses it.
func TestMovesOfNobody(t *testing.T) {
	for _, joins := range [][]int32{nil, {0}} {
		data := file(func(w *writer) {
			for _, id := range joins {
				w.join(id)
			}
			w.begin(1)
			w.playerDiff(0, 1, 1)
			w.many()
		})
		d := decode(data, nil)
		if _, err := d.Header(); err != nil {
			t.Fatal(err)
		}
		var ev teehistorian.Event
		for range joins {
			if err := d.Next(&ev); err != nil || ev.Kind != teehistorian.KindJoin {
				t.Fatal(err)
			}
		}
		if n, began := d.Moves(make([]teehistorian.PlayerDiff, 10), true); n != 0 || began {
			t.Errorf("Moves took %d, and a tick: %v", n, began)
		}
		if err := d.Next(&ev); !errors.Is(err, decoders.ErrMore) {
			t.Errorf("%v, %v", &ev, err)
		}
	}
}
