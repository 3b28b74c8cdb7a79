package datafile_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sampleFolder holds a map made for this project. It has every kind of layer and item.
var sampleFolder = filepath.Join("..", "..", "testdata", "datafile")

// The sample's game layer. '#' solid, '=' unhookable, 'x' death, 'f' freeze, 'u' unfreeze, 'S' start, 'F' finish,
// '@' spawn, 'a' armor, 'h' health, 'g' grenade, 'd' deep freeze, 'n' no laser, 'D' door, 'j' refill jumps, '1' checkpoint.
var sampleGame = []string{
	"################################################################",
	"#                                                              #",
	"#                     ffffffffffffffffffff                     #",
	"#  @ @ @              f                  f                     #",
	"#  @ @ @     S        f   ====    ====   f      h a h a        #",
	"#            S        f                  f                     #",
	"#######      S        f      ======      f     #########       #",
	"#     #      S        f                  f     #       #       #",
	"#     #      S                                 #   g   #       #",
	"#     #      S                                 #       #       #",
	"#     #      S        ====================     ####D####       #",
	"#     #################                 ######                 #",
	"#                     #   u   u   u     #    #                 #",
	"#                     # f f f f f f f   #    #       1         #",
	"#   ==============    # f f f f f f f   #    #       1         #",
	"#   =            =    #                 #    #       1         #",
	"#   =  d      d  =    ######j######j#####    ###########       #",
	"#   =  d      d  =                                             #",
	"#   =  dddddddd  =                                      #      #",
	"#   =            =                                      #  F   #",
	"#   ==============        nnnnnnnn                      #  F   #",
	"#                                                       #  F   #",
	"#xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx#  F   #",
	"################################################################",
}

var sampleTiles = map[rune]byte{
	' ': 0, '#': 1, 'x': 2, '=': 3, 'n': 4, 'f': 9, 'u': 11, 'd': 12, 'j': 32, 'S': 33, 'F': 34, '1': 35,
	'@': 192, 'a': 197, 'h': 198, 'g': 200, 'D': 240,
}

