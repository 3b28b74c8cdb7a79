package bzip2_test

import (
	"bytes"
	stdlib "compress/bzip2"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay/bzip2"
	"github.com/replayd/replayd/decoders/sc2replay/sc2test"
)

// packed returns streams of the reference implementation: see testdata/README.
func packed(tb testing.TB) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob("testdata/*.bz2")
	if err != nil || len(names) == 0 {
		tb.Fatal("no test data", err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		out[filepath.Base(name)] = data
	}
	return out
}

func TestSameAsStandardLibrary(t *testing.T) {
	for name, src := range packed(t) {
		want, err := io.ReadAll(stdlib.NewReader(bytes.NewReader(src)))
		if err != nil {
			t.Fatal(name, err)
		}
		prefix := []byte("kept")
		got, err := bzip2.Append(prefix, src, len(want))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(got[:4], prefix) || !bytes.Equal(got[4:], want) {
			t.Errorf("%s: %d bytes differ from the standard library's %d", name, len(got)-4, len(want))
		}
		if len(want) == 0 {
			continue
		}
		if got, err := bzip2.Append(nil, src, len(want)-1); !errors.Is(err, decoders.ErrLimit) || len(got) >= len(want) {
			t.Errorf("%s: beyond the limit: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestSameOnGenerated compresses data of many shapes with the bzip2 program. It is skipped without the program.
func TestSameOnGenerated(t *testing.T) {
	program, err := exec.LookPath("bzip2")
	if err != nil {
		t.Skip("no bzip2 program")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 300_000)
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	skewed := make([]byte, 1_200_000)
	for i := range skewed {
		skewed[i] = byte(rnd.ExpFloat64() * 20)
	}
	for name, data := range map[string][]byte{
		"empty": nil, "one": {7}, "random": random, "skewed": skewed, "zeros": make([]byte, 2_000_000),
		"period 3":   bytes.Repeat([]byte("abc"), 40_000),
		"period 32K": bytes.Repeat(random[:32<<10], 8),
		"runs":       []byte(strings.Repeat("aaaaab", 5_000) + strings.Repeat("x", 259) + strings.Repeat("y", 4)),
		"text":       []byte(strings.Repeat("the quick brown fox jumps over the lazy dog. ", 3_000)),
	} {
		for _, level := range []string{"-1", "-9"} {
			cmd := exec.Command(program, "-c", level)
			cmd.Stdin = bytes.NewReader(data)
			src, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got, err := bzip2.Append(nil, src, len(data))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s %s: %d bytes, want %d: %v", name, level, len(got), len(data), err)
			}
		}
	}
}

func TestDamage(t *testing.T) {
	for name, src := range packed(t) {
		for cut := range min(len(src), 2000) {
			if _, err := bzip2.Append(nil, src[:cut], 1<<20); err == nil {
				t.Fatalf("%s cut to %d bytes was accepted", name, cut)
			}
		}
	}
}

// TestFlippedBits: with any bit another one, such as those of lengths of codes, a stream is damaged, or the bit was not needed.
func TestFlippedBits(t *testing.T) {
	for _, data := range []string{"abcdefghijklmnopqrst", "a", "banana", strings.Repeat("ab", 100)} {
		whole := sc2test.Compress([]byte(data))
		for bit := range 8 * len(whole) {
			src := bytes.Clone(whole)
			src[bit/8] ^= 0x80 >> (bit % 8)
			got, err := bzip2.Append(nil, src, 1<<20)
			damaged := errors.Is(err, decoders.ErrCorrupt) || errors.Is(err, decoders.ErrTruncated) || errors.Is(err, decoders.ErrLimit)
			if err != nil && !damaged || err == nil && string(got) != data {
				t.Errorf("%.20q: bit %d: %q, %v", data, bit, got, err)
			}
		}
	}
}

// TestRuns: equal bytes, of any number at any place, are those that were compressed, and no byte more than the limit.
func TestRuns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var data []byte
		for range rnd.IntN(12) {
			data = append(data, bytes.Repeat([]byte{"\x00\x80a"[rnd.IntN(3)]}, []int{1, 1, 2, 3, 4, 5, 20, 259, 260}[rnd.IntN(9)])...)
		}
		src := sc2test.Compress(data)
		if got, err := bzip2.Append(nil, src, len(data)); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%v instead of %v: %v", got, data, err)
		}
		if limit := rnd.IntN(len(data) + 1); limit < len(data) {
			if got, err := bzip2.Append(nil, src, limit); !errors.Is(err, decoders.ErrLimit) || len(got) > limit {
				t.Fatalf("%d bytes of %d, with a limit of %d: %v", len(got), len(data), limit, err)
			}
		}
	}
}

