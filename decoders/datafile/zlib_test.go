package datafile

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	stdadler "hash/adler32"
	"io"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestAdler32: sums are those of the standard library, in whatever parts bytes are added, also of the largest bytes.
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
		if want := stdadler.Checksum(p); sum.value() != want {
			t.Fatalf("%08x of %d bytes, want %08x", sum.value(), len(p), want)
		}
	})
}

// TestUnzlib: each stream, whole, cut at each byte and with each bit turned, is read or refused as by the standard library.
func TestUnzlib(t *testing.T) {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte("layers, layers and tiles")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var in unzlib // for all of them
	check := func(packed []byte, what string, at int) {
		t.Helper()
		var got []byte
		err := in.open(bufio.NewReader(bytes.NewReader(packed)), false)
		if err == nil {
			got, err = io.ReadAll(&in)
		}
		var want []byte
		r, wantErr := zlib.NewReader(bytes.NewReader(packed))
		if wantErr == nil {
			want, wantErr = io.ReadAll(r)
		}
		if (err == nil) != (wantErr == nil) || errors.Is(err, io.ErrUnexpectedEOF) != errors.Is(wantErr, io.ErrUnexpectedEOF) ||
			errors.Is(err, errZlibHeader) != (errors.Is(wantErr, zlib.ErrHeader) || errors.Is(wantErr, zlib.ErrDictionary)) ||
			errors.Is(err, errZlibChecksum) != errors.Is(wantErr, zlib.ErrChecksum) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("%s %d: %q, %v; want %q, %v", what, at, got, err, want, wantErr)
		}
	}
	for i := range b.Len() + 1 {
		check(b.Bytes()[:i], "cut at", i)
	}
	for i := range 8 * b.Len() {
		turned := bytes.Clone(b.Bytes())
		turned[i/8] ^= 1 << (i % 8)
		check(turned, "turned bit", i)
	}
}
