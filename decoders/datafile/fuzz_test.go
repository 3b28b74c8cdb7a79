package datafile_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// fuzzLimits keep a single run short.
var fuzzLimits = datafile.Limits{Tables: 1 << 20, Blob: 1 << 20, Inflated: 4 << 20, References: 16}

// check decodes a file in every possible way and compares the results. Bad files must fail with a *decoders.Error.
// Positions must increase, and decoding from a position must give the same events.
func check(t *testing.T, data []byte) {
	t.Helper()
	f, err := datafile.Open(bytes.NewReader(data), int64(len(data)), fuzzLimits)
	var failure *decoders.Error
	if err != nil {
		if !errors.As(err, &failure) {
			t.Fatalf("not a *decoders.Error: %v", err)
		}
		return
	}
	var lines []string
	var at []decoders.Position
	var ev datafile.Event
	d := f.Events(datafile.Options{})
	for {
		p := d.Position()
		if err = d.Next(&ev); err != nil {
			break
		}
		if ev.Kind == datafile.KindNone {
			t.Fatal("an event without a kind")
		}
		if n := len(at); n > 0 && (p.Offset < at[n-1].Offset || p.Offset == at[n-1].Offset && p.Index <= at[n-1].Index) {
			t.Fatalf("position %+v after %+v", p, at[n-1])
		}
		lines, at = append(lines, dump(&ev)), append(at, p)
	}
	if !errors.Is(err, io.EOF) && !errors.As(err, &failure) {
		t.Fatalf("not a *decoders.Error: %v", err)
	}
	if len(lines) == 0 || len(lines) > 2000 {
		return
	}
	middle := len(lines) / 2
	if err := d.Seek(at[middle]); err != nil {
		t.Fatal(err)
	}
	rest, again := dumpUntil(d)
	if !slices.Equal(rest, lines[middle:]) {
		t.Fatalf("%d events from %+v on, expected %d", len(rest), at[middle], len(lines)-middle)
	}
	if again == nil {
		again = io.EOF
	}
	if again.Error() != err.Error() {
		t.Fatalf("first got error %v, then %v", err, again)
	}
}

func FuzzContainer(f *testing.F) {
	f.Add(sample(f))
	f.Add(small(f))
	f.Add([]byte("ATAD\x04\x00\x00\x00"))
	f.Fuzz(check)
}

