package inflate_test

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders/datafile/inflate"
)

// read reads a stream by a Reader, in parts of size bytes.
func read(r *inflate.Reader, size, limit int) (all []byte, err error) {
	for err == nil && len(all) < limit {
		var part []byte
		part, err = r.Next(size)
		all = append(all, part...)
		if len(part) < size {
			clear(part[len(part):size]) // there is room
		}
	}
	return all, err
}

const limit = 1 << 20

// same fails unless a stream is read, or refused, as by the standard library.
func same(tb rapid.TB, r *inflate.Reader, packed []byte, size int, from func(io.Reader) io.Reader) {
	tb.Helper()
	var want []byte
	z, wantErr := zlib.NewReader(bytes.NewReader(packed))
	if wantErr == nil {
		want, wantErr = io.ReadAll(io.LimitReader(z, limit+inflate.Most))
	}
	r.Reset(from(bytes.NewReader(packed)), false)
	got, err := read(r, size, limit)
	if len(want) >= limit {
		if len(got) < limit || !bytes.HasPrefix(want, got[:limit]) {
			tb.Fatalf("%d bytes, %v", len(got), err)
		}
		return
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	_, damaged := errors.AsType[flate.CorruptInputError](wantErr)
	if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) || errors.Is(err, inflate.ErrCorrupt) != damaged ||
		errors.Is(err, io.ErrUnexpectedEOF) != errors.Is(wantErr, io.ErrUnexpectedEOF) ||
		errors.Is(err, inflate.ErrChecksum) != errors.Is(wantErr, zlib.ErrChecksum) ||
		errors.Is(err, inflate.ErrHeader) != (errors.Is(wantErr, zlib.ErrHeader) || errors.Is(wantErr, zlib.ErrDictionary)) {
		tb.Fatalf("%x: %d bytes, %v; want %d, %v", packed, len(got), err, len(want), wantErr)
	}
	if again, later := r.Next(1); len(again) > 0 || err != nil && !errors.Is(later, err) {
		tb.Fatalf("after %v: %v", err, later)
	}
	// Up to the last byte, and then asked for the end: the last part is as it was.
	r.Reset(from(bytes.NewReader(packed)), wantErr == nil)
	var part []byte
	for rest := want; len(rest) > 0; rest = rest[len(part):] {
		if part, err = r.Next(min(size, len(rest))); len(part) == 0 {
			tb.Fatalf("no more than %d bytes: %v", len(want)-len(rest), err)
		}
	}
	if end := r.End(); errors.Is(end, io.EOF) != (wantErr == nil) || !bytes.HasSuffix(want, part) {
		tb.Fatalf("at the end of %d bytes: %v; %v", len(want), end, wantErr)
	}
}

func whole(r io.Reader) io.Reader { return r }

// pack packs bytes in each way that the standard library has.
func pack(tb rapid.TB, p []byte, level int) []byte {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err == nil {
		_, err = w.Write(p)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// drawBytes makes bytes like those of maps: runs of a few bytes, bytes that were before, and others.
func drawBytes(t *rapid.T) (p []byte) {
	for range rapid.IntRange(0, 12).Draw(t, "parts") {
		switch n := rapid.IntRange(1, 80_000).Draw(t, "bytes"); rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			p = append(p, bytes.Repeat(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "tile"), n/8)...)
		case 1:
			p = append(p, make([]byte, n)...)
		case 2:
			from := rapid.IntRange(0, len(p)).Draw(t, "from")
			p = append(p, p[from:min(len(p), from+n)]...)
		default:
			p = append(p, rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "others")...)
		}
	}
	return p
}

// TestSame: what the standard library packs, also damaged, is read as by it, in whatever parts it comes and is read.
func TestSame(t *testing.T) {
	var r inflate.Reader
	rapid.Check(t, func(t *rapid.T) {
		packed := pack(t, drawBytes(t), rapid.IntRange(flate.HuffmanOnly, flate.BestCompression).Draw(t, "level"))
		from := rapid.SampledFrom([]func(io.Reader) io.Reader{whole, iotest.DataErrReader, iotest.HalfReader, iotest.OneByteReader}).Draw(t, "from")
		size := rapid.IntRange(1, inflate.Most).Draw(t, "size")
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			at := rapid.IntRange(0, len(packed)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "cut") {
				packed = packed[:at]
				break
			}
			packed[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		same(t, &r, packed, size, from)
	})
}

// TestEachBit: a stream of each level, cut at each byte, with each bit turned, and both.
func TestEachBit(t *testing.T) {
	var r inflate.Reader
	text := append(bytes.Repeat([]byte("layers, layers and tiles; "), 3), make([]byte, 3000)...)
	for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
		packed := pack(t, text, level)
		packed = packed[:min(len(packed), 400)]
		for i := range len(packed) + 1 {
			same(t, &r, packed[:i], 100, whole)
		}
		for i := range 8 * len(packed) {
			turned := bytes.Clone(packed)
			turned[i/8] ^= 1 << (i % 8)
			same(t, &r, turned, 1000, whole)
			same(t, &r, turned[:(i/8+len(packed))/2], 1000, whole)
		}
	}
}