// TestOrigins: with another origin, a block's text begins elsewhere, and goes around.
func TestOrigins(t *testing.T) {
	const at = 14 // of the origin, behind the stream's header, the block's magic number, its checksum and one bit
	src := packed(t)["text.bz2"]
	whole, err := bzip2.Append(nil, src, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	around := append(bytes.Clone(whole), whole...) // it has no four equal bytes, which would mean a run
	for origin := 0; origin < len(whole); origin += 3 {
		bits := binary.BigEndian.Uint32(src[at:])&^(1<<31-1<<7) | uint32(origin)<<7
		moved := bytes.Clone(src)
		binary.BigEndian.PutUint32(moved[at:], bits)
		if got, _ := bzip2.Append(nil, moved, len(whole)); len(got) != len(whole) || !bytes.Contains(around, got) {
			t.Fatalf("origin %d: %d bytes are not the text from elsewhere", origin, len(got))
		}
	}
}

// TestChecksums: a block, and a stream, whose sum is another than is stated are damaged; what they have is there.
func TestChecksums(t *testing.T) {
	src := packed(t)["text.bz2"]
	whole, err := bzip2.Append(nil, src, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]int{"block": 10, "stream": len(src) - 3} {
		bad := bytes.Clone(src)
		bad[at] ^= 1
		if got, err := bzip2.Append(nil, bad, 1<<20); !errors.Is(err, decoders.ErrCorrupt) || !strings.Contains(err.Error(), "checksum of a "+what) && !strings.Contains(err.Error(), "checksum of the "+what) || !bytes.Equal(got, whole) {
			t.Errorf("%s: %d bytes of %d, %v", what, len(got), len(whole), err)
		}
	}
}

// TestRandomised: a block with the mark of randomised ones is damaged. No program writes them.
func TestRandomised(t *testing.T) {
	for name, src := range packed(t) {
		const mark = 4 + 6 + 4 // behind the stream's header, and the block's magic number and checksum
		if len(src) <= mark+10 {
			continue
		}
		src = bytes.Clone(src)
		src[mark] ^= 0x80
		if _, err := bzip2.Append(nil, src, 1<<20); !errors.Is(err, decoders.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, src := range packed(f) {
		if len(src) < 4<<10 {
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 20
		got, err := bzip2.Append(nil, src, limit)
		if len(got) > limit {
			t.Fatalf("%d bytes", len(got))
		}
		// The standard library reads concatenated streams, and Append only the first one. The standard library refuses
		// some streams that the reference implementation accepts, and vice versa. The checksums prove that an accepted
		// stream was decoded correctly.
		want, errStdlib := io.ReadAll(io.LimitReader(stdlib.NewReader(bytes.NewReader(src)), limit))
		if err == nil && errStdlib == nil && !bytes.HasPrefix(want, got) {
			t.Fatal("differs from the standard library")
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	src := packed(b)["skewed.bz2"]
	want, err := bzip2.Append(nil, src, 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("replayd", func(b *testing.B) {
		b.SetBytes(int64(len(want)))
		dst := make([]byte, 0, len(want))
		for b.Loop() {
			if dst, err = bzip2.Append(dst[:0], src, len(want)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stdlib", func(b *testing.B) {
		b.SetBytes(int64(len(want)))
		for b.Loop() {
			if _, err := io.Copy(io.Discard, stdlib.NewReader(bytes.NewReader(src))); err != nil {
				b.Fatal(err)
			}
		}
	})
}
