package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/replay/source"
)

func TestAPlainFileIsReadAnywhereAndAsItGrows(t *testing.T) {
	t.Parallel()
	want := sample(2000)
	path := save(t, "a", want[:1000])
	f := openLocal(t, path, source.Limits{})
	in := f.Input()
	if in.Size != 1000 {
		t.Errorf("size %d", in.Size)
	}
	r, err := in.From(0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want[:1000]) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if n, err := in.At.ReadAt(make([]byte, 10), 1000); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if err := os.WriteFile(path, want, 0o600); err != nil { // the same beginning
		t.Fatal(err)
	}
	if got, err = io.ReadAll(r); err != nil || len(got) > 0 {
		t.Errorf("what was appended, before it was seen: %d bytes, %v", len(got), err)
	}
	f.Admit(1100)
	if n, err := in.At.ReadAt(make([]byte, 200), 950); n != 150 || !errors.Is(err, io.EOF) {
		t.Errorf("what somebody else has seen: %d bytes, %v", n, err)
	}
	if err := f.Check(); err != nil || f.Info().Size != 2000 {
		t.Errorf("%+v, %v", f.Info(), err)
	}
	if got, err = io.ReadAll(r); err != nil || !bytes.Equal(got, want[1000:]) {
		t.Errorf("what was appended: %d bytes, %v", len(got), err)
	}
	if err := f.Spool(t.Context()); err != nil || f.Input().Size != 2000 {
		t.Errorf("a plain file need not be spooled: %v", err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if _, err := in.At.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

func TestOpenLocalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := source.OpenLocal(dir, source.Limits{}); !errors.Is(err, source.ErrDirectory) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := source.OpenLocal(filepath.Join(dir, "missing"), source.Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	for content, want := range map[string]error{
		"": decoders.ErrTruncated, "hello": decoders.ErrUnsupported, string(compressors[0].compress(t, []byte("hello"))): decoders.ErrUnsupported,
		teehistorianMagic: nil,
	} {
		f := openLocal(t, save(t, "a", []byte(content)), source.Limits{})
		if err := f.Recognized(); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%.10q: %v, want %v", content, err, want)
		}
	}
}

func TestOpenLocalReadsAPipe(t *testing.T) {
	t.Parallel()
	want := sample(300_000)
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = w.Write(compressors[0].compress(t, want))
			err = errors.Join(err, w.Close())
		}
		if err != nil {
			t.Error(err)
		}
	})
	f := openLocal(t, path, source.Limits{})
	got, err := readAll(f)
	if info := f.Info(); err != nil || !bytes.Equal(got, want) || info.Format != decoders.Teehistorian || info.Size != -1 {
		t.Errorf("%d bytes, %v, %+v", len(got), err, info)
	}
	wg.Wait()
}

func TestAnUpload(t *testing.T) {
	t.Parallel()
	want := sample(300_000)
	for _, c := range append(compressors[:3:3], struct {
		compression source.Compression
		compress    func(testing.TB, []byte) []byte
	}{source.Plain, func(_ testing.TB, b []byte) []byte { return b }}) {
		t.Run(c.compression.String(), func(t *testing.T) {
			t.Parallel()
			sent := c.compress(t, want)
			open := func(r io.Reader) *source.File {
				f, err := source.FromReader(r, "up", source.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = f.Close() })
				info := f.Info()
				if info.Compression != c.compression || info.Format != decoders.Teehistorian || info.Growable() || f.Path() != "" || f.Check() != nil {
					t.Errorf("%+v", info)
				}
				return f
			}
			// It comes in small pieces, and can be read once.
			f := open(iotest.HalfReader(bytes.NewReader(sent)))
			if got, err := readAll(f); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if _, err := readAll(f); err == nil {
				t.Error("read twice")
			}
			if err := f.Spool(t.Context()); err == nil {
				t.Error("spooled after it was read")
			}
			// Spooled, it can be read anywhere and any number of times.
			f = open(bytes.NewReader(sent))
			if err := errors.Join(f.Spool(t.Context()), f.Spool(t.Context())); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got := make([]byte, len(want))
				if _, err := f.Input().At.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
					t.Fatal("the spooled bytes differ", err)
				}
			}
			// The sender fails in the middle: its own error, after what came before.
			lost := errors.New("connection lost")
			f = open(io.MultiReader(bytes.NewReader(sent[:len(sent)/2]), iotest.ErrReader(lost)))
			got, err := readAll(f)
			if !errors.Is(err, lost) || !bytes.Equal(got, want[:len(got)]) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if _, err := source.FromReader(iotest.ErrReader(lost), "up", source.Limits{}); !errors.Is(err, lost) {
				t.Error(err)
			}
		})
	}
	f, err := source.FromReader(bytes.NewReader(nil), "up", source.Limits{})
	if err != nil || f.Recognized() == nil {
		t.Errorf("nothing at all: %v", err)
	}
}

func TestSpoolLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := save(t, "a", compressors[0].compress(t, sample(300_000)))
	f := openLocal(t, path, source.Limits{TempDir: dir})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Spool(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := f.Spool(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	f = openLocal(t, path, source.Limits{TempDir: filepath.Join(dir, "missing")})
	if err := f.Spool(t.Context()); !errors.Is(err, source.ErrIO) {
		t.Errorf("nowhere to spool to: %v", err)
	}
	// One that is closed meanwhile keeps no file open.
	f = openLocal(t, path, source.Limits{TempDir: dir})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Spool(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestAFileIsUsedByMany(t *testing.T) {
	t.Parallel()
	want := sample(100_000)
	plain := save(t, "plain", want)
	packed := save(t, "packed", compressors[0].compress(t, want))
	for _, path := range []string{plain, packed} {
		f := openLocal(t, path, source.Limits{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got, err := readAll(f); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if err := errors.Join(f.Check(), f.Spool(t.Context())); err != nil || f.Info().Size == 0 {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// TestTheCorpusIsRecognised opens each real file, as it is and compressed, and reads the same bytes.
func TestTheCorpusIsRecognised(t *testing.T) {
	t.Parallel()
	for _, format := range decoders.Formats() {
		t.Run(format.String(), func(t *testing.T) {
			t.Parallel()
			root := decodertest.Shared(t, "corpus", format.String())
			n := 0
			err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || n == 12 {
					return err
				}
				f := openLocal(t, path, source.Limits{})
				if f.Info().Format != format || f.Info().Size > 1<<20 {
					return nil // notes beside the replays, and what takes long
				}
				n++
				want, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for _, c := range compressors[:3] {
					p := openLocal(t, save(t, fmt.Sprint(n), c.compress(t, want)), source.Limits{})
					if got, err := readAll(p); err != nil || !bytes.Equal(got, want) || p.Info().Format != format {
						t.Errorf("%s, %v: %d bytes, %v, %v", path, c.compression, len(got), err, p.Info().Format)
					}
				}
				return nil
			})
			if err != nil || n == 0 {
				t.Errorf("%d files, %v", n, err)
			}
		})
	}
}

func TestOnlyAPlainFileIsGrowable(t *testing.T) {
	t.Parallel()
	upload, err := source.FromReader(strings.NewReader("x"), "x", source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file *source.File
		want bool
	}{
		"plain":      {openLocal(t, save(t, "a", sample(100)), source.Limits{}), true},
		"compressed": {openLocal(t, save(t, "a", compressors[0].compress(t, sample(100))), source.Limits{}), false},
		"upload":     {upload, false},
	} {
		if info := c.file.Info(); info.Growable() != c.want {
			t.Errorf("%s: growable %t", name, info.Growable())
		}
	}
}

// BenchmarkInflate measures how fast compressed files are read.
func BenchmarkInflate(b *testing.B) {
	want := sample(8 << 20)
	for _, c := range compressors {
		b.Run(c.compression.String(), func(b *testing.B) {
			f := openLocal(b, save(b, "a", c.compress(b, want)), source.Limits{})
			b.SetBytes(int64(len(want)))
			for b.Loop() {
				if n, err := io.Copy(io.Discard, f.Input().Front); err != nil || n != int64(len(want)) {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// TestCheckIsCheap: it is called for each tick of a live game.
func TestCheckIsCheap(t *testing.T) { //nolint:paralleltest // allocations are counted
	path := save(t, "a", sample(2000))
	f := openLocal(t, path, source.Limits{})
	w, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	grow := func() {
		if _, err := w.Write([]byte{1}); err != nil {
			t.Error(err)
		}
	}
	stat := testing.AllocsPerRun(100, func() { _, _ = os.Stat(path) })
	if n := testing.AllocsPerRun(100, func() { grow(); _ = f.Check() }) - stat - testing.AllocsPerRun(100, grow); n > 0 {
		t.Errorf("%v allocations beside those of os.Stat", n)
	}
}

// TestTheEndOfARecordingIsNoOtherFile: games write two offsets into the first bytes of a demo when a recording ends. Any other change there
// is another recording in the same file.
func TestTheEndOfARecordingIsNoOtherFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		magic string
		at    int64
		want  error
	}{
		{"PBDEMS2\x00", 8, nil}, {"PBDEMS2\x00", 15, nil}, {"PBDEMS2\x00", 16, source.ErrOverwritten},
		{teehistorianMagic, 8, source.ErrOverwritten}, {teehistorianMagic, 20, source.ErrOverwritten},
	} {
		data := append([]byte(c.magic), bytes.Repeat([]byte{7}, 600)...)
		path := save(t, "a", data)
		f := openLocal(t, path, source.Limits{})
		data[c.at]++
		if err := os.WriteFile(path, append(data, 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); !errors.Is(err, c.want) {
			t.Errorf("%q, byte %d: %v, want %v", c.magic, c.at, err, c.want)
		}
	}
}
