package datafile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// small returns a file with two items of one type, one item of another, and two blobs:
//
//	  0 header
//	 36 types: {0, 0, 1}, {5, 1, 2}
//	 60 item offsets: 0, 12, 24
//	 72 data offsets: 0, 9
//	 80 data sizes: 1, 2
//	 88 items: {0<<16, 4, 1}, {5<<16, 4, 7}, {5<<16 | 1, 4, 7}
//	124 data
func small(tb testing.TB) []byte {
	tb.Helper()
	var w datafiletest.Writer
	w.AddInts(0, 0, 1)
	w.AddInts(5, 0, 7)
	w.AddInts(5, 1, 7)
	w.AddData([]byte{1})
	w.AddData([]byte{2, 3})
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestContainerChecks breaks the rules of the container, one at a time.
func TestContainerChecks(t *testing.T) {
	good := small(t)
	if _, err := open(good); err != nil {
		t.Fatal(err)
	}
	put := func(offset int, value int32) func([]byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[offset:], uint32(value))
			return b
		}
	}
	for _, tt := range []struct {
		name   string
		change func(b []byte) []byte
		kind   error
		offset int64
	}{
		{"empty", func([]byte) []byte { return nil }, decoders.ErrTruncated, 0},
		{"magic only", func(b []byte) []byte { return b[:4] }, decoders.ErrTruncated, 0},
		{"header cut", func(b []byte) []byte { return b[:35] }, decoders.ErrTruncated, 0},
		{"tables cut", func(b []byte) []byte { return b[:60] }, decoders.ErrTruncated, 60},
		{"data cut", func(b []byte) []byte { return b[:len(b)-1] }, decoders.ErrTruncated, int64(len(good) - 1)},
		{"magic", func(b []byte) []byte { b[0] = 'd'; return b }, decoders.ErrCorrupt, 0},
		{"version 2", put(4, 2), decoders.ErrUnsupported, 4},
		{"version 5", put(4, 5), decoders.ErrUnsupported, 4},
		{"size", put(8, 1), decoders.ErrCorrupt, 8},
		{"swaplen", put(12, 1), decoders.ErrCorrupt, 8},
		{"negative number of types", put(16, -1), decoders.ErrLimit, 16},
		{"negative number of items", put(20, -1), decoders.ErrLimit, 16},
		{"too many items", put(20, 1<<31-1), decoders.ErrLimit, 16},
		{"negative number of blobs", put(24, -1), decoders.ErrLimit, 16},
		{"negative item size", put(28, -4), decoders.ErrLimit, 16},
		{"odd item size", put(28, 38), decoders.ErrCorrupt, 28},
		{"other data size", put(32, 1), decoders.ErrCorrupt, 8},
		{"type number", put(36, 1<<16), decoders.ErrCorrupt, 36},
		{"negative type number", put(36, -1), decoders.ErrCorrupt, 36},
		{"type twice", put(48, 0), decoders.ErrCorrupt, 48},
		{"type's start", put(52, 0), decoders.ErrCorrupt, 48},
		{"type's negative count", put(56, -2), decoders.ErrCorrupt, 48},
		{"items without a type", put(56, 1), decoders.ErrCorrupt, 36},
		{"types of no items", put(56, 3), decoders.ErrCorrupt, 36},
		{"first item's offset", put(60, 4), decoders.ErrCorrupt, 88},
		{"item's offset", put(64, 0), decoders.ErrCorrupt, 100},
		{"item of another type", put(100, 4<<16), decoders.ErrCorrupt, 100},
		{"item's id twice", put(112, 5<<16), decoders.ErrCorrupt, 112},
		{"item's size", put(104, 8), decoders.ErrCorrupt, 116},
		{"item's negative size", put(104, -4), decoders.ErrCorrupt, 100},
		{"item's huge size", put(104, 1<<31-4), decoders.ErrCorrupt, 100},
		{"last item's size", put(116, 0), decoders.ErrCorrupt, 120},
		{"first blob's offset", put(72, 1), decoders.ErrCorrupt, 72},
		{"blob's offset", put(76, -1), decoders.ErrCorrupt, 76},
		{"blob's offset beyond the end", put(76, 1<<20), decoders.ErrCorrupt, 76},
		{"negative blob", put(80, -1), decoders.ErrCorrupt, 124},
		{"huge blob", put(80, 1<<31-1), decoders.ErrLimit, 124},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open(tt.change(slices.Clone(good)))
			var failure *decoders.Error
			if !errors.As(err, &failure) || !errors.Is(err, tt.kind) {
				t.Fatalf("got error %v, want %v", err, tt.kind)
			}
			if failure.Offset != tt.offset {
				t.Errorf("the error is at byte %d, want %d: %v", failure.Offset, tt.offset, err)
			}
		})
	}
}