// FuzzItems puts arbitrary integers into an item of any type, in an otherwise valid map.
func FuzzItems(f *testing.F) {
	for typ := range uint16(8) {
		f.Add(typ, []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, []byte("abc\x00"))
	}
	data, err := open(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	for i := range data.NumItems() {
		item := data.Item(i)
		f.Add(uint16(item.Type), item.Data, make([]byte, 64))
	}
	f.Fuzz(func(t *testing.T, typ uint16, ints, blob []byte) {
		var w datafiletest.Writer
		if typ != 0 {
			w.AddInts(0, 0, 1)
		}
		w.AddInts(0xffff, 0xfffe, 0x3e1b2716, 0x178c3978, -0x64264ee6, -0x1fbef228)
		w.AddInts(0xffff, 0xfffd, 0x3ab4f84d, -0x2633c388, -0x4a7af294, -0x324d1da4)
		w.AddInts(4, 0, 1, 0, 0, 100, 100, 0, 2)
		w.AddInts(5, 0, 0, 3, 0, 1, 1, 0, -1)
		w.AddItem(int(typ), 77, ints[:len(ints)/4*4])
		w.AddData(blob)
		w.AddData(nil)
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		check(t, b.Bytes())
	})
}

// FuzzLayers decodes layers of all kinds over arbitrary data.
func FuzzLayers(f *testing.F) {
	for _, kind := range []int32{2, 3, 9, 10} {
		for _, flags := range []int32{0, 1, 2, 4, 8, 16, 32} {
			f.Add(kind, int32(3), flags, int32(5), int32(7), make([]byte, 4*35))
		}
	}
	f.Add(int32(2), int32(4), int32(1), int32(5), int32(7), []byte{1, 0, 34, 0})
	f.Fuzz(func(t *testing.T, kind, version, flags, width, height int32, blob []byte) {
		var w datafiletest.Writer
		w.AddInts(0, 0, 1)
		switch kind {
		case 2:
			w.AddInts(5, 0, 0, kind, 0, version, width, height, flags, 1, 2, 3, 4, -1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		default:
			w.AddInts(5, 0, 0, kind, 0, version, width, 0, height, 0, 0, 0)
		}
		w.AddData(blob)
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		check(t, b.Bytes())
	})
}

// FuzzTileSkip compares the expansion of run lengths with a naive one.
func FuzzTileSkip(f *testing.F) {
	f.Add(uint16(5), uint16(2), []byte{1, 0, 9, 0})
	f.Add(uint16(5), uint16(2), []byte{1, 0, 6, 0, 2, 8, 2, 0})
	f.Add(uint16(300), uint16(200), bytes.Repeat([]byte{7, 1, 255, 3}, 250))
	f.Add(uint16(20000), uint16(2), bytes.Repeat([]byte{7, 1, 255, 3}, 157))
	f.Fuzz(func(t *testing.T, width, height uint16, stored []byte) {
		size := int(width) * int(height)
		if size > 1<<18 {
			t.Skip("large")
		}
		var want []byte
		for i := 0; i+4 <= len(stored) && len(want) < 4*size; i += 4 {
			for range int(stored[i+2]) + 1 {
				want = append(want, stored[i], stored[i+1], 0, stored[i+3])
			}
		}
		entries := 0
		for i := 0; i+4 <= len(stored); i += 4 {
			entries += int(stored[i+2]) + 1
		}
		exact := entries == size && len(stored)%4 == 0
		want = want[:min(len(want), 4*size)]

		var w datafiletest.Writer
		w.AddInts(0, 0, 1)
		w.AddInts(5, 0, 0, 2, 0, 4, int32(width), int32(height), 1, 1, 2, 3, 4, -1, 0, -1, 0, 0, 0, 0)
		w.AddData(stored)
		d := written(t, &w).Events(datafile.Options{})
		var got []byte
		warned := false
		var ev datafile.Event
		x, y := int32(0), int32(0)
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind != datafile.KindTiles {
				continue
			}
			warned = warned || slices.Contains(ev.Warnings, datafile.WarningBadSkip)
			if ev.Tiles.Rows > 0 && (ev.Tiles.X != x || ev.Tiles.Y != y) {
				t.Fatalf("rectangle at %d, %d, expected at %d, %d", ev.Tiles.X, ev.Tiles.Y, x, y)
			}
			got = append(got, ev.Tiles.Data...)
			if x += ev.Tiles.Columns; x == int32(width) {
				x, y = 0, y+ev.Tiles.Rows
			}
		}
		if size > 0 && warned == exact {
			t.Errorf("warned: %t, of %d tiles for %d", warned, entries, size)
		}
		// An incomplete last row is filled with air.
		if len(got) < len(want) || !bytes.Equal(got[:len(want)], want) || bytes.Trim(got[len(want):], "\x00") != nil {
			t.Errorf("got %d bytes, want %d", len(got), len(want))
		}
	})
}

// FuzzPackedText checks that packing and unpacking a text gives the same text.
func FuzzPackedText(f *testing.F) {
	f.Add("Game")
	f.Add("a name that is far too long for a group")
	f.Fuzz(func(t *testing.T, name string) {
		if i := strings.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if !utf8.ValidString(name) {
			t.Skip("bytes of 0x80 are stored like an empty text")
		}
		var m datafiletest.MapWriter
		ev := datafile.Event{Kind: datafile.KindGroup, Group: datafile.Group{Version: 3, Name: []byte(name)}}
		version := datafile.Event{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}}
		if err := errors.Join(m.Add(&version), m.Add(&ev)); err != nil {
			t.Fatal(err)
		}
		d := written(t, &m).Events(datafile.Options{})
		for d.Next(&ev) == nil {
			if want := name[:min(len(name), 11)]; ev.Kind == datafile.KindGroup && string(ev.Group.Name) != want {
				t.Errorf("got %q, want %q", ev.Group.Name, want)
			}
		}
	})
}
