package wire_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay/wire"
)

func TestPackedExample(t *testing.T) {
	// docs/formats/sc2replay.md: 12 bits at bit 4 are the upper half of the first byte, followed by the whole second
	// byte.
	r := wire.NewPacked([]byte{0xAB, 0xCD, 0xEF})
	if got := r.Bits(4); got != 0xB {
		t.Errorf("4 bits: %x", got)
	}
	if got := r.Bits(12); got != 0xACD {
		t.Errorf("12 bits: %x", got)
	}
	if r.Bool() != true || r.Bits(0) != 0 || r.Offset() != 3 || r.Done() {
		t.Errorf("at bit %d", r.BitPos())
	}
	r.Align()
	if !r.Done() || r.Failed() {
		t.Error("not at the end")
	}
	if r.Bool(); !r.Failed() {
		t.Error("a bit past the end")
	}
}

// slowBits reads bits one at a time, as in the description of the format.
func slowBits(buf []byte, pos, n int) (v uint64) {
	for n > 0 {
		take := min(8-pos&7, n)
		v = v<<take | uint64(buf[pos>>3])>>(pos&7)&(1<<take-1)
		pos, n = pos+take, n-take
	}
	return v
}

func TestPackedBits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	buf := make([]byte, 40)
	for range 20_000 {
		for i := range buf {
			buf[i] = byte(rnd.Uint32())
		}
		r := wire.NewPacked(buf)
		for pos := 0; ; {
			n := rnd.IntN(65)
			if pos+n > len(buf)*8 {
				break
			}
			if got, want := r.Bits(uint(n)), slowBits(buf, pos, n); got != want || r.Failed() {
				t.Fatalf("%d bits at %d of %x: %x, want %x", n, pos, buf, got, want)
			}
			pos += n
		}
	}
}

// TestPackedLists reads lists of bits: 32-bit numbers, whose top bits are the list's beginning, and a shorter last
// number.
func TestPackedLists(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	buf := make([]byte, 40)
	for range 20_000 {
		for i := range buf {
			buf[i] = byte(rnd.Uint32())
		}
		start, n := rnd.IntN(64), rnd.IntN(200)
		r := wire.NewPacked(buf)
		for left := start; left > 0; left -= min(left, 48) {
			r.Bits(uint(min(left, 48)))
		}
		var want []byte
		for at := start; at < start+n; at += 32 {
			size := min(32, start+n-at)
			number := slowBits(buf, at, size)
			for left := size; left > 0; {
				eight := min(8, left)
				left -= eight
				want = append(want, byte(number>>left&(1<<eight-1)))
			}
		}
		if got := r.AppendBits(nil, n); !bytes.Equal(got, want) || r.BitPos() != start+n || r.Failed() {
			t.Fatalf("%d bits at %d of %x: %x, want %x", n, start, buf, got, want)
		}
		if r.AppendBits(nil, len(buf)*8+1); !r.Failed() {
			t.Fatal("read more bits than the data has")
		}
	}
}

func TestVersionedInt(t *testing.T) {
	for _, tt := range []struct {
		bytes string
		want  int64
	}{
		{"\x02", 1}, {"\x0c", 6}, {"\x83\x0c", -769}, {"\x00", 0}, {"\x03", -1}, {"\x80\x01", 64},
		{"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1<<63 - 1},
	} {
		r := wire.NewVersioned([]byte(tt.bytes))
		if got := r.Int(); got != tt.want || r.Failed() || !r.Done() {
			t.Errorf("%x: %d, want %d", tt.bytes, got, tt.want)
		}
	}
	for _, bad := range []string{"", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		r := wire.NewVersioned([]byte(bad))
		if r.Int(); !r.Failed() {
			t.Errorf("%x was read", bad)
		}
	}
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []byte{3, 64, 0, 70, 1, 130, 200})
	f.Fuzz(func(t *testing.T, buf, script []byte) {
		r := wire.NewPacked(buf)
		for _, op := range script {
			before := r.BitPos()
			switch {
			case op <= 64:
				v := r.Bits(uint(op))
				if !r.Failed() && v != slowBits(buf, before, int(op)) {
					t.Fatalf("%d bits at %d: %x", op, before, v)
				}
			case op < 128:
				if p := r.Bytes(int(op) - 64); !r.Failed() && len(p) != int(op)-64 {
					t.Fatal("short")
				}
			case op < 192:
				r.AppendBits(nil, int(op))
			default:
				r.Delta()
			}
			if r.BitPos() < before || r.BitPos() > len(buf)*8+7 {
				t.Fatalf("at bit %d of %d bytes", r.BitPos(), len(buf))
			}
		}
	})
}

func FuzzVersioned(f *testing.F) {
	f.Add([]byte{5, 4, 0, 2, 4, 'h', 'i', 2, 9, 2})
	f.Add([]byte{0, 4, 4, 1, 6, 1, 3, 0, 7, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, buf []byte) {
		r := wire.NewVersioned(buf)
		for !r.Done() && !r.Failed() {
			before := r.Offset()
			r.Skip()
			if !r.Failed() && r.Offset() <= before {
				t.Fatal("no progress")
			}
		}
	})
}
