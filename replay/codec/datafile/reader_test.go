package datafile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/decodertest"
	datafilev1 "github.com/replayd/replayd/proto/replayd/datafile/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/datafile"
	"github.com/replayd/replayd/replay/filter"
)

// maps returns the maps for the tests: our own, and some of the corpus if it is present.
func maps(t *testing.T, f func(t *testing.T, data []byte)) {
	t.Helper()
	t.Run("sample", func(t *testing.T) {
		data := decodertest.Sample(t, "datafile", "sample.map")
		f(t, data)
	})
	for _, name := range []string{
		"ddnet_ddnet/coverage.map", "ddnet_ddnet/dm1.map", "DDNetPP_DDNetPP/ctf1_old.map", "jxsl13_twmap/Castle_Echos.map",
	} {
		t.Run(name, func(t *testing.T) {
			data := decodertest.Read(t, "corpus", "datafile", name)
			f(t, data)
		})
	}
}

// open returns a reader of data that has read the header.
func open(tb testing.TB, data []byte, o codec.Options) codec.Reader {
	tb.Helper()
	return codectest.Open(tb, encoder.Codec, data, o)
}

// TestResume starts after events all over a map, and expects exactly the rest.
func TestResume(t *testing.T) {
	maps(t, func(t *testing.T, data []byte) {
		events, marks := codectest.ReadAll(t, open(t, data, codec.Options{}), 512)
		var list datafilev1.EventList
		if err := proto.Unmarshal(events, &list); err != nil || len(list.GetEvents()) != len(marks) {
			t.Fatalf("%d events of %d, %v", len(list.GetEvents()), len(marks), err)
		}
		from := 0
		for i, m := range marks {
			if n := m.End - from; n > codec.MaxEventBytes {
				t.Errorf("event %d has %d bytes", i, n)
			}
			from = m.End
		}
		codectest.CheckResume(t, encoder.Codec, data, 20)
	})
}

