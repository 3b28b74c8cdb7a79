package datafile_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// damaged returns a file with one damaged blob, and the offset of that blob.
func damaged(tb testing.TB, data []byte, blob int, damage func(blob []byte)) (f *datafile.File, at int64) {
	tb.Helper()
	data = slices.Clone(data)
	field := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
	offsets, start := 36+12*field(16)+4*field(20), len(data)-field(32)
	end := len(data)
	if blob+1 < field(24) {
		end = start + field(offsets+4*(blob+1))
	}
	start += field(offsets + 4*blob)
	damage(data[start:end])
	f, err := open(data)
	if err != nil {
		tb.Fatal(err)
	}
	return f, int64(start)
}

// damages make a blob unreadable from its beginning, or from its middle, or invalidate its checksum.
var damages = map[string]func(blob []byte){
	"beginning": func(b []byte) { b[0] = 0 },
	"middle":    func(b []byte) { b[len(b)/2] ^= 0x10 },
	"nothing":   func(b []byte) { clear(b[len(b)/2:]) },
	"checksum":  func(b []byte) { b[len(b)-1] ^= 1 },
}

// TestDamage damages one blob at a time. All events that do not come from that blob must be delivered, and then the
// error. This must hold from every position and for every filter.
func TestDamage(t *testing.T) {
	for source, data := range map[string][]byte{"sample": sample(t), "wide": wideBytes(t)} {
		whole, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		all := dumpAll(t, whole.Events(datafile.Options{}))
		for blob := range whole.NumData() {
			for name, damage := range damages {
				if source == "wide" && (name != "middle" || blob%3 != 2) {
					continue // too large
				}
				t.Run(fmt.Sprintf("%s/%d/%s", source, blob, name), func(t *testing.T) {
					f, at := damaged(t, data, blob, damage)
					events, warned, err := untilDamage(t, f.Events(datafile.Options{}))
					if failure, ok := errors.AsType[*decoders.Error](err); !ok ||
						!errors.Is(err, decoders.ErrCorrupt) || failure.Offset != at {
						t.Fatalf("got error %v, want one at byte %d", err, at)
					}
					if warned < 0 {
						t.Fatal("no event warns of it")
					}
					rest := events[warned+1:]
					if !slices.Equal(rest, all[len(all)-len(rest):]) {
						t.Error("the events behind the blob differ")
					}
					if missing := slices.DeleteFunc(slices.Clone(all), func(s string) bool {
						return ofBlobs(s) || slices.Contains(events, s)
					}); len(missing) > 0 {
						t.Errorf("missing: %s", missing)
					}
					checkResumed(t, f, err)
					checkFiltered(t, f)
				})
			}
		}
	}
}

// untilDamage decodes everything. It returns the events and the index of the last one that warns of damage.
func untilDamage(t *testing.T, d *datafile.Decoder) (events []string, warned int, err error) {
	t.Helper()
	events, err = dumpUntil(d)
	warned = -1
	for i, e := range events {
		if strings.Contains(e, "warnings=") && strings.Contains(e, fmt.Sprint(int(datafile.WarningDamagedData))) {
			warned = i
		}
	}
	return events, warned, err
}

// ofBlobs reports whether an event holds data of a blob.
func ofBlobs(event string) bool {
	kind, _, _ := strings.Cut(event, " ")
	switch kind {
	case "physics_tiles", "entities", "link", "layer_bounds", "tiles", "tile_summary", "quads", "sound_sources", "image_data", "sound_data", "raw_data", "settings",
		"info", "image", "sound":
		return true
	}
	return false
}

// checkResumed starts at positions all over the map. Each must give the remaining events and the same error.
func checkResumed(t *testing.T, f *datafile.File, want error) {
	t.Helper()
	var events []string
	var at []decoders.Position
	var ev datafile.Event
	d := f.Events(datafile.Options{})
	for {
		p := d.Position()
		if err := d.Next(&ev); err != nil {
			at = append(at, p)
			break
		}
		events, at = append(events, dump(&ev)), append(at, p)
	}
	if end := d.Position(); end != d.End() {
		t.Errorf("it ended at %+v, not at %+v", end, d.End())
	}
	for i := len(at) - 1; i >= 0; i -= 1 + len(at)/8 {
		if err := d.Seek(at[i]); err != nil {
			t.Fatal(err)
		}
		rest, err := dumpUntil(d)
		if !slices.Equal(rest, events[i:]) {
			t.Fatalf("from %+v on: got %d events, want %d", at[i], len(rest), len(events)-i)
		}
		if err == nil || err.Error() != want.Error() {
			t.Fatalf("from %+v on: got error %v, want %v", at[i], err, want)
		}
	}
}

// checkFiltered checks that decoding with a filter gives the same events as filtering all events.
func checkFiltered(t *testing.T, f *datafile.File) {
	t.Helper()
	for _, kinds := range [][]datafile.Kind{
		{datafile.KindTiles}, {datafile.KindTileSummary}, {datafile.KindPhysicsTiles}, {datafile.KindEntities}, {datafile.KindLink},
		{datafile.KindLayerBounds}, {datafile.KindRawData, datafile.KindImageData},
		{datafile.KindInfo, datafile.KindImage}, {datafile.KindQuads, datafile.KindQuadLayer},
	} {
		var want []string
		d := f.Events(datafile.Options{})
		var ev datafile.Event
		for d.Next(&ev) == nil {
			if slices.Contains(kinds, ev.Kind) {
				want = append(want, dump(&ev))
			}
		}
		d = f.Events(datafile.Options{Want: func(k datafile.Kind, _ datafile.Place) bool { return slices.Contains(kinds, k) }})
		if got, _ := dumpUntil(d); !slices.Equal(got, want) {
			t.Errorf("%v alone: got %d events, want %d", kinds, len(got), len(want))
		}
	}
}

// TestFirstDamage checks that the error is about the first of two damaged blobs, even if decoding begins between them.
func TestFirstDamage(t *testing.T) {
	var w datafiletest.Writer
	w.AddInts(0, 0, 1)
	for i := range 3 {
		w.AddData(slices.Repeat([]byte{byte(i)}, 100))
	}
	data := bytesOf(t, &w)
	data[len(data)-1] ^= 1 // the last blob's checksum
	f, first := damaged(t, data, 0, damages["checksum"])
	d := f.Events(datafile.Options{})
	var at []decoders.Position
	var ev datafile.Event
	for d.Next(&ev) == nil {
		at = append(at, d.Position())
	}
	for _, p := range at {
		if err := d.Seek(p); err != nil {
			t.Fatal(err)
		}
		_, err := dumpUntil(d)
		if failure, ok := errors.AsType[*decoders.Error](err); !ok || failure.Offset != first {
			t.Errorf("from %+v on: got error %v, want one at byte %d", p, err, first)
		}
	}
	// A blob that the filter drops is not checked.
	d = f.Events(datafile.Options{Want: func(k datafile.Kind, _ datafile.Place) bool { return k != datafile.KindRawData }})
	if err := d.Seek(at[len(at)-1]); err != nil {
		t.Fatal(err)
	}
	dumpAll(t, d)
}