// TestContainerForms checks that the variants of old and new writers are accepted.
func TestContainerForms(t *testing.T) {
	crude := func(field int) func([]byte) {
		return func(b []byte) {
			binary.LittleEndian.PutUint32(b[field:], binary.LittleEndian.Uint32(b[field:])-8)
		}
	}
	for name, change := range map[string]func([]byte){
		"regular":               func([]byte) {},
		"swapped magic":         func(b []byte) { copy(b, "ATAD") },
		"crude size":            crude(8),
		"crude swaplen":         crude(12),
		"crude size and length": func(b []byte) { crude(8)(b); crude(12)(b) },
	} {
		t.Run(name, func(t *testing.T) {
			b := small(t)
			change(b)
			f, err := open(b)
			if err != nil {
				t.Fatal(err)
			}
			if data, err := f.AppendData(nil, 1); err != nil || !bytes.Equal(data, []byte{2, 3}) {
				t.Errorf("got %v, %v", data, err)
			}
		})
	}
}

// TestExcessBytes checks that bytes behind the end of the file change only the header event, which warns.
func TestExcessBytes(t *testing.T) {
	data := sample(t)
	whole, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(append(slices.Clone(data), "and so on"...))
	if err != nil {
		t.Fatal(err)
	}
	want := dumpAll(t, whole.Events(datafile.Options{}))
	size := fmt.Sprint("FileBytes=", len(data))
	want[0] = strings.Replace(want[0], size, fmt.Sprintf("FileBytes=%d warnings=[%d]", len(data)+9, datafile.WarningExcessBytes), 1)
	if diff := cmp.Diff(want, dumpAll(t, f.Events(datafile.Options{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTruncated cuts the sample at every byte.
func TestTruncated(t *testing.T) {
	data := sample(t)
	for n := range data {
		if _, err := open(data[:n]); !errors.Is(err, decoders.ErrTruncated) {
			t.Fatalf("%d bytes: got error %v", n, err)
		}
	}
}

// TestBlobs damages the blobs of small in different ways.
func TestBlobs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(b []byte)
	}{
		{"zlib header", func(b []byte) { b[124] = 0 }},
		{"checksum", func(b []byte) { b[len(b)-1] ^= 1 }},
		{"declares more", func(b []byte) { binary.LittleEndian.PutUint32(b[84:], 3) }},
		{"declares less", func(b []byte) { binary.LittleEndian.PutUint32(b[84:], 1) }},
		{"declares nothing", func(b []byte) { binary.LittleEndian.PutUint32(b[84:], 0) }},
		{"declares the impossible", func(b []byte) { binary.LittleEndian.PutUint32(b[84:], 1<<20) }},
		{"has nothing", func(b []byte) { binary.LittleEndian.PutUint32(b[76:], uint32(len(b)-124)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := small(t)
			tt.change(b)
			f, err := open(b)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dumpUntil(f.Events(datafile.Options{})); !errors.Is(err, decoders.ErrCorrupt) {
				t.Errorf("decoding: got error %v", err)
			}
			if _, err := f.AppendData(nil, 1); tt.name != "zlib header" && !errors.Is(err, decoders.ErrCorrupt) {
				t.Errorf("AppendData: got error %v", err)
			}
		})
	}
}
