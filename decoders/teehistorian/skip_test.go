package teehistorian_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// skipping decodes data by SkipInputs, and by Next for what that leaves, beside a decoder that has only Next. It returns how many
// changes of inputs were skipped, and the first difference. Not all are skipped that could be: Next has to find the inputs right.
func skipping(data []byte) (skipped int, err error) {
	d, plain := decode(data, nil), decode(data, nil)
	var ev, want teehistorian.Event
	for i := 0; ; i++ {
		if i%3 > 0 {
			n := d.SkipInputs()
			for range n {
				if err := plain.Next(&want); err != nil || want.Kind != teehistorian.KindInputDiff || len(want.Warnings) > 0 {
					return skipped, fmt.Errorf("skipped %s, %w", describe(&want), err)
				}
			}
			skipped += n
		}
		if d.Position() != plain.Position() || d.Sum() != plain.Sum() || d.Tick() != plain.Tick() {
			return skipped, fmt.Errorf("at %+v, tick %d, want %+v, tick %d", d.Position(), d.Tick(), plain.Position(), plain.Tick())
		}
		got, end := d.Next(&ev), plain.Next(&want)
		switch {
		case end != nil && got != nil && got.Error() == end.Error():
			if d.State() != nil && !bytes.Equal(d.Snapshot(nil), plain.Snapshot(nil)) {
				return skipped, fmt.Errorf("another state at the end")
			}
			return skipped, nil
		case end != nil || got != nil:
			return skipped, fmt.Errorf("%w, want %w", got, end)
		case hash(&ev) != hash(&want):
			return skipped, fmt.Errorf("at %+v: %s, want %s", d.Position(), describe(&ev), describe(&want))
		}
	}
}

// TestSkipInputs decodes files with and without SkipInputs.
func TestSkipInputs(t *testing.T) {
	t.Parallel()
	total := 0
	for name := range references(t) {
		skipped, err := skipping(corpusFile(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		total += skipped
	}
	if total < 100_000 {
		t.Errorf("%d inputs were skipped", total)
	}
}

// TestSkipInputsLeave checks which changes of inputs SkipInputs leaves for Next, between others that it skips.
func TestSkipInputsLeave(t *testing.T) {
	for what, test := range map[string]struct {
		write   func(w *writer)
		skipped int // of four, of which the second is this one
	}{
		"small":                  {func(w *writer) { w.input(-5, 1, [10]int32{1, 63, -64, 1, 1, 1, 63, -64, 1, -1}) }, 4},
		"zeros":                  {func(w *writer) { w.input(-5, 1, [10]int32{}) }, 1},
		"the last field":         {func(w *writer) { w.input(-5, 1, [10]int32{9: -1}) }, 4},
		"the direction":          {func(w *writer) { w.input(-5, 1, [10]int32{-1}) }, 4},
		"the target's x":         {func(w *writer) { w.input(-5, 1, [10]int32{1: 1}) }, 4},
		"the target's y":         {func(w *writer) { w.input(-5, 1, [10]int32{2: 1}) }, 4},
		"a far target":           {func(w *writer) { w.input(-5, 1, [10]int32{0, 64, -65}) }, 4},
		"the farthest target":    {func(w *writer) { w.input(-5, 1, [10]int32{0, -8192, 8191}) }, 4},
		"a target too far right": {func(w *writer) { w.input(-5, 1, [10]int32{0, 8192, 0}) }, 1},
		"a target too far up":    {func(w *writer) { w.input(-5, 1, [10]int32{0, 0, -8193}) }, 1},
		"a far one at the top":   {func(w *writer) { w.input(-5, 1, [10]int32{0, 0, 1 << 30}) }, 1},
		"a large direction":      {func(w *writer) { w.input(-5, 1, [10]int32{64}) }, 1},
		"a large jump":           {func(w *writer) { w.input(-5, 1, [10]int32{3: 64}) }, 1},
		"a large last weapon":    {func(w *writer) { w.input(-5, 1, [10]int32{9: -65}) }, 1},
		"a padded target":        {func(w *writer) { w.b = append(w.b, 0x44, 1, 0, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0) }, 1},
		"another padded target":  {func(w *writer) { w.b = append(w.b, 0x44, 1, 0, 0, 0x81, 0, 0, 0, 0, 0, 0, 0, 0) }, 1},
		"nobody's":               {func(w *writer) { w.input(-5, 60, [10]int32{1}) }, 1},
		"one without an input":   {func(w *writer) { w.input(-5, 7, [10]int32{1}) }, 1},
		"a warning":              {func(w *writer) { w.command(60, 128, "rank") }, 1},
		"a negative id":          {func(w *writer) { w.input(-5, -2, [10]int32{1}) }, 1},
		"a high id":              {func(w *writer) { w.input(-5, 64, [10]int32{1}) }, 1},
		"a new input":            {func(w *writer) { w.input(-6, 1, [10]int32{}) }, 1},
		"a move":                 {func(w *writer) { w.playerDiff(1, 1, 1) }, 1},
	} {
		t.Run(what, func(t *testing.T) {
			data := file(func(w *writer) {
				w.begin(1)
				for id := range int32(8) {
					w.join(id)
				}
				for id := range int32(3) {
					w.playerNew(id, 100, 100)
					w.input(-6, id, [10]int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
				}
				w.join(65)
				w.input(-6, 65, [10]int32{})
				w.begin(2)
				w.input(-5, 0, [10]int32{9: 1})
				test.write(w)
				w.input(-5, 1, [10]int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
				w.input(-5, 2, [10]int32{0, 2})
				w.many()
			})
			d := decode(data, nil)
			var ev teehistorian.Event
			for d.Tick() < 2 {
				if err := d.Next(&ev); err != nil {
					t.Fatal(err)
				}
			}
			if n := d.SkipInputs(); n != test.skipped {
				t.Errorf("%d were skipped", n)
			}
			if _, err := skipping(data); err != nil {
				t.Error(err)
			}
			want, _ := all(decode(data, nil))
			for phase := range 5 {
				got, _, _ := allWithMoves(decode(data, nil), phase)
				if prefixOf(t, got, want, what); len(got) != len(want) {
					t.Errorf("%d events by Input, want %d", len(got), len(want))
				}
			}
		})
	}
}
