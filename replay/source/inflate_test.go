package source_test

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/source"
)

func TestCompressedFilesReadAsWhatIsInThem(t *testing.T) {
	t.Parallel()
	want := sample(700_000)
	for _, c := range compressors {
		t.Run(c.compression.String(), func(t *testing.T) {
			t.Parallel()
			// The name says something else: only content counts.
			f := openLocal(t, save(t, "replay.map", c.compress(t, want)), source.Limits{})
			info := f.Info()
			if info.Compression != c.compression || info.Format != decoders.Teehistorian {
				t.Fatalf("recognised as %v, %v", info.Compression, info.Format)
			}
			for range 2 { // each input reads from the front
				if got, err := readAll(f); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("read %d bytes, %v; want %d", len(got), err, len(want))
				}
			}
			if f.Input().At != nil || f.Input().Size != -1 {
				t.Error("a compressed file claims that it can be read anywhere")
			}
			if err := f.Spool(t.Context()); err != nil {
				t.Fatal(err)
			}
			in := f.Input()
			got := make([]byte, 1000)
			if _, err := in.At.ReadAt(got, 333_333); err != nil || !bytes.Equal(got, want[333_333:334_333]) {
				t.Errorf("the spooled file differs: %v", err)
			}
			if in.Size != int64(len(want)) {
				t.Errorf("spooled %d bytes, want %d", in.Size, len(want))
			}
		})
	}
}

func TestMembersOfACompressedFileAreReadOneAfterTheOther(t *testing.T) {
	t.Parallel()
	want := sample(50_000)
	for _, c := range compressors {
		t.Run(c.compression.String(), func(t *testing.T) {
			t.Parallel()
			members := slices.Concat(c.compress(t, want[:20_000]), c.compress(t, nil), c.compress(t, want[20_000:]))
			got, err := readAll(openLocal(t, save(t, "x", members), source.Limits{}))
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %d bytes, %v; want %d", len(got), err, len(want))
			}
		})
	}
}

func TestTheCommandsFilesAreRead(t *testing.T) {
	t.Parallel()
	want := sample(1_000_000)
	for _, args := range [][]string{
		{"gzip", "-9"},
		{"zstd", "-q", "-1"}, {"zstd", "-q", "-19"}, {"zstd", "-q", "--long=24"}, {"zstd", "-q", "--no-check"},
		{"xz", "-6"}, {"xz", "-9"},
		{"bzip2", "-1"}, {"bzip2", "-9"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			t.Parallel()
			f := openLocal(t, save(t, "x", command(t, want, args[0], append(args[1:], "-c")...)), source.Limits{})
			if got, err := readAll(f); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %d bytes, %v; want %d", len(got), err, len(want))
			}
		})
	}
}