// TestHeaders: each header is accepted or refused as by the standard library.
func TestHeaders(t *testing.T) {
	var r inflate.Reader
	packed := pack(t, []byte("tiles"), flate.BestSpeed)
	for head := range 1 << 16 {
		binary.BigEndian.PutUint16(packed, uint16(head))
		same(t, &r, packed, 10, whole)
	}
}

// TestEdges: bytes that end where the Reader's memory does, and runs that begin where an earlier one, of other bytes, ended in it.
func TestEdges(t *testing.T) {
	var r inflate.Reader
	random := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 200<<10)
	_, _ = random.Read(noise)
	words := bytes.Clone(noise)
	for i := 100; i < len(words); i += 13 {
		copy(words[i:], words[i-100:i-100+i%11])
	}
	xs := bytes.Repeat([]byte("x"), 300)
	for _, level := range []int{flate.BestSpeed, flate.BestCompression} {
		for n := range 40 {
			same(t, &r, pack(t, words[n:], level), 32<<10+n%7, whole)
		}
		for n := range 3 {
			same(t, &r, pack(t, slices.Concat(make([]byte, 100<<10), noise[:96<<10-n], xs), level), inflate.Most, whole)
		}
		r.Reset(bytes.NewReader(pack(t, make([]byte, 1000), level)), false)
		if p, err := r.Next(300); len(p) != 300 || err != nil { // in the middle of a match
			t.Fatal(len(p), err)
		}
		same(t, &r, pack(t, slices.Concat(noise[:299], xs), level), 1000, whole)
	}
}

// TestFixed: each symbol and each distance of the codes that are not described.
func TestFixed(t *testing.T) {
	var r inflate.Reader
	for symbol := range 1 << 9 {
		for distance := range 1 << 5 {
			w := bitWriter{bytes: []byte{0x78, 0x9c}}
			w.bits(1|1<<1|0x0c<<3|0x8c<<11, 19) // two bytes
			w.bits(symbol, 9)
			w.bits(distance, 5)
			w.bits(0, 32)
			same(t, &r, w.bytes, 1000, whole)
		}
	}
}

// bitWriter writes bits as deflate has them.
type bitWriter struct {
	bytes []byte
	held  int
}

// bits writes n bits, the lowest first.
func (w *bitWriter) bits(value, n int) {
	for i := range n {
		if w.held%8 == 0 {
			w.bytes = append(w.bytes, 0)
		}
		w.bytes[len(w.bytes)-1] |= byte(value >> i & 1 << (w.held % 8))
		w.held++
	}
}

// drawCode makes the numbers of bits of a code: mostly a sound one, or of too few or too many symbols.
func drawCode(t *rapid.T, symbols int) []byte {
	numbers := make([]byte, symbols)
	if few := rapid.SampledFrom([]int{9, 9, 9, 9, 9, 0, 1, 2, 3}).Draw(t, "few"); few < 4 {
		for range few {
			numbers[rapid.IntRange(0, symbols-1).Draw(t, "symbol")] = 1
		}
		return numbers
	}
	leaves := []byte{1, 1}
	for range rapid.IntRange(0, symbols-2).Draw(t, "splits") {
		if at := rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf"); leaves[at] < 15 {
			leaves[at]++
			leaves = append(leaves, leaves[at])
		}
	}
	copy(numbers, leaves)
	return rapid.Permutation(numbers).Draw(t, "numbers")
}

