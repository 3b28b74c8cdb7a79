package datafile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// largest is the size limit for maps of the corpus in the more expensive tests.
const largest = 8 << 20

// copyFile copies the items and blobs of a file into a new one.
func copyFile(t *testing.T, f *datafile.File, w *datafiletest.Writer) *datafile.File {
	t.Helper()
	for i := range f.NumItems() {
		item := f.Item(i)
		w.AddItem(item.Type, item.ID, item.Data)
	}
	for i := range f.NumData() {
		data, err := f.AppendData(nil, i)
		if err != nil {
			t.Fatal(err)
		}
		w.AddData(data)
	}
	return written(t, w)
}

// bytesOf returns the output of a writer.
func bytesOf(tb testing.TB, w io.WriterTo) []byte {
	tb.Helper()
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// written opens the output of a writer.
func written(tb testing.TB, w io.WriterTo) *datafile.File {
	tb.Helper()
	f, err := open(bytesOf(tb, w))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestWriterRoundTrip rewrites each file of the corpus in every form of container and compares all events.
func TestWriterRoundTrip(t *testing.T) {
	forms := map[string]struct {
		writer datafiletest.Writer
		want   datafile.Header
	}{
		"4":       {datafiletest.Writer{}, datafile.Header{Version: 4}},
		"3":       {datafiletest.Writer{Version: 3}, datafile.Header{Version: 3}},
		"swapped": {datafiletest.Writer{SwappedMagic: true}, datafile.Header{Version: 4, SwappedMagic: true}},
		"crude":   {datafiletest.Writer{CrudeSizes: true}, datafile.Header{Version: 4, CrudeSizes: true}},
	}
	corpus(t, func(t *testing.T, data []byte, want figures) {
		f, err := open(data)
		if err != nil || want.DataBytes > largest {
			t.Skip("invalid or large")
		}
		events := dumpAll(t, f.Events(datafile.Options{}))
		for name, form := range forms {
			again := copyFile(t, f, &form.writer)
			h := again.Header()
			crude := h.CrudeSizes || h.NumData == 0 // then both forms are equal
			if h.Version != form.want.Version || h.SwappedMagic != form.want.SwappedMagic ||
				crude != (form.want.CrudeSizes || h.NumData == 0) {
				t.Errorf("form %s: got header %+v", name, h)
			}
			// The first event is the header. Its sizes depend on the compressor.
			if diff := cmp.Diff(events[1:], dumpAll(t, again.Events(datafile.Options{}))[1:]); diff != "" {
				t.Fatalf("form %s: other events (-first +again):\n%.2000s", name, diff)
			}
		}
	})
}

// TestMapWriterRoundTrip rewrites each map of the corpus from its events and compares the events. Numbers of blobs may
// differ. So may blobs that no item refers to, because the writer adds those that DDNet requires.
func TestMapWriterRoundTrip(t *testing.T) {
	corpus(t, func(t *testing.T, data []byte, want figures) {
		f, err := open(data)
		if err != nil || want.DataBytes > largest {
			t.Skip("invalid or large")
		}
		if f.Header().NumItems > 0 {
			if name, _ := f.TypeName(0); name == "" {
				t.Skip("legacy items refer to blobs differently")
			}
		}
		var m datafiletest.MapWriter
		first := forWriting(t, f, m.Add)
		again := forWriting(t, written(t, &m), nil)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("other events (-first +again):\n%.3000s", diff)
		}
	})
}

// forWriting returns a map's events without the parts that a MapWriter may change, and passes them to add.
func forWriting(t *testing.T, f *datafile.File, add func(*datafile.Event) error) []string {
	t.Helper()
	var lines []string
	var ev datafile.Event
	loose := false
	for d := f.Events(datafile.Options{}); ; {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		loose = loose || ev.Kind == datafile.KindRawData && ev.RawData.Offset == 0
		switch ev.Kind {
		case datafile.KindHeader, datafile.KindItemType:
			continue
		}
		if loose {
			continue
		}
		if add != nil {
			if err := add(&ev); err != nil {
				t.Fatal(fmt.Errorf("%v: %w", dump(&ev), err))
			}
		}
		ev.TileLayer.Data, ev.QuadLayer.Data, ev.SoundLayer.Data, ev.RawData.Index = 0, 0, 0, 0
		ev.UuidType.Type, ev.RawItem.Type, ev.RawItem.Index = 0, 0, 0
		lines = append(lines, dump(&ev))
	}
}