func TestAnXZFilterIsUnsupported(t *testing.T) {
	t.Parallel()
	b := command(t, sample(1000), "xz", "--x86", "--lzma2=preset=6", "-c")
	if _, err := source.OpenLocal(save(t, "x", b), source.Limits{}); !errors.Is(err, decoders.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatIsCutSaysSoAfterWhatIsThere(t *testing.T) {
	t.Parallel()
	want := sample(300_000)
	// What can be lost before the cut: what the compression unpacks as a whole (bzip2 counts after shortening runs).
	block := map[source.Compression]int{source.Gzip: 1 << 10, source.Zstd: 128 << 10, source.XZ: 1 << 10, source.Bzip2: 400_000}
	for _, c := range compressors {
		t.Run(c.compression.String(), func(t *testing.T) {
			t.Parallel()
			whole := slices.Concat(c.compress(t, want[:130_000]), c.compress(t, want[130_000:]))
			first := len(c.compress(t, want[:130_000]))
			step := 1
			if len(whole) > 4000 {
				step = len(whole) / 60
			}
			for cut := 20; cut < len(whole); cut += step {
				if cut == first {
					continue
				}
				f, err := source.FromReader(bytes.NewReader(whole[:cut]), "x", source.Limits{})
				var got []byte
				if err == nil {
					got, err = readAll(f)
				}
				var e *decoders.Error
				if !errors.As(err, &e) || !errors.Is(err, decoders.ErrTruncated) {
					t.Fatalf("cut at %d of %d: %v", cut, len(whole), err)
				}
				if e.Offset != int64(len(got)) && len(got) > 0 {
					t.Fatalf("cut at %d: the error is at %d, %d bytes were read", cut, e.Offset, len(got))
				}
				if !bytes.Equal(got, want[:len(got)]) {
					t.Fatalf("cut at %d: what was read differs", cut)
				}
				if cut > first && len(got) < 130_000 {
					t.Fatalf("cut at %d, in the second member: only %d bytes of the first", cut, len(got))
				}
				// Much of what was compressed is there in proportion.
				if there := len(want) * cut / len(whole); len(got) < there*9/10-2*block[c.compression] {
					t.Fatalf("cut at %d of %d: read %d bytes of about %d", cut, len(whole), len(got), there)
				}
			}
		})
	}
}

func TestDamageIsFoundWithoutPanic(t *testing.T) {
	t.Parallel()
	want := sample(30_000)
	for _, c := range compressors {
		t.Run(c.compression.String(), func(t *testing.T) {
			t.Parallel()
			whole := c.compress(t, want)
			for at := 8; at < len(whole); at += 1 + len(whole)/400 {
				bad := bytes.Clone(whole)
				bad[at] ^= 0x10
				f, err := source.FromReader(bytes.NewReader(bad), "x", source.Limits{})
				var got []byte
				if err == nil {
					got, err = readAll(f)
				}
				if err != nil {
					if e := (*decoders.Error)(nil); !errors.As(err, &e) {
						t.Fatalf("byte %d flipped: %v is no *decoders.Error", at, err)
					}
				} else if !bytes.Equal(got, want) && f.Info().Compression == c.compression {
					t.Errorf("byte %d flipped: other bytes and no error", at)
				}
			}
		})
	}
}

// bombs are small files that unpack to a lot.
func bombs(tb testing.TB) map[string][]byte {
	tb.Helper()
	bombs := map[string][]byte{}

	// Zstandard: a block of one repeated byte is 4 bytes for 128 KiB.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58} // window 2 MiB
	for range 4096 {
		frame = append(frame, 0x02, 0x00, 0x10, 'x') // RLE, 128 KiB
	}
	bombs["zstd"] = bytes.Repeat(frame, 4) // 16 KiB for 2 GiB

	// A Zstandard frame that asks for a window of 2 GiB.
	bombs["zstd window"] = []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00}

	// One that asks for the largest that is allowed, and leaves it at that.
	bombs["zstd largest window"] = append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x70}, frame[6:]...)

	// A bzip2 block holds 45 bytes for 900 kB; it is the command's.
	zeros := make([]byte, 9_000_000)
	bombs["bzip2"] = bytes.Repeat(command(tb, zeros, "bzip2", "-9", "-c"), 200) // 1.8 GB
	bombs["gzip"] = bytes.Repeat(compressors[0].compress(tb, zeros), 200)
	bombs["xz"] = bytes.Repeat(compressors[2].compress(tb, zeros), 200)

	// The same with the largest dictionary, which must not be filled by so few bytes.
	bombs["xz largest dictionary"] = command(tb, make([]byte, 100_000_000), "xz", "-0", "--lzma2=preset=0,dict=64MiB", "-c")

	// An xz block that declares a dictionary of 4 GiB.
	header := []byte{2, 0, 0x21, 1, 40, 0, 0, 0}
	header = binary.LittleEndian.AppendUint32(header, crc32.ChecksumIEEE(header))
	stream := []byte{0xfd, '7', 'z', 'X', 'Z', 0, 0, 0}
	stream = binary.LittleEndian.AppendUint32(stream, crc32.ChecksumIEEE(stream[6:8]))
	bombs["xz dictionary"] = append(append(stream, header...), 1, 0, 0, 'x', 0)
	return bombs
}

