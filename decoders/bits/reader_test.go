package bits_test

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/bits"
)

// writer is the inverse of the reader. It writes one bit at a time.
type writer struct {
	buf []byte
	n   int
}

func (w *writer) bits(v uint64, n int) {
	for i := range n {
		if w.n&7 == 0 {
			w.buf = append(w.buf, 0)
		}
		w.buf[w.n>>3] |= byte(v>>i&1) << (w.n & 7)
		w.n++
	}
}

func (w *writer) varint(v uint64) {
	for v >= 0x80 {
		w.bits(v&0x7f|0x80, 8)
		v >>= 7
	}
	w.bits(v, 8)
}

func (w *writer) ubitvar(v uint32) {
	switch {
	case v < 1<<4:
		w.bits(uint64(v), 6)
	case v < 1<<8:
		w.bits(uint64(v&15)|1<<4|uint64(v>>4)<<6, 10)
	case v < 1<<12:
		w.bits(uint64(v&15)|2<<4|uint64(v>>4)<<6, 14)
	default:
		w.bits(uint64(v&15)|3<<4|uint64(v>>4)<<6, 34)
	}
}

// TestRoundTrip writes random values with a naive writer and reads them back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w writer
		var checks []func(r *bits.Reader)
		for range rapid.IntRange(1, 40).Draw(t, "values") {
			switch rapid.IntRange(0, 7).Draw(t, "kind") {
			case 0:
				n := rapid.IntRange(0, 57).Draw(t, "n")
				v := rapid.Uint64().Draw(t, "v") & (1<<n - 1)
				w.bits(v, n)
				checks = append(checks, func(r *bits.Reader) {
					if got := r.Bits(n); got != v {
						t.Fatalf("Bits(%d) = %x, want %x", n, got, v)
					}
				})
			case 1:
				v := rapid.Bool().Draw(t, "v")
				if v {
					w.bits(1, 1)
				} else {
					w.bits(0, 1)
				}
				checks = append(checks, func(r *bits.Reader) {
					if got := r.Bool(); got != v {
						t.Fatalf("Bool() = %v", got)
					}
				})
			case 2:
				v := rapid.Uint32().Draw(t, "v")
				w.varint(uint64(v))
				checks = append(checks, func(r *bits.Reader) {
					if got := r.Varuint32(); got != v {
						t.Fatalf("Varuint32() = %d, want %d", got, v)
					}
				})
			case 3:
				v := rapid.Uint64().Draw(t, "v")
				w.varint(v)
				checks = append(checks, func(r *bits.Reader) {
					if got := r.Varuint64(); got != v {
						t.Fatalf("Varuint64() = %d, want %d", got, v)
					}
				})
			case 4:
				v := rapid.Int64().Draw(t, "v")
				w.varint(uint64(v)<<1 ^ uint64(v>>63))
				checks = append(checks, func(r *bits.Reader) {
					if got := r.Varint64(); got != v {
						t.Fatalf("Varint64() = %d, want %d", got, v)
					}
				})
			case 5:
				v := rapid.Uint32().Draw(t, "v")
				w.ubitvar(v)
				checks = append(checks, func(r *bits.Reader) {
					if got := r.UBitVar(); got != v {
						t.Fatalf("UBitVar() = %d, want %d", got, v)
					}
				})
			case 6:
				v := rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 40).Draw(t, "v")
				for _, b := range append(bytes.Clone(v), 0) {
					w.bits(uint64(b), 8)
				}
				checks = append(checks, func(r *bits.Reader) {
					if got := r.AppendCString(nil); !bytes.Equal(got, v) {
						t.Fatalf("AppendCString() = %q, want %q", got, v)
					}
				})
			case 7:
				v := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "v")
				for _, b := range v {
					w.bits(uint64(b), 8)
				}
				copies := rapid.Bool().Draw(t, "copy")
				checks = append(checks, func(r *bits.Reader) {
					got := make([]byte, len(v))
					if copies {
						r.Copy(got)
					} else {
						got = r.Append(got[:0], len(v))
					}
					if !bytes.Equal(got, v) {
						t.Fatalf("bytes = %x, want %x", got, v)
					}
				})
			}
		}
		r := bits.New(w.buf)
		for _, check := range checks {
			check(&r)
		}
		if r.Overrun() || r.Pos() != w.n {
			t.Fatalf("read %d bits of %d, overrun %v", r.Pos(), w.n, r.Overrun())
		}
	})
}

// TestBeyondTheEnd checks that bits beyond the end read as zero and that Overrun reports them.
func TestBeyondTheEnd(t *testing.T) {
	r := bits.New([]byte{0xff, 0xff})
	if got := r.Bits(20); got != 0xffff {
		t.Errorf("Bits(20) of two bytes = %x", got)
	}
	if !r.Overrun() {
		t.Error("no overrun")
	}
	if r.Bool() || r.Uint64() != 0 || r.Varuint32() != 0 || r.Varuint64() != 0 || r.UBitVar() != 0 || r.Len() != 0 {
		t.Error("bits beyond the end are not zero")
	}
	if got := r.AppendCString(nil); len(got) != 0 {
		t.Errorf("a string beyond the end: %q", got)
	}
	into := []byte{1, 2, 3}
	r.Copy(into)
	if !bytes.Equal(into, make([]byte, 3)) {
		t.Errorf("bytes beyond the end: %v", into)
	}
}

func TestFloat32(t *testing.T) {
	var w writer
	w.bits(5, 3)
	w.bits(uint64(math.Float32bits(-2.5)), 32)
	r := bits.New(w.buf)
	r.Skip(3)
	if got := r.Float32(); got != -2.5 {
		t.Errorf("Float32() = %v", got)
	}
}
