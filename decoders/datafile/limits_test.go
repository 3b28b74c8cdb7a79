package datafile_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// TestLimits opens and decodes files that exceed the limits. They must be refused without allocating much memory.
func TestLimits(t *testing.T) {
	layer := func(version, width, height int32, blob int32) []int32 {
		return []int32{0, 2, 0, version, width, height, 0, 255, 255, 255, 255, -1, 0, -1, blob, 0, 0, 0}
	}
	build := func(fill func(w *datafiletest.Writer)) []byte {
		var w datafiletest.Writer
		w.AddInts(0, 0, 1)
		fill(&w)
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, data := range map[string][]byte{
		"2^31 items": func() []byte {
			b := build(func(*datafiletest.Writer) {})
			binary.LittleEndian.PutUint32(b[20:], 1<<31)
			return b
		}(),
		"2^31-1 blobs": func() []byte {
			b := build(func(*datafiletest.Writer) {})
			binary.LittleEndian.PutUint32(b[24:], 1<<31-1)
			return b
		}(),
		"a blob that declares a huge size": func() []byte {
			b := build(func(w *datafiletest.Writer) { w.AddData(make([]byte, 1<<20)) })
			binary.LittleEndian.PutUint32(b[36+12+4+4:], 1<<31-1)
			return b
		}(),
		"two thousand layers share one blob": build(func(w *datafiletest.Writer) {
			blob := w.AddData(make([]byte, 4<<20))
			for i := range 2000 {
				w.AddInts(5, i, layer(3, 1024, 1024, blob)...)
			}
		}),
		"two thousand layers share one small blob": build(func(w *datafiletest.Writer) {
			blob := w.AddData(make([]byte, 16))
			for i := range 2000 {
				w.AddInts(5, i, layer(3, 2, 2, blob)...)
			}
		}),
		"two hundred layers share one large blob": build(func(w *datafiletest.Writer) {
			blob := w.AddData(make([]byte, 64<<20))
			for i := range 200 {
				w.AddInts(5, i, layer(3, 4096, 4096, blob)...)
			}
		}),
		"a layer of 100,000 x 100,000 tiles": build(func(w *datafiletest.Writer) {
			w.AddInts(5, 0, layer(3, 100_000, 100_000, w.AddData(make([]byte, 1024)))...)
		}),
		"a layer of 100,000 x 100,000 repeated tiles": build(func(w *datafiletest.Writer) {
			w.AddInts(5, 0, layer(4, 100_000, 100_000, w.AddData(make([]byte, 1024)))...)
		}),
		"a layer of the largest numbers": build(func(w *datafiletest.Writer) {
			w.AddInts(5, 0, layer(3, 1<<31-1, 1<<31-1, w.AddData(make([]byte, 1024)))...)
		}),
		"many layers of repeated tiles": build(func(w *datafiletest.Writer) {
			for i := range 100 {
				w.AddInts(5, i, layer(4, 10_000, 10_000, w.AddData(make([]byte, 64)))...)
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			allocated := allocation(func() {
				var f *datafile.File
				if f, err = open(data); err == nil {
					err = discard(f.Events(datafile.Options{}))
				}
			})
			t.Logf("%v, %d bytes allocated", err, allocated)
			var failure *decoders.Error
			if !errors.As(err, &failure) || !errors.Is(err, decoders.ErrLimit) {
				t.Errorf("got error %v", err)
			}
			if allocated > 2<<20 {
				t.Errorf("%d bytes were allocated", allocated)
			}
		})
	}
}

// TestBomb checks that a blob is inflated only to its declared size.
func TestBomb(t *testing.T) {
	f, err := open(bomb(t, 256<<20))
	if err != nil {
		t.Fatal(err)
	}
	allocated := allocation(func() { err = discard(f.Events(datafile.Options{})) })
	if !errors.Is(err, decoders.ErrCorrupt) || allocated > 1<<20 {
		t.Errorf("got error %v; %d bytes were allocated", err, allocated)
	}
}

// bomb returns a map with a blob of size zeros, for which it declares one byte.
func bomb(t *testing.T, size int) []byte {
	t.Helper()
	var stored bytes.Buffer
	z := zlib.NewWriter(&stored)
	zeros := make([]byte, 1<<20)
	for range size / len(zeros) {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w := datafiletest.Writer{Version: 3} // version 3 stores the blob unchanged
	w.AddInts(0, 0, 1)
	w.AddData(stored.Bytes())
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	// Make it version 4 with crude sizes, which do not count the table of inflated sizes.
	data := b.Bytes()
	data[4] = 4
	sizes := 36 + 12 + 4 + 4
	return append(data[:sizes:sizes], append([]byte{1, 0, 0, 0}, data[sizes:]...)...)
}

// allocation returns the number of bytes that fn allocates.
func allocation(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// discard decodes the rest and drops the events.
func discard(d *datafile.Decoder) error {
	var ev datafile.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// TestMemory decodes the largest blobs of the corpus, and a synthetic one. The memory must not depend on their size.
func TestMemory(t *testing.T) {
	var w datafiletest.Writer
	w.AddInts(0, 0, 1)
	const side = 8192
	w.AddInts(5, 0, 0, 2, 0, 3, side, side, 0, 255, 255, 255, 255, -1, 0, -1, 0, 0, 0, 0)
	w.AddData(make([]byte, side*side*4))
	f := written(t, &w)
	d := f.Events(datafile.Options{})
	allocated := allocation(func() {
		if err := discard(d); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d bytes allocated for a layer of %d", allocated, f.Header().InflatedBytes)
	if allocated > 1<<20 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}