func TestBombsEndAtTheLimit(t *testing.T) { //nolint:paralleltest // it measures memory
	const free = 16 << 20 // less than the default, which takes the race detector long
	for name, bomb := range bombs(t) {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // it measures memory
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, err := source.OpenLocal(save(t, "bomb", bomb), source.Limits{RatioFree: free})
			var n int64
			if err == nil {
				defer f.Close()
				n, err = io.Copy(io.Discard, f.Input().Front)
			}
			runtime.ReadMemStats(&after)
			if !errors.Is(err, decoders.ErrLimit) {
				t.Fatalf("%d bytes unpacked to %d, then: %v", len(bomb), n, err)
			}
			if n > 200*int64(len(bomb)+64<<10)+free {
				t.Errorf("%d bytes were unpacked to %d before the limit", len(bomb), n)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
			t.Logf("%d bytes, %d unpacked: %v", len(bomb), n, err)
		})
	}
}

func TestTheInflatedLimitIsExact(t *testing.T) {
	t.Parallel()
	want := sample(10_000)
	for _, c := range compressors {
		path := save(t, "x", c.compress(t, want))
		got, err := readAll(openLocal(t, path, source.Limits{Inflated: 10_000}))
		if err != nil || len(got) != 10_000 {
			t.Errorf("%v: read %d bytes of 10,000 allowed: %v", c.compression, len(got), err)
		}
		got, err = readAll(openLocal(t, path, source.Limits{Inflated: 9_999}))
		if !errors.Is(err, decoders.ErrLimit) || !bytes.Equal(got, want[:9_999]) {
			t.Errorf("%v: read %d bytes of 9,999 allowed: %v", c.compression, len(got), err)
		}
		if err := openLocal(t, path, source.Limits{Spooled: 9_999}).Spool(t.Context()); !errors.Is(err, decoders.ErrLimit) {
			t.Errorf("%v: spooled beyond the limit: %v", c.compression, err)
		}
	}
}

// TestManySmallMembersCostWhatTheyAre: nothing is allocated for each, whatever it declares.
func TestManySmallMembersCostWhatTheyAre(t *testing.T) { //nolint:paralleltest // it measures memory
	for _, c := range compressors {
		t.Run(c.compression.String(), func(t *testing.T) { //nolint:paralleltest // it measures memory
			members := bytes.Repeat(c.compress(t, []byte("x")), 10_000)
			f, err := source.FromReader(bytes.NewReader(members), "x", source.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, err := io.Copy(io.Discard, f.Input().Front)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; n != 10_000 || err != nil || used > 32<<20 {
				t.Errorf("%d bytes, %v, %d bytes were allocated", n, err, used)
			}
		})
	}
}

// FuzzInflate unpacks anything, and compares with other decoders where there are some.
func FuzzInflate(f *testing.F) {
	for _, c := range compressors {
		b := c.compress(f, sample(300))
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte(teehistorianMagic))
	limits := source.Limits{Inflated: 8 << 20, Ratio: 1000, RatioFree: 1 << 20, Window: 1 << 20, Dictionary: 1 << 20}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := source.FromReader(bytes.NewReader(b), "fuzz", limits)
		var got []byte
		if err == nil {
			got, err = readAll(file)
		}
		var e *decoders.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v is no *decoders.Error", err)
		}
		if int64(len(got)) > limits.Inflated {
			t.Fatalf("unpacked to %d bytes", len(got))
		}
		if err != nil {
			return
		}
		var want []byte
		switch file.Info().Compression {
		case source.Plain:
			want = b
		case source.Bzip2:
			want, err = io.ReadAll(bzip2.NewReader(bytes.NewReader(b)))
		case source.Zstd:
			d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
			defer d.Close()
			want, err = d.DecodeAll(b, nil)
		case source.XZ:
			var r *xz.Reader
			if r, err = (xz.ReaderConfig{}).NewReader(bytes.NewReader(b)); err == nil {
				want, err = io.ReadAll(r)
			}
		case source.Gzip:
			return
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("unpacked to %d bytes; the reference to %d, %v", len(got), len(want), err)
		}
	})
}