// TestDamage damages the first text of our own map, and an image. Everything else must be described and delivered before the
// error, for any start.
func TestDamage(t *testing.T) {
	whole := decodertest.Sample(t, "datafile", "sample.map")
	f, err := datafile.Open(bytes.NewReader(whole), int64(len(whole)), datafile.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	_, all := codectest.ReadAll(t, open(t, whole, codec.Options{}), 512)
	first := len(whole) - int(f.Header().DataBytes)
	for name, at := range map[string]int{"the author": first, "any blob": len(whole) - int(f.Header().DataBytes)/2} {
		t.Run(name, func(t *testing.T) {
			data := bytes.Clone(whole)
			data[at] ^= 0xff
			r := open(t, data, codec.Options{})
			events, marks, err := codectest.Read(t, r, 512)
			if !errors.Is(err, decoders.ErrCorrupt) || len(marks) < len(all)-4 || len(marks) > len(all)+1 {
				t.Fatalf("got %d of %d events, error %v", len(marks), len(all), err)
			}
			for i := 0; i < len(marks); i += 1 + i%5 {
				r := open(t, data, codec.Options{Start: codec.Start{Position: marks[i].Next}})
				rest, _, again := codectest.Read(t, r, 1+i%7)
				if !bytes.Equal(rest, events[marks[i].End:]) || again.Error() != err.Error() {
					t.Fatalf("resumed after event %d: %d bytes of %d, error %v", i, len(rest), len(events)-marks[i].End, again)
				}
				if r.Filtered() != 0 || r.Position() != marks[len(marks)-1].Next {
					t.Errorf("resumed after event %d: %d filtered, at %+v", i, r.Filtered(), r.Position())
				}
			}
			codectest.ReadAll(t, open(t, data, codec.Options{Start: codec.Start{Now: true}}), 512) // has no past to look at
			var described replaydv1.Replay
			if err := encoder.Codec.Describe(context.Background(), codectest.Input(data), &described); err != nil {
				t.Fatal(err)
			}
			if got := described.GetDatafile(); len(got.GetLayers()) != 12 || got.GetInfo() == nil {
				t.Errorf("described as %v", got)
			}
		})
	}
}

// TestStart tests starts other than a position.
func TestStart(t *testing.T) {
	tick := func(v int32) *int32 { return &v }
	maps(t, func(t *testing.T, data []byte) {
		events, _ := codectest.ReadAll(t, open(t, data, codec.Options{}), 512)
		for name, tt := range map[string]struct {
			start codec.Start
			all   bool
		}{
			"tick -1": {codec.Start{Tick: tick(-1)}, true},
			"tick 0":  {codec.Start{Tick: tick(0)}, true},
			"tick 1":  {codec.Start{Tick: tick(1)}, false},
			"now":     {codec.Start{Now: true}, false},
		} {
			got, _ := codectest.ReadAll(t, open(t, data, codec.Options{Start: tt.start}), 512)
			if tt.all && !bytes.Equal(got, events) || !tt.all && len(got) > 0 {
				t.Errorf("%s: got %d bytes of %d", name, len(got), len(events))
			}
		}
		r := open(t, data, codec.Options{Start: codec.Start{Position: decoders.Position{Offset: 1 << 40}}})
		if err := r.Seek(); !errors.Is(err, io.EOF) {
			t.Errorf("beyond the end: got error %v", err)
		}
		r = open(t, data, codec.Options{Start: codec.Start{Position: decoders.Position{Offset: 1}}})
		if err := r.Seek(); !errors.Is(err, decoders.ErrCorrupt) {
			t.Errorf("between records: got error %v", err)
		}
	})
}

// TestFilter expects the events that match a filter. A map whose last blob is damaged shows that nothing else is inflated.
func TestFilter(t *testing.T) {
	filters := map[string][2][]*replaydv1.EventFilter{
		"kinds":          {{{Kinds: []string{"tile_layer", "tiles", "info"}}}},
		"group":          {{{Datafile: &replaydv1.DatafileFilter{Groups: []int32{1}}}}},
		"layer":          {{{Datafile: &replaydv1.DatafileFilter{Groups: []int32{1}, Layers: []int32{1}}, Kinds: []string{"tile_layer", "tile_summary"}}}},
		"without pixels": {nil, {{Kinds: []string{"image_data", "raw_data"}}}},
		"a tick":         {{{Ticks: &replaydv1.TickRange{Min: proto.Int32(0)}}}},
		"nothing":        {nil, {{}}},
	}
	maps(t, func(t *testing.T, data []byte) { codectest.CheckFilters(t, encoder.Codec, data, filters) })
}

func TestFilterSparesData(t *testing.T) {
	data := decodertest.Sample(t, "datafile", "sample.map")
	data[len(data)-1] ^= 1 // the checksum of a blob that goes out raw
	f, err := filter.Compile(&encoder.Codec.Filters, nil, []*replaydv1.EventFilter{{Kinds: []string{"raw_data"}}})
	if err != nil {
		t.Fatal(err)
	}
	codectest.ReadAll(t, open(t, data, codec.Options{Filter: f}), 512) // fails on an error
}

// TestDescribe describes our own map.
func TestDescribe(t *testing.T) {
	data := decodertest.Sample(t, "datafile", "sample.map")
	var described, header replaydv1.Replay
	if err := encoder.Codec.Describe(context.Background(), codectest.Input(data), &described); err != nil {
		t.Fatal(err)
	}
	r, err := encoder.Codec.Open(codectest.Input(data), codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Header(&header); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(&described, &header) {
		t.Errorf("Describe has %v, Header %v", &described, &header)
	}
	m := described.GetDatafile()
	sum := sha256.Sum256(data)
	if got, want := m.GetSha256(), hex.EncodeToString(sum[:]); got != want || described.GetIdentity() != "datafile:sha256:"+want {
		t.Errorf("got SHA-256 %s and identity %s of a file of %s", got, described.GetIdentity(), want)
	}
	if got, want := m.GetCrc32(), fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)); got != want {
		t.Errorf("got CRC-32 %s, want %s", got, want)
	}
	var kinds []string
	for _, l := range m.GetLayers() {
		kinds = append(kinds, strings.ToLower(strings.TrimPrefix(l.GetKind().String(), "LAYER_KIND_")))
	}
	want := "quads tiles game tiles front tele speedup switch tune quads sounds sounds"
	if got := strings.Join(kinds, " "); got != want || int(m.GetNumLayers()) != len(kinds) {
		t.Errorf("got %d layers: %s; want %s", m.GetNumLayers(), got, want)
	}
	if m.GetWidth() != 64 || m.GetHeight() != 24 || m.GetInfo().GetAuthor() != "replayd" || m.GetNumSettings() != 3 ||
		m.GetNumGroups() != 3 || m.GetNumImages() != 3 || m.GetNumSounds() != 1 || m.GetNumEnvelopes() != 3 {
		t.Errorf("got %v", m)
	}
	for n := range len(data) - 1 {
		err := encoder.Codec.Describe(context.Background(), codectest.Input(data[:n]), new(replaydv1.Replay))
		if !errors.Is(err, decoders.ErrTruncated) {
			t.Fatalf("%d bytes: got error %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := encoder.Codec.Describe(ctx, codectest.Input(data), new(replaydv1.Replay)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v", err)
	}
}

// TestNoAllocations decodes and encodes a map again and again.
func TestNoAllocations(t *testing.T) {
	data := decodertest.Sample(t, "datafile", "sample.map")
	r := open(t, data, codec.Options{})
	b := codec.Batch{MaxEvents: 1 << 20, MaxBytes: 1 << 20}
	run := func() {
		if err := r.Seek(); err != nil {
			t.Fatal(err)
		}
		for {
			err := r.Fill(&b)
			b.Reset()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil && !errors.Is(err, codec.ErrYield) {
				t.Fatal(err)
			}
		}
	}
	run()
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTileNames checks that the names of tiles and the enums of the API agree.
func TestTileNames(t *testing.T) {
	enums := map[datafile.LayerKind]struct {
		prefix, name string
		values       map[string]int32
	}{
		datafile.LayerKindGame:    {"GAME_TILE_", "", datafilev1.GameTile_value},
		datafile.LayerKindFront:   {"GAME_TILE_", "", datafilev1.GameTile_value},
		datafile.LayerKindTele:    {"TELE_TILE_", "TELE_", datafilev1.TeleTile_value},
		datafile.LayerKindSpeedup: {"SPEEDUP_TILE_", "SPEEDUP_", datafilev1.SpeedupTile_value},
		datafile.LayerKindSwitch:  {"SWITCH_TILE_", "SWITCH_", datafilev1.SwitchTile_value},
		datafile.LayerKindTune:    {"TUNE_TILE_", "TUNE_", datafilev1.TuneTile_value},
	}
	for kind, enum := range enums {
		named := 0
		for value := range 256 {
			name := datafile.TileName(kind, byte(value))
			if name == "" || kind == datafile.LayerKindSwitch && datafile.TileName(datafile.LayerKindGame, byte(value)) == name {
				continue // the switch layer shares the numbers of the game layer
			}
			named++
			want := enum.prefix + string(bytes.TrimPrefix(bytes.ToUpper([]byte(name)), []byte(enum.name)))
			if value == datafile.AirTile {
				want = enum.prefix + "UNSPECIFIED"
			}
			if got, ok := enum.values[want]; !ok || got != int32(value) {
				t.Errorf("kind %d, tile %d is %q, but %s is %d", kind, value, name, want, got)
			}
		}
		if kind == datafile.LayerKindSwitch {
			named++ // air
		}
		if named != len(enum.values) {
			t.Errorf("kind %d: %d tiles have names, %d have values", kind, named, len(enum.values))
		}
	}
}