// TestCodes: blocks with any codes and any bits, which the standard library would not write, are read or refused as by it.
func TestCodes(t *testing.T) {
	var r inflate.Reader
	rapid.Check(t, func(t *rapid.T) {
		w := bitWriter{bytes: []byte{0x78, 0x9c}}
		w.bits(1, 1)
		if rapid.IntRange(0, 3).Draw(t, "fixed") == 0 {
			w.bits(1, 2)
		} else {
			lengths := rapid.SampledFrom([]int{257, 258, 270, 285, 286, 286, 287, 288}).Draw(t, "lengths")
			distances := rapid.SampledFrom([]int{1, 2, 9, 29, 30, 30, 31, 32}).Draw(t, "distances")
			numbers := append(drawCode(t, lengths), drawCode(t, max(distances, 2))[:distances]...)
			w.bits(2, 2)
			w.bits(lengths-257, 5)
			w.bits(distances-1, 5)
			w.bits(15, 4)
			for _, symbol := range []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
				w.bits(4+symbol/13, 3) // 13 codes of four bits, and six of five
			}
			number := func(n int) {
				if n < 13 {
					w.bits(int(bits.Reverse8(byte(n))>>4), 4)
				} else {
					w.bits(int(bits.Reverse8(byte(n+13))>>3), 5)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "repeat") == 0 {
				number(16)
				w.bits(0, 2)
				numbers = numbers[3:]
			}
			over := rapid.SampledFrom([]bool{false, false, true}).Draw(t, "over") // one number too many
			for len(numbers) > 0 {
				n := len(numbers) - len(bytes.TrimLeft(numbers, "\x00"))
				switch {
				case over && n > 1 && n < 10 && n == len(numbers):
					number(17)
					w.bits(n-2, 3)
				case n >= 11:
					n = min(n, 138)
					number(18)
					w.bits(n-11, 7)
				case n >= 3:
					number(17)
					w.bits(n-3, 3)
				default:
					number(int(numbers[0]))
					n = 1
					if same := len(numbers) - len(bytes.TrimLeft(numbers, string(numbers[:1]))); same > 3 {
						number(16)
						w.bits(min(same-1, 6)-3, 2)
						n = min(same, 7)
					}
				}
				numbers = numbers[n:]
			}
		}
		for _, b := range rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "rest") {
			w.bits(int(b), 8)
		}
		same(t, &r, w.bytes, 1000, whole)
	})
}

// TestReset: a Reader takes no memory for further streams, sums none that are known, gives bytes that are not packed, and has the errors of
// what it reads.
func TestReset(t *testing.T) {
	var r inflate.Reader
	text := bytes.Repeat([]byte("layers, layers and tiles; "), 10_000)
	packed := pack(t, text, flate.DefaultCompression)
	packed[len(packed)-1] ^= 1
	from := bytes.NewReader(packed)
	if n := testing.AllocsPerRun(10, func() {
		from.Reset(packed)
		r.Reset(from, true)
		for n := len(text); n > 0; n -= inflate.Most {
			if p, err := r.Next(min(n, inflate.Most)); err != nil || !bytes.Equal(p, text[len(text)-n:][:len(p)]) {
				t.Fatal(n, err)
			}
		}
		if err := r.End(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	r.Reset(bytes.NewReader(packed), false)
	if p, err := r.Next(1); err != nil || r.End() != nil {
		t.Errorf("%q, %v, and no more", p, err)
	}
	r.ResetPlain(iotest.HalfReader(bytes.NewReader(packed)))
	if got, err := read(&r, 100, limit); !bytes.Equal(got, packed) || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes of %d: %v", len(got), len(packed), err)
	}
	for n := range 20 {
		r.Reset(io.MultiReader(bytes.NewReader(packed[:n]), iotest.ErrReader(fs.ErrPermission)), false)
		if _, err := read(&r, 100, limit); !errors.Is(err, fs.ErrPermission) {
			t.Error(n, err)
		}
	}
}

// FuzzReader: any bytes behind a header are read or refused as by the standard library, and as deflated bytes with a right checksum.
func FuzzReader(f *testing.F) {
	for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
		f.Add(pack(f, bytes.Repeat([]byte{0, 0, 1, 2, 3, 0, 0, 0}, 100), level)[2:])
	}
	f.Add([]byte{0x05, 0xe0, 0x81, 0x08, 0, 0, 0, 0, 0, 0x10}) // a code of distances of one bit
	var r inflate.Reader
	f.Fuzz(func(t *testing.T, deflated []byte) {
		same(t, &r, append([]byte{0x78, 0x9c}, deflated...), 1000, whole)
		p, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(deflated)), limit))
		if err == nil && len(p) < limit {
			same(t, &r, binary.BigEndian.AppendUint32(append([]byte{0x78, 0x9c}, deflated...), adler32.Checksum(p)), inflate.Most, whole)
		}
	})
}