// sampleEvents returns the sample as events.
func sampleEvents() []datafile.Event {
	width, height := int32(len(sampleGame[0])), int32(len(sampleGame))
	at := func(x, y, stride int) int { return (y*int(width) + x) * stride }
	var events []datafile.Event
	add := func(ev datafile.Event) { events = append(events, ev) }
	text := func(s string) []byte { return []byte(s) }

	add(datafile.Event{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}})
	add(datafile.Event{Kind: datafile.KindInfo, Info: datafile.Info{
		Author: text("replayd"), MapVersion: text("1"), Credits: text("nobody else"), License: text("CC0"), HasSettings: true,
	}})
	add(datafile.Event{Kind: datafile.KindSettings, Settings: datafile.Settings{
		Commands: [][]byte{text("sv_team 0"), text("tune_zone 1 gravity 0.3"), text("sv_deepfly 0")},
	}})
	add(datafile.Event{Kind: datafile.KindImage, Image: datafile.Image{
		Version: 1, Width: 1024, Height: 1024, External: true, Name: text("grass_main"),
	}})
	add(datafile.Event{Kind: datafile.KindImage, Image: datafile.Image{
		Version: 1, Width: 16, Height: 16, Name: text("checkers"), Format: datafile.PixelFormatRgba,
	}})
	add(datafile.Event{Kind: datafile.KindImageData, ImageData: datafile.ImageData{Data: checkers(4)}})
	add(datafile.Event{Kind: datafile.KindImage, Image: datafile.Image{
		Version: 2, Width: 16, Height: 16, Name: text("opaque"), Format: datafile.PixelFormatRgb,
	}})
	add(datafile.Event{Kind: datafile.KindImageData, ImageData: datafile.ImageData{Data: checkers(3)}})
	add(datafile.Event{Kind: datafile.KindEnvelope, Envelope: datafile.Envelope{
		Version: 1, Channels: 3, NumPoints: 2, Name: text("up and down"),
	}})
	add(datafile.Event{Kind: datafile.KindEnvelope, Envelope: datafile.Envelope{
		Version: 2, Channels: 4, FirstPoint: 2, NumPoints: 1, Name: text("twilight"),
		Synchronized: true,
	}})
	add(datafile.Event{Kind: datafile.KindEnvelope, Envelope: datafile.Envelope{
		Version: 2, Channels: 1, FirstPoint: 3, NumPoints: 1, Name: text("hum"),
	}})
	group := func(first, num int32, name string, parallax int32) {
		add(datafile.Event{Kind: datafile.KindGroup, Group: datafile.Group{
			Version: 3, FirstLayer: first, NumLayers: num, Name: text(name), ParallaxX: parallax, ParallaxY: parallax,
			Clip: datafile.Clip{X: 0, Y: 0, Width: 640, Height: 480}, HasClip: true, Clipped: parallax != 100,
		}})
	}
	group(0, 2, "sky", 0)
	group(2, 8, "Game", 100)
	group(10, 2, "sounds", 100)

	tiles := func(kind datafile.LayerKind, version, flags, stride int32, name string, data []byte) {
		add(datafile.Event{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{
			Kind: kind, Version: version, Flags: flags, Width: width, Height: height, Name: text(name),
			Color: datafile.Color{R: 255, G: 255, B: 255, A: 255}, HasColor: true, ColorEnvelope: -1, Image: -1,
		}})
		add(datafile.Event{Kind: datafile.KindTiles, Tiles: datafile.Tiles{
			Columns: width, Rows: height, BytesPerTile: stride, Data: data,
		}})
	}
	corner := func(x, y int32) datafile.Point { return datafile.Point{X: x << 10, Y: y << 10} }
	add(datafile.Event{Kind: datafile.KindQuadLayer, QuadLayer: datafile.QuadLayer{
		Version: 2, NumQuads: 1, Image: -1, Name: text("sky"), Detail: true,
	}})
	add(datafile.Event{Kind: datafile.KindQuads, Quads: datafile.Quads{Quads: []datafile.Quad{{
		Points:           []datafile.Point{corner(-800, -600), corner(800, -600), corner(-800, 600), corner(800, 600), corner(0, 0)},
		Colors:           []datafile.Color{{94, 132, 174, 255}, {94, 132, 174, 255}, {204, 232, 255, 255}, {204, 232, 255, 255}},
		Texture:          []datafile.Point{corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)},
		PositionEnvelope: 0, ColorEnvelope: 1, ColorEnvelopeOffsetMs: 250,
	}}}})
	plain := make([]byte, width*height*4)
	for i := range 40 {
		plain[at(3+i, 1, 4)] = byte(i)
	}
	tiles(datafile.LayerKindTiles, 2, 0, 4, "", plain)

	game := make([]byte, 0, width*height*4)
	for _, row := range sampleGame {
		for _, c := range row {
			game = append(game, sampleTiles[c], 0, 0, 0)
		}
	}
	tiles(datafile.LayerKindGame, 3, 1, 4, "Game", game)
	tiles(datafile.LayerKindTiles, 4, 0, 4, "walls", onlySolid(game))
	front := make([]byte, width*height*4)
	front[at(30, 8, 4)] = 60 // a stopper
	front[at(31, 8, 4)], front[at(31, 8, 4)+1] = 60, 8
	tiles(datafile.LayerKindFront, 3, 8, 4, "Front", front)
	tele := make([]byte, width*height*2)
	copy(tele[at(12, 13, 2):], []byte{1, 26})
	copy(tele[at(50, 8, 2):], []byte{1, 27})
	tiles(datafile.LayerKindTele, 3, 2, 2, "Tele", tele)
	speedup := make([]byte, width*height*6)
	copy(speedup[at(40, 18, 6):], []byte{10, 30, 29, 0, 0x0e, 0x01}) // 270 degrees
	tiles(datafile.LayerKindSpeedup, 3, 4, 6, "Speedup", speedup)
	switches := make([]byte, width*height*4)
	copy(switches[at(51, 10, 4):], []byte{1, 240, 0, 0})
	copy(switches[at(58, 5, 4):], []byte{1, 22, 0, 5})
	tiles(datafile.LayerKindSwitch, 3, 16, 4, "Switch", switches)
	tune := make([]byte, width*height*2)
	for x := 24; x < 40; x++ {
		copy(tune[at(x, 3, 2):], []byte{1, 68})
	}
	tiles(datafile.LayerKindTune, 3, 32, 2, "Tune", tune)
	add(datafile.Event{Kind: datafile.KindQuadLayer, QuadLayer: datafile.QuadLayer{Version: 1, Image: 1}})

	source := datafile.SoundSource{
		Position: corner(640, 320), HasPosition: true, Loop: true, Pan: true, DelayS: 2, Falloff: 80,
		PositionEnvelope: -1, SoundEnvelope: 2, SoundEnvelopeOffsetMs: 100, Shape: datafile.SoundShapeCircle, Radius: 320, HasRadius: true,
	}
	rectangle := source
	rectangle.Shape, rectangle.Radius, rectangle.HasRadius = datafile.SoundShapeRectangle, 0, false
	rectangle.Width, rectangle.HasWidth, rectangle.Height, rectangle.HasHeight = 64<<10, true, 32<<10, true
	add(datafile.Event{Kind: datafile.KindSoundLayer, SoundLayer: datafile.SoundLayer{
		Version: 2, NumSources: 2, Sound: 0, Name: text("hum"),
	}})
	add(datafile.Event{Kind: datafile.KindSoundSources, SoundSources: datafile.SoundSources{
		Sources: []datafile.SoundSource{source, rectangle},
	}})
	add(datafile.Event{Kind: datafile.KindSoundLayer, SoundLayer: datafile.SoundLayer{
		Version: 1, NumSources: 1, Sound: 0, Name: text("old hum"), Deprecated: true,
	}})
	add(datafile.Event{Kind: datafile.KindSoundSources, SoundSources: datafile.SoundSources{
		Sources: []datafile.SoundSource{source},
	}})

	still := datafile.Bezier{
		InDxMs: []int32{-100, -100, -100, -100}, InDy: []int32{0, 0, 0, 0},
		OutDxMs: []int32{100, 100, 100, 100}, OutDy: []int32{512, 0, 0, 0},
	}
	point := func(ms int32, curve datafile.Curve, values ...int32) datafile.EnvelopePoint {
		return datafile.EnvelopePoint{TimeMs: ms, Curve: curve, Values: values, Bezier: still, HasBezier: true}
	}
	add(datafile.Event{Kind: datafile.KindEnvelopePoints, EnvelopePoints: datafile.EnvelopePoints{
		Points: []datafile.EnvelopePoint{
			point(0, datafile.CurveBezier, 0, 0, 0, 0),
			point(2000, datafile.CurveLinear, 0, 64<<10, 0, 0),
			point(0, datafile.CurveStep, 1024, 900, 800, 1024),
			point(0, datafile.CurveSmooth, 512, 0, 0, 0),
		},
	}})
	add(datafile.Event{Kind: datafile.KindSound, Sound: datafile.Sound{
		Version: 1, Name: text("hum"), DeclaredBytes: 32,
	}})
	add(datafile.Event{Kind: datafile.KindSoundData, SoundData: datafile.SoundData{
		Data: []byte("OggS, but not really: 32 bytes.."),
	}})
	add(datafile.Event{Kind: datafile.KindAutomapper, Automapper: datafile.Automapper{
		Version: 1, Group: 1, LayerInGroup: 1, Config: 0, Seed: 42, Flags: 1, Automatic: true,
	}})
	add(datafile.Event{Kind: datafile.KindRawItem, RawItem: datafile.RawItem{
		Id: 0, Uuid: text("b1ab2186-5ac3-39d9-9fbc-47cf03efdf1e"), Bytes: 8, Data: []byte{1, 0, 0, 0, 7, 0, 0, 0},
	}})
	add(datafile.Event{Kind: datafile.KindRawItem, RawItem: datafile.RawItem{
		Type: 9, Id: 3, Bytes: 4, Data: []byte{0xff, 0xff, 0xff, 0x7f},
	}})
	add(datafile.Event{Kind: datafile.KindRawData, RawData: datafile.RawData{Bytes: 5, Data: text("loose")}})
	return events
}

