package xz_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/source/xz"
)

// dictionary is the largest dictionary of the tests, unless a test sets another.
const dictionary = 64 << 20

// unpack unpacks a whole file.
func unpack(b []byte) ([]byte, error) {
	return io.ReadAll(xz.NewReader(bufio.NewReader(bytes.NewReader(b)), dictionary))
}

// pack packs b with the xz command. It skips the test if there is no such command.
func pack(t *testing.T, b []byte, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("xz")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(path, append(args, "-c")...)
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sample returns n bytes, half of them in runs.
func sample(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 0, n+64)
	for len(b) < n {
		if rng.IntN(2) == 0 {
			b = append(b, bytes.Repeat([]byte{byte(rng.IntN(256))}, 1+rng.IntN(64))...)
		} else {
			b = append(b, byte(rng.IntN(256)))
		}
	}
	return b[:n]
}

func TestTheCommandsFilesAreRead(t *testing.T) {
	t.Parallel()
	want := sample(1_000_000)
	for _, args := range [][]string{
		{"-0"},
		{"-6"},
		{"-9"},
		{"-T2", "--block-size=100000"},
		{"--check=crc32"},
		{"--check=sha256"},
		{"--check=none"},
		{"--lzma2=dict=4KiB,lc=0,lp=2,pb=0"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			t.Parallel()
			if got, err := unpack(pack(t, want, args...)); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %d bytes, %v; want %d", len(got), err, len(want))
			}
		})
	}
}

// stored returns a file of one block with the given header. The block contains "x" uncompressed, and has no end.
func stored(header ...byte) []byte {
	b := []byte{0xfd, '7', 'z', 'X', 'Z', 0, 0, 0}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[6:8]))
	header = append([]byte{2}, header...)
	b = append(b, header...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(header))
	return append(b, 1, 0, 0, 'x', 0)
}

func TestFailuresAreTyped(t *testing.T) {
	t.Parallel()
	whole := pack(t, sample(1000), "-6")
	flagged := bytes.Clone(whole)
	flagged[6] = 1
	binary.LittleEndian.PutUint32(flagged[8:], crc32.ChecksumIEEE(flagged[6:8]))
	broken := bytes.Clone(whole)
	broken[len(broken)/2] ^= 0x10
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"nothing":                    {nil, io.ErrUnexpectedEOF},
		"something else":             {sample(1000), decoders.ErrCorrupt},
		"cut in the header":          {whole[:7], io.ErrUnexpectedEOF},
		"cut in a block":             {whole[:len(whole)/2], io.ErrUnexpectedEOF},
		"cut in the footer":          {whole[:len(whole)-1], io.ErrUnexpectedEOF},
		"something behind":           {slices.Concat(whole, sample(12)), decoders.ErrCorrupt},
		"damaged":                    {broken, decoders.ErrCorrupt},
		"flags that are not defined": {flagged, decoders.ErrUnsupported},
		"another filter":             {pack(t, sample(1000), "--x86", "--lzma2=preset=6"), decoders.ErrUnsupported},
		"a dictionary of 96 MiB":     {stored(0, 0x21, 1, 29, 0, 0, 0), decoders.ErrLimit},
		"a dictionary of 4 GiB":      {stored(0, 0x21, 1, 40, 0, 0, 0), decoders.ErrLimit},
		"an unknown dictionary":      {stored(0, 0x21, 1, 41, 0, 0, 0), decoders.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := xz.NewReader(bufio.NewReader(bytes.NewReader(c.file)), dictionary)
			_, err := io.ReadAll(r)
			var e *xz.Error
			if !errors.Is(err, c.want) || errors.As(err, &e) != !errors.Is(c.want, io.ErrUnexpectedEOF) {
				t.Errorf("%v (%T), want %v", err, err, c.want)
			}
			if n, again := r.Read(make([]byte, 1)); n != 0 || !errors.Is(again, err) {
				t.Errorf("then %d bytes and %v", n, again)
			}
		})
	}
}

func TestWhatIsThereOfACutFileIsRead(t *testing.T) {
	t.Parallel()
	want := sample(100_000)
	whole := pack(t, want)
	for cut := len(whole) / 10; cut < len(whole); cut += len(whole) / 10 {
		got, err := unpack(whole[:cut])
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(want, got) || len(got) < len(want)*cut/len(whole)*9/10-1<<10 {
			t.Errorf("cut at %d of %d: %d bytes, %v", cut, len(whole), len(got), err)
		}
	}
}

func TestAFailureOfTheFileIsHandedOn(t *testing.T) {
	t.Parallel()
	failed := errors.New("the disk is gone")
	whole := pack(t, sample(1000))
	for _, cut := range []int{0, 3, 20, len(whole) / 2, len(whole) - 1} {
		file := io.MultiReader(bytes.NewReader(whole[:cut]), iotest.ErrReader(failed))
		if _, err := io.ReadAll(xz.NewReader(bufio.NewReader(file), dictionary)); !errors.Is(err, failed) {
			t.Errorf("at %d: %v", cut, err)
		}
	}
}
