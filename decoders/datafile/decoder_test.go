package datafile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// positions decodes the rest. It returns the events and the position before each of them.
func positions(t *testing.T, d *datafile.Decoder) (lines []string, at []decoders.Position) {
	t.Helper()
	var ev datafile.Event
	for {
		p := d.Position()
		ok, err := d.Step(&ev)
		if errors.Is(err, io.EOF) {
			return lines, append(at, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			lines, at = append(lines, dump(&ev)), append(at, p)
		}
	}
}

// wide returns a map whose parts take several events each: long rows, many rows, run lengths, a large image, more
// quads, sources and points than an event holds, a long raw item, and long blobs without an item.
func wide(tb testing.TB) *datafile.File {
	tb.Helper()
	f, err := open(wideBytes(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func wideBytes(tb testing.TB) []byte {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			if rnd.IntN(8) == 0 { // most are zero, so that a map that is decoded hundreds of times is inflated fast
				b[i] = byte(rnd.IntN(256))
			}
		}
		return b
	}
	var m datafiletest.MapWriter
	add := func(ev datafile.Event) {
		tb.Helper()
		if err := m.Add(&ev); err != nil {
			tb.Fatal(err)
		}
	}
	add(datafile.Event{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}})
	add(datafile.Event{Kind: datafile.KindImage, Image: datafile.Image{Version: 1, Width: 200, Height: 200}})
	add(datafile.Event{Kind: datafile.KindImageData, ImageData: datafile.ImageData{Data: random(200 * 200 * 4)}})
	layers := []struct{ kind, version, flags, width, height int32 }{
		{int32(datafile.LayerKindTiles), 3, 0, 40000, 3},
		{int32(datafile.LayerKindGame), 3, 1, 300, 200},
		{int32(datafile.LayerKindTiles), 4, 0, 300, 200},
		{int32(datafile.LayerKindTiles), 4, 0, 40000, 2},
		{int32(datafile.LayerKindSpeedup), 3, 4, 150, 150},
		{int32(datafile.LayerKindTiles), 3, 0, 0, 1000},
	}
	for _, l := range layers {
		stride := int32(4)
		if datafile.LayerKind(l.kind) == datafile.LayerKindSpeedup {
			stride = 6
		}
		data := random(int(l.width * l.height * stride))
		if l.version == 4 {
			for i := range data {
				if i%4 >= 2 {
					data[i] = 0
				}
			}
		}
		add(datafile.Event{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{
			Version: l.version, Flags: l.flags, Width: l.width, Height: l.height,
		}})
		add(datafile.Event{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Data: data}})
	}
	add(datafile.Event{Kind: datafile.KindQuadLayer, QuadLayer: datafile.QuadLayer{Version: 1, NumQuads: 600}})
	quad := datafile.Quad{
		Points: make([]datafile.Point, 5), Colors: make([]datafile.Color, 4), Texture: make([]datafile.Point, 4),
	}
	quads := slices.Repeat([]datafile.Quad{quad}, 600)
	for i := range quads {
		quads[i].PositionEnvelope = int32(i)
	}
	add(datafile.Event{Kind: datafile.KindQuads, Quads: datafile.Quads{Quads: quads}})
	add(datafile.Event{Kind: datafile.KindSoundLayer, SoundLayer: datafile.SoundLayer{Version: 1, NumSources: 1100}})
	sources := make([]datafile.SoundSource, 1100)
	for i := range sources {
		sources[i].DelayS, sources[i].Shape = int32(i), datafile.SoundShapeCircle
	}
	add(datafile.Event{Kind: datafile.KindSoundSources, SoundSources: datafile.SoundSources{Sources: sources}})
	points := make([]datafile.EnvelopePoint, 1100)
	for i := range points {
		points[i] = datafile.EnvelopePoint{TimeMs: int32(i), Curve: datafile.CurveStep, Values: make([]int32, 4)}
	}
	add(datafile.Event{Kind: datafile.KindEnvelopePoints, EnvelopePoints: datafile.EnvelopePoints{Points: points}})
	m.AddItem(20, 0, random(200_000))
	m.AddItem(20, 1, nil)
	for _, n := range []int{0, 1, datafile.ChunkSize, 0, 0, 3*datafile.ChunkSize + 1} {
		m.AddData(random(n))
	}
	return bytesOf(tb, &m)
}

