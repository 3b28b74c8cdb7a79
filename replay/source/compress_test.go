package source_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/replayd/replayd/replay/source"
)

// teehistorianMagic begins every replay that the tests make up.
const teehistorianMagic = "\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1"

// sample returns n bytes that begin as a teehistorian file does and compress as one does, more or less.
func sample(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := []byte(teehistorianMagic)
	for len(b) < n {
		if rng.IntN(2) == 0 {
			b = append(b, bytes.Repeat([]byte{byte(rng.IntN(256))}, 1+rng.IntN(64))...)
		} else {
			b = append(b, byte(rng.IntN(256)))
		}
	}
	return b[:n]
}

// compressors compress in-process; bzip2, which Go cannot write, by the command.
var compressors = []struct {
	compression source.Compression
	compress    func(testing.TB, []byte) []byte
}{
	{source.Gzip, func(tb testing.TB, b []byte) []byte {
		return written(tb, b, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, 6) })
	}},
	{source.Zstd, func(tb testing.TB, b []byte) []byte {
		return written(tb, b, func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		})
	}},
	{source.XZ, func(tb testing.TB, b []byte) []byte {
		return written(tb, b, func(w io.Writer) (io.WriteCloser, error) {
			return xz.WriterConfig{DictCap: 1 << 16, BlockSize: 200_000}.NewWriter(w)
		})
	}},
	{source.Bzip2, func(tb testing.TB, b []byte) []byte { return command(tb, b, "bzip2", "-1", "-c") }},
}

func written(tb testing.TB, b []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := open(&out)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// command pipes b through a command, and skips the test where there is none of that name.
func command(tb testing.TB, b []byte, name string, args ...string) []byte {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skip(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// save writes a file into a directory of the test's.
func save(tb testing.TB, name string, b []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// openLocal opens a file until the test ends.
func openLocal(tb testing.TB, path string, limits source.Limits) *source.File {
	tb.Helper()
	f, err := source.OpenLocal(path, limits)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// readAll reads a new input of the file from front to back.
func readAll(f *source.File) ([]byte, error) {
	r, err := f.Input().From(0)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
