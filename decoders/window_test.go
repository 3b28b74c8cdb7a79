package decoders_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
)

// TestWindow: a window shows the bytes of its source, with their offsets and sums, whatever it consumes at a time, and whatever is in memory
// that others have left. After Leave it still knows where it was, and has no bytes.
func TestWindow(t *testing.T) {
	left := []byte("what another window has left")
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "data")
		begin := rapid.Int64Range(0, 1<<40).Draw(t, "begin")
		w := decoders.NewWindow(iotest.HalfReader(bytes.NewReader(data)), begin, 1<<20)
		w.Lend(left[:0:min(cap(left), rapid.IntRange(0, 100).Draw(t, "lent"))]) // little, so that what is there must often move
		at := 0
		for n := rapid.IntRange(0, 40).Draw(t, "steps"); n > 0; n-- {
			if err := w.Fill(); err != nil && !errors.Is(err, decoders.ErrMore) {
				t.Fatal(err)
			}
			end, sum := w.End()
			if all := data[at:]; !bytes.HasPrefix(all, w.Bytes()) || end != begin+int64(at+len(w.Bytes())) || sum != decoders.Sum(0).Add(data[:end-begin]) {
				t.Fatalf("at %d of %x: %x, which end at %d", at, data, w.Bytes(), end)
			}
			step := rapid.IntRange(0, len(w.Bytes())).Draw(t, "step")
			w.Advance(step)
			if at += step; !bytes.Equal(w.Behind(step), data[at-step:at]) {
				t.Fatalf("behind %d are %x", at, w.Behind(step))
			}
			if rapid.Bool().Draw(t, "sum") && w.Sum() != decoders.Sum(0).Add(data[:at]) {
				t.Fatalf("another sum of the bytes before %d", at)
			}
		}
		left = w.Leave()
		if end, sum := w.End(); len(w.Bytes()) != 0 || w.Held() != 0 || w.Offset() != begin+int64(at) || end != w.Offset() ||
			sum != decoders.Sum(0).Add(data[:at]) || w.Sum() != sum {
			t.Fatalf("it has left at %d, and has %d bytes up to %d", at, len(w.Bytes()), end)
		}
	})
}

// TestWindowBounds: memory of others makes a window no larger than it may be.
func TestWindowBounds(t *testing.T) {
	const most = 64 << 10
	for _, lent := range []int{0, 100, most, 4 * most} {
		w := decoders.NewWindow(bytes.NewReader(make([]byte, 2*most)), 0, most)
		w.Lend(make([]byte, 0, lent))
		var err error
		for err == nil {
			err = w.Fill()
		}
		if !errors.Is(err, decoders.ErrWindow) || len(w.Bytes()) != most {
			t.Errorf("%d bytes are lent: %d are there, then %v", lent, len(w.Bytes()), err)
		}
	}
}

// sizes is a source that notes how many bytes are asked for at a time, and has them.
type sizes []int

func (s *sizes) Read(p []byte) (int, error) {
	*s = append(*s, len(p))
	return len(p), nil
}

// TestWindowReads: a window reads 64 KiB at a time, and for a record that is longer as much again as is there of it, so that it is whole after
// few reads.
func TestWindowReads(t *testing.T) {
	var asked sizes
	w := decoders.NewWindow(&asked, 0, 4<<20)
	for w.Lend(make([]byte, 0, 512<<10)); len(w.Bytes()) < 1<<20; {
		if err := w.Fill(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		w.Advance(len(w.Bytes()) - 1<<10)
		_ = w.Fill()
	}
	if want := (sizes{64 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 64 << 10, 64 << 10}); !slices.Equal(asked, want) {
		t.Errorf("reads of %d bytes, want %d", asked, want)
	}
}
