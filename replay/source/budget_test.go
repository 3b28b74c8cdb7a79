package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// purse is a Budget of so much memory and spool.
type purse struct {
	mu                  sync.Mutex
	memory, spool       int64 // taken
	peak                int64 // of memory
	mostMemory, mostOut int64
}

var errPurse = errors.New("the purse is empty")

func (p *purse) Memory(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && p.memory+n > p.mostMemory {
		return errPurse
	}
	p.memory += n
	p.peak = max(p.peak, p.memory)
	return nil
}

func (p *purse) Spool(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > 0 && p.spool+n > p.mostOut {
		return errPurse
	}
	p.spool += n
	return nil
}

// zstdOf compresses with a window.
func zstdOf(t *testing.T, data []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // several blocks
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBudgetWindows: before a frame is unpacked its window is taken of the budget, the largest of several once; closing the
// file gives everything back; and where there is not enough nothing is unpacked.
func TestBudgetWindows(t *testing.T) {
	text := bytes.Repeat([]byte("these are words. "), 1000)
	small, large := zstdOf(t, text, 1<<10), zstdOf(t, text, 8<<20)
	skip := append([]byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0}, "abc"...)
	single, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zeros := single.EncodeAll(make([]byte, 300<<10), nil) // a single segment, of blocks that repeat a byte
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	_, _ = gz.Write(text)
	_ = gz.Close()
	for _, test := range []struct {
		name string
		data []byte
		want int64
		n    int
	}{
		{"a small window", small, zstdCost + 2<<10, 3 * len(text)},
		{"a large window", large, zstdCost + 16<<20, 3 * len(text)},
		{"a larger one after others", bytes.Join([][]byte{skip, small, skip, large, small}, nil), zstdCost + 16<<20, 9 * len(text)},
		{"a single segment", append(zeros, small...), zstdCost + 2*300<<10, 300<<10 + 3*len(text)},
		{"gzip", z.Bytes(), gzipCost, len(text)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &purse{mostMemory: test.want}
			f, err := FromReader(bytes.NewReader(test.data), "x", Limits{Budget: p, RatioFree: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(f.Input().Front)
			if err != nil || len(got) != test.n {
				t.Errorf("%d bytes, %v, want %d", len(got), err, test.n)
			}
			if p.peak != test.want {
				t.Errorf("%d bytes were taken, want %d", p.peak, test.want)
			}
			if err := f.Close(); err != nil || p.memory != 0 {
				t.Errorf("%d bytes were not given back, %v", p.memory, err)
			}
			p = &purse{mostMemory: test.want - 1}
			f, err = FromReader(bytes.NewReader(test.data), "x", Limits{Budget: p, RatioFree: 1 << 30})
			if err == nil {
				_, err = io.ReadAll(f.Input().Front)
			}
			if !errors.Is(err, errPurse) {
				t.Errorf("with a byte less: %v", err)
			}
		})
	}
}

// TestBudgetSpool: what is written to the disk is taken of the budget, and given back when the file is closed.
func TestBudgetSpool(t *testing.T) {
	data := make([]byte, 1<<20)
	p := &purse{mostOut: 1 << 20}
	f, err := FromReader(bytes.NewReader(data), "x", Limits{Budget: p, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Spool(t.Context()); err != nil || p.spool != 1<<20 {
		t.Errorf("%d bytes, %v", p.spool, err)
	}
	if err := f.Close(); err != nil || p.spool != 0 {
		t.Errorf("%d bytes were not given back, %v", p.spool, err)
	}
	p = &purse{mostOut: 1<<20 - 1}
	f, err = FromReader(bytes.NewReader(data), "x", Limits{Budget: p, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Spool(t.Context()); !errors.Is(err, errPurse) {
		t.Errorf("with a byte less: %v", err)
	}
	_ = f.Close()
	if p.spool != 0 {
		t.Errorf("%d bytes were not given back", p.spool)
	}
}

// FuzzWindows: the reader that finds windows passes all bytes on as they are.
func FuzzWindows(f *testing.F) {
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 1, 0, 0}, 1)
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3, 0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x50, 0x0b, 0, 0, 1, 2, 3, 4, 5}, 7)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		w := &windows{src: bufio.NewReader(bytes.NewReader(data)), grow: func(n int64) error {
			if n < 0 {
				t.Errorf("a window of %d bytes", n)
			}
			return nil
		}}
		var got []byte
		p := make([]byte, max(1, piece%4096))
		for {
			n, err := w.Read(p)
			got = append(got, p[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%x became %x", data, got)
		}
	})
}
