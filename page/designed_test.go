package page_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
)

// designedMap returns a map whose layers use everything that pictures of maps depend on: images in the file and one that is not,
// transparency, turned and mirrored tiles, colours, envelopes, quads, parallax, offsets and clipping.
func designedMap(t *testing.T) []byte {
	t.Helper()
	const width, height, tile = 40, 20, 32
	var m datafiletest.MapWriter
	add := func(ev datafile.Event) {
		if err := m.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	white := datafile.Color{R: 255, G: 255, B: 255, A: 255}
	add(datafile.Event{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}})

	pixels := make([]byte, 0, 16*tile*16*tile*4)
	for y := range 16 * tile {
		for x := range 16 * tile {
			pixels = append(pixels, tilePixel(x/tile+y/tile*16, x%tile, y%tile)...)
		}
	}
	image := func(version, side int32, name string, format datafile.PixelFormat, data []byte) {
		add(datafile.Event{Kind: datafile.KindImage, Image: datafile.Image{Version: version, Width: side, Height: side, Name: []byte(name), Format: format}})
		add(datafile.Event{Kind: datafile.KindImageData, ImageData: datafile.ImageData{Data: data}})
	}
	image(1, 16*tile, "tiles", datafile.PixelFormatRgba, pixels)
	var stripes []byte
	for i := range 64 * 64 {
		v := byte(60 + i/64*3)
		stripes = append(stripes, v, 255-v, byte(40+i%64*3))
	}
	image(2, 64, "stripes", datafile.PixelFormatRgb, stripes)
	add(datafile.Event{Kind: datafile.KindImage, Image: datafile.Image{Version: 1, Width: 64, Height: 64, External: true, Name: []byte("grass_main")}})

	add(datafile.Event{Kind: datafile.KindEnvelope, Envelope: datafile.Envelope{Version: 1, Channels: 3, NumPoints: 2, Name: []byte("swing")}})
	add(datafile.Event{Kind: datafile.KindEnvelope, Envelope: datafile.Envelope{Version: 1, Channels: 4, FirstPoint: 2, NumPoints: 2, Name: []byte("dusk")}})
	group := func(v datafile.Group, first, layers int32, name string) {
		v.Version, v.FirstLayer, v.NumLayers, v.Name = 3, first, layers, []byte(name)
		add(datafile.Event{Kind: datafile.KindGroup, Group: v})
	}
	group(datafile.Group{}, 0, 1, "sky")
	group(datafile.Group{ParallaxX: 50, ParallaxY: 80, OffsetX: -300, OffsetY: 37, Clipped: true, HasClip: true,
		Clip: datafile.Clip{X: 200, Y: 100, Width: 700, Height: 400}}, 1, 1, "far")
	group(datafile.Group{ParallaxX: 100, ParallaxY: 100}, 2, 5, "Game")

	point := func(x, y int32) datafile.Point { return datafile.Point{X: x << 10, Y: y << 10} }
	quads := func(image int32, name string, list ...datafile.Quad) {
		add(datafile.Event{Kind: datafile.KindQuadLayer, QuadLayer: datafile.QuadLayer{Version: 2, NumQuads: int32(len(list)), Image: image, Name: []byte(name)}})
		add(datafile.Event{Kind: datafile.KindQuads, Quads: datafile.Quads{Quads: list}})
	}
	quads(-1, "sky", datafile.Quad{
		Points:           []datafile.Point{point(-900, -700), point(900, -700), point(-900, 700), point(900, 700), point(0, 0)},
		Colors:           []datafile.Color{{R: 94, G: 132, B: 174, A: 255}, {R: 40, G: 60, B: 90, A: 255}, {R: 204, G: 232, B: 255, A: 255}, {R: 250, G: 200, B: 160, A: 255}},
		Texture:          []datafile.Point{point(0, 0), point(1, 0), point(0, 1), point(1, 1)},
		PositionEnvelope: -1, ColorEnvelope: 1, ColorEnvelopeOffsetMs: 500,
	})
	layer := func(v datafile.TileLayer, name string, cell func(x, y int) (index, flags byte)) {
		v.Kind, v.Version, v.Width, v.Height, v.Name, v.HasColor = max(v.Kind, datafile.LayerKindTiles), 3, width, height, []byte(name), true
		data := make([]byte, 0, width*height*4)
		for i := range width * height {
			index, flags := cell(i%width, i/width)
			data = append(data, index, flags, 0, 0)
		}
		add(datafile.Event{Kind: datafile.KindTileLayer, TileLayer: v})
		add(datafile.Event{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: width, Rows: height, BytesPerTile: 4, Data: data}})
	}
	layer(datafile.TileLayer{Image: 0, Color: datafile.Color{R: 120, G: 160, B: 255, A: 200}, ColorEnvelope: -1}, "far", func(x, y int) (byte, byte) {
		return byte(1 + (x+y)%7), 0
	})
	layer(datafile.TileLayer{Kind: datafile.LayerKindGame, Flags: 1, Color: white, Image: -1, ColorEnvelope: -1}, "Game", func(x, y int) (byte, byte) {
		if x == 0 || y == 0 || x == width-1 || y == height-1 || y == 14 && x > 8 && x < 30 {
			return 1, 0
		}
		return 0, 0
	})
	layer(datafile.TileLayer{Image: 0, Color: white, ColorEnvelope: -1}, "near", func(x, y int) (byte, byte) {
		switch {
		case y >= 15 && x%3 != 0: // every index, in each way of turning and mirroring
			return byte(x + 40*(y-15)), []byte{0, 1, 2, 3, 8, 9, 10, 11}[(x+y)%8]
		case x == 0 || y == 0 || x == width-1:
			return 17, 0
		}
		return 0, 0
	})
	layer(datafile.TileLayer{Image: 0, Color: datafile.Color{R: 255, G: 180, B: 90, A: 255}, ColorEnvelope: 1, ColorEnvelopeOffsetMs: 1000}, "dusk", func(x, y int) (byte, byte) {
		if y == 4 && x > 4 && x < 20 {
			return byte(30 + x), 0
		}
		return 0, 0
	})
	layer(datafile.TileLayer{Image: 2, Color: white, ColorEnvelope: -1}, "grass", func(int, int) (byte, byte) { return 1, 0 })
	quads(1, "stripes", datafile.Quad{
		Points: []datafile.Point{point(700, 220), point(1000, 200), point(720, 420), point(980, 460), point(850, 320)},
		Colors: []datafile.Color{white, {R: 255, G: 255, B: 255, A: 120}, white, {R: 90, G: 255, B: 90, A: 255}}, Texture: []datafile.Point{point(0, 0), point(2, 0), point(0, 1), point(2, 1)},
		PositionEnvelope: 0, PositionEnvelopeOffsetMs: 700, ColorEnvelope: -1,
	})
	bezier := datafile.Bezier{InDxMs: []int32{-500, -500, -500, -500}, InDy: []int32{0, 0, 0, 0}, OutDxMs: []int32{500, 500, 500, 500}, OutDy: []int32{2048, 0, 0, 0}}
	at := func(ms int32, curve datafile.Curve, values ...int32) datafile.EnvelopePoint {
		return datafile.EnvelopePoint{TimeMs: ms, Curve: curve, Values: values, Bezier: bezier, HasBezier: true}
	}
	add(datafile.Event{Kind: datafile.KindEnvelopePoints, EnvelopePoints: datafile.EnvelopePoints{Points: []datafile.EnvelopePoint{
		at(0, datafile.CurveBezier, 0, 0, 0, 0), at(2000, datafile.CurveLinear, 60<<10, 20<<10, 40<<10, 0),
		at(0, datafile.CurveSmooth, 1024, 1024, 1024, 1024), at(2000, datafile.CurveLinear, 512, 600, 900, 1024),
	}}})
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tilePixel returns a pixel of a tile: its colour says the tile, and a corner and an edge which way it is turned. Every fifth
// tile is half transparent.
func tilePixel(index, x, y int) []byte {
	colour := []byte{byte(60 + index*37%190), byte(60 + index*71%190), byte(60 + index*113%190), 255}
	if index%5 == 0 {
		colour[3] = 128
	}
	switch {
	case x < 12 && y < 12:
		copy(colour, []byte{250, 250, 250})
	case y >= 26:
		copy(colour, []byte{20, 20, 30})
	}
	return colour
}

// TestLargeMap writes a map of 1000 x 1000 tiles to the file that LARGE_MAP names, for the long measurements of the page.
func TestLargeMap(t *testing.T) {
	path := os.Getenv("LARGE_MAP")
	if path == "" {
		t.Skip("LARGE_MAP names no file")
	}
	const side = 1000
	data := make([]byte, side*side*4)
	for i := range side * side {
		x, y := i%side, i/side
		edge := x == 0 || y == 0 || x == side-1 || y == side-1
		if edge || y%12 == 0 && x%40 > 6 || x%97 == 0 && y%12 > 5 || (x*7+y*13)%101 == 0 {
			data[4*i] = []byte{1, 1, 3, 9}[(x/20+y/12)%4]
		}
	}
	var m datafiletest.MapWriter
	for _, ev := range []datafile.Event{
		{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}},
		{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{Kind: datafile.LayerKindGame, Flags: 1, Version: 3, Width: side, Height: side, Image: -1, ColorEnvelope: -1}},
		{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: side, Rows: side, BytesPerTile: 4, Data: data}},
	} {
		if err := m.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