func checkers(channels int) []byte {
	var pixels []byte
	for y := range 16 {
		for x := range 16 {
			v := byte(0x40)
			if (x/4+y/4)%2 == 0 {
				v = 0xc0
			}
			pixels = append(pixels, []byte{v, v, 0x80, 0xff}[:channels]...)
		}
	}
	return pixels
}

// onlySolid keeps the solid tiles.
func onlySolid(tiles []byte) []byte {
	solid := make([]byte, len(tiles))
	for i := 0; i < len(tiles); i += 4 {
		if tiles[i] == 1 {
			solid[i] = 1
		}
	}
	return solid
}

// sample returns the sample as a file.
func sample(tb testing.TB) []byte {
	tb.Helper()
	var m datafiletest.MapWriter
	for _, ev := range sampleEvents() {
		if err := m.Add(&ev); err != nil {
			tb.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestSample compares the events of the sample with the golden file, which has one readable line per event.
func TestSample(t *testing.T) {
	path, golden := filepath.Join(sampleFolder, "sample.map"), filepath.Join("testdata", "sample.events")
	if *update {
		if err := os.MkdirAll(sampleFolder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, sample(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(dumpAll(t, f.Events(datafile.Options{})), "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("other events than in %s (-want +got):\n%s", golden, diff)
	}
}

// TestSampleHasAllKinds checks that the sample has events and layers of every kind.
func TestSampleHasAllKinds(t *testing.T) {
	f, err := open(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var kinds [datafile.KindCount]int
	layers := map[datafile.LayerKind]bool{}
	var ev datafile.Event
	d := f.Events(datafile.Options{})
	for d.Next(&ev) == nil {
		kinds[ev.Kind]++
		if ev.Kind == datafile.KindTileLayer {
			layers[ev.TileLayer.Kind] = true
		}
		if len(ev.Warnings) > 0 {
			t.Errorf("%s", dump(&ev))
		}
	}
	for k := datafile.KindNone + 1; k < datafile.KindCount; k++ {
		if kinds[k] == 0 {
			t.Errorf("no %v", k)
		}
	}
	for kind := datafile.LayerKindTiles; kind <= datafile.LayerKindTune; kind++ {
		if !layers[kind] {
			t.Errorf("no layer of kind %d", kind)
		}
	}
}

// TestSampleText checks the stored bytes of texts and UUIDs. A mistake that the writer and the reader share would not
// show otherwise.
func TestSampleText(t *testing.T) {
	data := sample(t)
	for name, stored := range map[string]string{
		// "Game" in three integers, each most significant byte first with all highest bits flipped, the last byte 0.
		"packed text": "e5ede1c7" + "80808080" + "00808080",
		// 3e1b2716-178c-3978-9bd9-b11ae0410dd8, each group of four bytes reversed.
		"automapper": "16271b3e" + "78398c17" + "1ab1d99b" + "d80d41e0",
	} {
		want, err := hex.DecodeString(stored)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, want) {
			t.Errorf("%s: the file does not contain %s", name, stored)
		}
	}
}