// TestSeek seeks to the position of every event, in a new decoder and in a used one. Each must give exactly the
// remaining events.
func TestSeek(t *testing.T) {
	small, err := open(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*datafile.File{"sample": small, "wide": wide(t)} {
		t.Run(name, func(t *testing.T) {
			events, at := positions(t, f.Events(datafile.Options{}))
			t.Logf("%d events", len(events))
			for i := 1; i < len(at); i++ {
				if a, b := at[i-1], at[i]; a.Offset > b.Offset || a.Offset == b.Offset && a.Index >= b.Index {
					t.Fatalf("position %+v is not before %+v", a, b)
				}
			}
			used := f.Events(datafile.Options{})
			for i := 0; i < len(at); i += 1 + len(at)/100 { // from each, all the rest is read
				p := at[len(at)-1-i]
				for _, d := range []*datafile.Decoder{f.Events(datafile.Options{}), used} {
					if err := d.Seek(p); err != nil {
						t.Fatal(err)
					}
					rest, again := positions(t, d)
					if !slices.Equal(rest, events[len(at)-1-i:]) || !slices.Equal(again[:len(rest)], at[len(at)-1-i:len(at)-1]) {
						t.Fatalf("from %+v: other events: got %d, want %d", p, len(rest), len(events)-(len(at)-1-i))
					}
				}
			}
		})
	}
}

// TestSeekAnywhere checks that Seek accepts every position that a decoder returns, also between events.
func TestSeekAnywhere(t *testing.T) {
	small, err := open(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var w datafiletest.Writer
	w.AddItem(0, 0, []byte{1, 0, 0, 0})
	w.AddItem(6, 0, nil) // envelope points, but zero of them
	w.AddItem(20, 0, []byte{1, 0, 0, 0})
	hollow, err := open(bytesOf(t, &w))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*datafile.File{"sample": small, "wide": wide(t), "an item without events": hollow} {
		d := f.Events(datafile.Options{})
		var ev datafile.Event
		for err := error(nil); err == nil; _, err = d.Step(&ev) {
			p := d.Position()
			again := f.Events(datafile.Options{})
			if err := again.Seek(p); err != nil || again.Position() != p {
				t.Errorf("%s: went to %+v, and is at %+v, %v", name, p, again.Position(), err)
			}
		}
	}
}

func TestSeekRefusesOtherPlaces(t *testing.T) {
	f, err := open(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []decoders.Position{
		{Offset: -1}, {Offset: 1}, {Offset: 37}, {Offset: 1 << 40}, {Index: 2 * decoders.Room}, {Index: -1}, {Offset: 36, Index: 4*decoders.Room + 1},
	} {
		if err := f.Events(datafile.Options{}).Seek(p); !errors.Is(err, decoders.ErrCorrupt) {
			t.Errorf("%+v: got error %v", p, err)
		}
	}
}

// TestFilter checks that a filter drops events and does not change the others or their positions.
func TestFilter(t *testing.T) {
	filters := map[string]func(datafile.Kind, datafile.Place) bool{
		"nothing":   func(datafile.Kind, datafile.Place) bool { return false },
		"no tiles":  func(k datafile.Kind, _ datafile.Place) bool { return k != datafile.KindTiles },
		"tiles":     func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindTiles },
		"summaries": func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindTileSummary },
		"unpacked":  func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindPhysicsTiles },
		"entities":  func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindEntities },
		"links":     func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindLink },
		"bounds":    func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindLayerBounds },
		"raw":       func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindRawData },
		"raw items": func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindRawItem },
		"points":    func(k datafile.Kind, _ datafile.Place) bool { return k == datafile.KindEnvelopePoints },
		"layer 1":   func(_ datafile.Kind, at datafile.Place) bool { return at.Layer == 1 },
		"group 1":   func(_ datafile.Kind, at datafile.Place) bool { return at.Group == 1 },
	}
	small, err := open(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	for source, f := range map[string]*datafile.File{"sample": small, "wide": wide(t)} {
		all, at := positions(t, f.Events(datafile.Options{}))
		for name, filter := range filters {
			t.Run(source+"/"+name, func(t *testing.T) {
				d := f.Events(datafile.Options{Want: filter})
				got, gotAt := positions(t, d)
				var want []string
				var wantAt []decoders.Position
				d = f.Events(datafile.Options{})
				for i, line := range all {
					if err := d.Seek(at[i]); err != nil {
						t.Fatal(err)
					}
					var ev datafile.Event
					if err := d.Next(&ev); err != nil {
						t.Fatal(err)
					}
					if filter(ev.Kind, place(&ev)) {
						want, wantAt = append(want, line), append(wantAt, at[i])
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%.2000s", diff)
				}
				if gotAt = gotAt[:len(got)]; !slices.Equal(gotAt, wantAt) {
					t.Errorf("events are at %v, want %v", gotAt, wantAt)
				}
			})
		}
	}
}

// place returns the group and layer that an event names. It sets LayerInGroup only if the event names no layer.
func place(ev *datafile.Event) datafile.Place {
	at := datafile.Place{Group: -1, Layer: -1, LayerInGroup: -1}
	switch ev.Kind {
	case datafile.KindGroup:
		at.Group = ev.Group.Group
	case datafile.KindTileLayer:
		at.Group, at.Layer = ev.TileLayer.Group, ev.TileLayer.Layer
	case datafile.KindTiles:
		at.Group, at.Layer = ev.Tiles.Group, ev.Tiles.Layer
	case datafile.KindTileSummary:
		at.Group, at.Layer = ev.TileSummary.Group, ev.TileSummary.Layer
	case datafile.KindPhysicsTiles:
		at.Group, at.Layer = ev.PhysicsTiles.Group, ev.PhysicsTiles.Layer
	case datafile.KindEntities:
		at.Group, at.Layer = ev.Entities.Group, ev.Entities.Layer
	case datafile.KindLink:
		at.Group, at.Layer = ev.Link.Group, ev.Link.Layer
	case datafile.KindLayerBounds:
		at.Group, at.Layer = ev.LayerBounds.Group, ev.LayerBounds.Layer
	case datafile.KindQuadLayer:
		at.Group, at.Layer = ev.QuadLayer.Group, ev.QuadLayer.Layer
	case datafile.KindQuads:
		at.Group, at.Layer = ev.Quads.Group, ev.Quads.Layer
	case datafile.KindSoundLayer:
		at.Group, at.Layer = ev.SoundLayer.Group, ev.SoundLayer.Layer
	case datafile.KindSoundSources:
		at.Group, at.Layer = ev.SoundSources.Group, ev.SoundSources.Layer
	case datafile.KindAutomapper:
		at.Group, at.LayerInGroup = ev.Automapper.Group, ev.Automapper.LayerInGroup
	}
	return at
}

// TestNoAllocations checks that decoding a map of many blobs again allocates nothing.
func TestNoAllocations(t *testing.T) {
	f := wide(t)
	d := f.Events(datafile.Options{})
	var ev datafile.Event
	start := d.Position()
	run := func() {
		if err := d.Seek(start); err != nil {
			t.Fatal(err)
		}
		for {
			err := d.Next(&ev)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	run() // fills the buffers
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// layerFile returns a map with one tile layer over the given stored tiles.
func layerFile(t *testing.T, layer []int32, blobs ...[]byte) *datafile.File {
	t.Helper()
	var w datafiletest.Writer
	w.AddInts(0, 0, 1)
	w.AddInts(5, 0, layer...)
	for _, b := range blobs {
		w.AddData(b)
	}
	return written(t, &w)
}

// TestOddLayers decodes layers with contradictions.
func TestOddLayers(t *testing.T) {
	plain := func(version, width, height, flags int32, tail ...int32) []int32 {
		ints := []int32{0, 2, 0, version, width, height, flags, 255, 255, 255, 255, -1, 0, -1, 0}
		if version >= 3 {
			ints = append(ints, 0, 0, 0)
		}
		return append(ints, tail...)
	}
	run := func(index, skip byte) []byte { return []byte{index, 1, skip, 0} }
	for _, tt := range []struct {
		name  string
		layer []int32
		blobs [][]byte
		want  []string
	}{
		{"run lengths", plain(4, 5, 2, 1), [][]byte{slices.Concat(run(1, 6), run(2, 2))}, []string{
			"tile_layer Group=-1 Kind=2 Version=4 Width=5 Height=2 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 BytesPerTile=4 Flags=1",
			"tiles Group=-1 Kind=2 Columns=5 Rows=2 BytesPerTile=4 Data=01010000010100000101000001010000010100000101000001010000020100000201000002010000",
			`tile_summary Group=-1 Kind=2 Counts=[{ Tile=1 Name="solid" Count=7 MaxX=4 MaxY=1 } { Tile=2 Name="death" Count=3 MinX=2 MinY=1 MaxX=4 MaxY=1 }]`,
		}},
		{"run lengths too short", plain(4, 5, 3, 0), [][]byte{run(1, 5)}, []string{
			"tile_layer Group=-1 Kind=1 Version=4 Width=5 Height=3 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 BytesPerTile=4",
			"tiles Group=-1 Kind=1 Columns=5 Rows=2 BytesPerTile=4 Data=01010000010100000101000001010000010100000101000000000000000000000000000000000000",
			"tiles Group=-1 Kind=1 Y=3 BytesPerTile=4 warnings=[6]",
		}},
		{"run lengths too long", plain(4, 2, 2, 0), [][]byte{run(1, 5)}, []string{
			"tile_layer Group=-1 Kind=1 Version=4 Width=2 Height=2 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 BytesPerTile=4",
			"tiles Group=-1 Kind=1 Columns=2 Rows=2 BytesPerTile=4 Data=01010000010100000101000001010000",
			"tiles Group=-1 Kind=1 Y=2 BytesPerTile=4 warnings=[6]",
		}},
		{"skip of an old layer is kept", plain(3, 2, 1, 0), [][]byte{slices.Concat(run(1, 5), run(2, 7))}, []string{
			"tile_layer Group=-1 Kind=1 Version=3 Width=2 Height=1 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 BytesPerTile=4",
			"tiles Group=-1 Kind=1 Columns=2 Rows=1 BytesPerTile=4 Data=0101050002010700",
		}},
		{"too few tiles", plain(3, 2, 3, 0), [][]byte{make([]byte, 21)}, []string{
			"tile_layer Group=-1 Kind=1 Version=3 Width=2 Height=3 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 BytesPerTile=4 warnings=[3]",
			"tiles Group=-1 Kind=1 Columns=2 Rows=2 BytesPerTile=4 Data=00000000000000000000000000000000",
			"raw_data Offset=16 Bytes=21 Data=0000000000",
		}},
		{"too many tiles", plain(3, 2, 1, 0), [][]byte{make([]byte, 9)}, []string{
			"tile_layer Group=-1 Kind=1 Version=3 Width=2 Height=1 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 BytesPerTile=4 warnings=[4]",
			"tiles Group=-1 Kind=1 Columns=2 Rows=1 BytesPerTile=4 Data=0000000000000000",
			"raw_data Offset=8 Bytes=9 Data=00",
		}},
		{"no such blob", plain(3, 2, 1, 0), nil, []string{
			"tile_layer Group=-1 Kind=1 Version=3 Width=2 Height=1 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 Data=-1 BytesPerTile=4 warnings=[2]",
		}},
		{"tele of version 2", plain(2, 2, 1, 2, 1), [][]byte{make([]byte, 8), {7, 26, 7, 27}}, []string{
			"tile_layer Group=-1 Kind=4 Version=2 Width=2 Height=1 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 Data=1 BytesPerTile=2 Flags=2",
			"tiles Group=-1 Kind=4 Columns=2 Rows=1 BytesPerTile=2 Data=071a071b",
			`tile_summary Group=-1 Kind=4 Counts=[{ Tile=26 Name="tele_in" Count=1 } { Tile=27 Name="tele_out" Count=1 MinX=1 MaxX=1 }]`,
			"raw_data Bytes=8 Data=0000000000000000",
		}},
		{"tele without its index", plain(3, 2, 1, 2), [][]byte{{26, 0, 0, 0, 27, 0, 0, 0}}, []string{
			"tile_layer Group=-1 Kind=4 Version=3 Width=2 Height=1 Color={ R=255 G=255 B=255 A=255 } HasColor=true ColorEnvelope=-1 Image=-1 BytesPerTile=4 Flags=2 warnings=[5]",
			"tiles Group=-1 Kind=4 Columns=2 Rows=1 BytesPerTile=4 Data=1a0000001b000000",
			`tile_summary Group=-1 Kind=4 Counts=[{ Tile=26 Name="tele_in" Count=1 } { Tile=27 Name="tele_out" Count=1 MinX=1 MaxX=1 }]`,
		}},
		{"negative size", plain(3, -2, 1, 0), [][]byte{{1, 2}}, []string{
			`raw_item Index=1 Type=5 Name="layer" Bytes=72 Data=(72 bytes, CRC-32 8e946f01) warnings=[1]`,
			"raw_data Bytes=2 Data=0102",
		}},
		{"unknown kind of layer", []int32{0, 77, 0}, nil, []string{
			`raw_item Index=1 Type=5 Name="layer" Bytes=12 Data=000000004d00000000000000 warnings=[1]`,
		}},
		{"quads that are a detail", []int32{0, 3, 1, 1, 0, -1, -1}, nil, []string{
			"quad_layer Group=-1 Version=1 Detail=true Image=-1 Data=-1",
		}},
		{"sounds that are a detail", []int32{0, 10, 1, 2, 0, -1, -1, 0, 0, 0}, nil, []string{
			"sound_layer Group=-1 Version=2 Detail=true Sound=-1 Data=-1",
		}},
		{"sounds with another flag", []int32{0, 10, 2, 2, 0, -1, -1, 0, 0, 0}, nil, []string{
			"sound_layer Group=-1 Version=2 Sound=-1 Data=-1",
		}},
		{"fewer quads than the blob has", []int32{0, 3, 0, 1, 0, 0, -1}, [][]byte{make([]byte, 3)}, []string{
			"quad_layer Group=-1 Version=1 Image=-1 warnings=[4]",
			`raw_data Bytes=3 Data=000000`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := dumpAll(t, layerFile(t, tt.layer, tt.blobs...).Events(datafile.Options{}))
			got = slices.DeleteFunc(got, func(s string) bool {
				return strings.HasPrefix(s, "header") || strings.HasPrefix(s, "item_type") || strings.HasPrefix(s, "version") || isDerived(s)
			})
			for i := range got {
				got[i] = strings.Replace(got[i], " LayerInGroup=-1", "", 1)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInlineBeziers reads points that include their tangents, as in Teeworlds 0.7, where the version is 3.
func TestInlineBeziers(t *testing.T) {
	var m datafiletest.MapWriter
	for _, ev := range sampleEvents() {
		if ev.Kind == datafile.KindEnvelope {
			ev.Envelope.Version = 3
		}
		if err := m.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	d := written(t, &m).Events(datafile.Options{Want: func(k datafile.Kind, _ datafile.Place) bool {
		return k == datafile.KindEnvelopePoints || k == datafile.KindEnvelopeBeziers
	}})
	var ev, want datafile.Event
	if err := d.Next(&ev); err != nil {
		t.Fatal(err)
	}
	for _, want = range sampleEvents() {
		if want.Kind == datafile.KindEnvelopePoints {
			break
		}
	}
	if diff := cmp.Diff(want.EnvelopePoints, ev.EnvelopePoints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := d.Next(&ev); !errors.Is(err, io.EOF) {
		t.Errorf("another event: %s, %v", dump(&ev), err)
	}
}

// TestDuplicateIndex checks that a second index item for a UUID is accepted, as old tools wrote it.
func TestDuplicateIndex(t *testing.T) {
	var w datafiletest.Writer
	w.AddInts(0, 0, 1)
	for range 2 {
		w.AddInts(0xffff, 0xfffe, 0x3e1b2716, 0x178c3978, -0x64264ee6, -0x1fbef228)
	}
	w.AddInts(0xfffe, 0, 1, 0, 0, -1, 5, 0)
	got := dumpAll(t, written(t, &w).Events(datafile.Options{}))
	want := []string{
		"automapper Version=1 Config=-1 Seed=5 Layer=-1",
		`uuid_type Type=65534 Uuid="3e1b2716-178c-3978-9bd9-b11ae0410dd8" Name="mapitemtype-automapper-config@ddnet.tw"`,
		`uuid_type Type=65534 Uuid="3e1b2716-178c-3978-9bd9-b11ae0410dd8" Name="mapitemtype-automapper-config@ddnet.tw"`,
	}
	if diff := cmp.Diff(want, got[len(got)-3:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestErrorIsFinal checks that everything is delivered, with a warning at the last blob, and that the error repeats.
func TestErrorIsFinal(t *testing.T) {
	data := sample(t)
	whole, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	events := dumpAll(t, whole.Events(datafile.Options{}))
	// The last blob's last byte is a part of its checksum.
	data = slices.Clone(data)
	data[len(data)-1] ^= 1
	f, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	d := f.Events(datafile.Options{})
	got, err := dumpUntil(d)
	var failure *decoders.Error
	if !errors.As(err, &failure) || !errors.Is(err, decoders.ErrCorrupt) {
		t.Fatalf("got error %v", err)
	}
	if want := int64(binary.LittleEndian.Uint32(data[8:])) + 16; failure.Offset <= 0 || failure.Offset >= want {
		t.Errorf("the error is at %d of %d", failure.Offset, want)
	}
	events[len(events)-1] += fmt.Sprintf(" warnings=[%d]", datafile.WarningDamagedData)
	if diff := cmp.Diff(events, got); diff != "" {
		t.Errorf("other events before the error (-want +got):\n%s", diff)
	}
	var ev datafile.Event
	if again := d.Next(&ev); !errors.Is(again, err) {
		t.Errorf("then got %v", again)
	}
	if closed := d.Close(); !errors.Is(closed, err) {
		t.Errorf("Close returned %v", closed)
	}
}

// TestReadErrors checks that a failing disk is not reported as a bad file.
func TestReadErrors(t *testing.T) {
	data := sample(t)
	broken := errors.New("the disk is on fire")
	for limit := range data {
		r := &failing{data: data, limit: limit, err: broken}
		f, err := datafile.Open(r, int64(len(data)), datafile.DefaultLimits)
		if err == nil {
			_, err = dumpUntil(f.Events(datafile.Options{}))
		}
		if !errors.Is(err, broken) {
			t.Fatalf("reading fails from byte %d on: got error %v", limit, err)
		}
		r.err = io.EOF
		f, err = datafile.Open(r, int64(len(data)), datafile.DefaultLimits)
		if err == nil {
			_, err = dumpUntil(f.Events(datafile.Options{}))
		}
		if !errors.Is(err, decoders.ErrTruncated) {
			t.Fatalf("the file ends at byte %d: got error %v", limit, err)
		}
	}
}

// failing is a file of which only the first bytes can be read.
type failing struct {
	data  []byte
	limit int
	err   error
}

func (f *failing) ReadAt(p []byte, offset int64) (int, error) {
	n, _ := bytes.NewReader(f.data[:f.limit]).ReadAt(p, min(offset, int64(f.limit)))
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}
