package inflate

import (
	stdadler "hash/adler32"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAdler32: sums are those of the standard library, in whatever parts bytes are added, also of the largest bytes, and of repeated ones.
func TestAdler32(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	whole := make([]byte, 20_000)
	rapid.Check(t, func(t *rapid.T) {
		p := whole[:rapid.IntRange(0, len(whole)).Draw(t, "bytes")]
		if _, _ = random.Read(p); rapid.Bool().Draw(t, "large") {
			for i := range p {
				p[i] = 255 - p[i]%2
			}
		}
		clear(p[rapid.IntRange(0, len(p)).Draw(t, "zeros"):])
		sum, rest := adler32{1, 0}, p
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			sum.add(rest[:n])
			rest = rest[n:]
		}
		run := p[:min(len(p), rapid.IntRange(1, Most/16).Draw(t, "run"))]
		times := Most / max(1, len(run))
		sum.repeat(run, times)
		if want := stdadler.Checksum(slices.Concat(p, slices.Repeat(run, times))); sum.value() != want {
			t.Fatalf("%08x of %d bytes, and %d times %d, want %08x", sum.value(), len(p), times, len(run), want)
		}
	})
}
