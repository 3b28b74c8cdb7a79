package render_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
	"github.com/replayd/replayd/decoders/datafile/datafiletest"
	"github.com/replayd/replayd/decoders/datafile/render"
)

// designedPath is a map with all that pictures depend on. The tests of the page compare its whole picture with the page's.
var designedPath = filepath.Join("..", "..", "..", "page", "test", "designed.map")

func TestDesign(t *testing.T) {
	f := open(t, designedPath)
	d, err := render.Design(f, render.Options{Scale: 8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Picture.Rect != image.Rect(0, 0, 8*40, 8*20) || !d.Picture.Opaque() || !slices.Equal(d.Absent, []string{"grass_main"}) {
		t.Errorf("%v, without %q", d.Picture.Rect, d.Absent)
	}

	// An image that is found covers the map, because its layer does.
	var asked []string
	green := image.NewUniform(color.RGBA{10, 200, 30, 255})
	picture := image.NewNRGBA(image.Rect(5, 5, 69, 69)) // whose bounds do not begin at 0
	draw.Draw(picture, picture.Rect, green, image.Point{}, draw.Src)
	found, err := render.Design(f, render.Options{Scale: 8}, func(name string) (image.Image, error) {
		asked = append(asked, name)
		return picture, nil
	})
	if err != nil || len(found.Absent) > 0 || !slices.Equal(asked, []string{"grass_main"}) || !same(found.Picture.At(100, 50), green.C) {
		t.Errorf("%v, without %q; asked for %q; a pixel is %v", err, found.Absent, asked, found.Picture.At(100, 50))
	}
	if _, err := render.Design(f, render.Options{}, func(string) (image.Image, error) { return nil, fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("an image that cannot be read: %v", err)
	}

	over, err := render.Design(f, render.Options{Scale: 8, Over: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if same(over.Picture.At(100, 116), d.Picture.At(100, 116)) || !same(over.Picture.At(100, 100), d.Picture.At(100, 100)) {
		t.Error("physics are not over the design, or air is")
	}
}

// TestDesignRegion: what moves with the world is where it is in the whole picture.
func TestDesignRegion(t *testing.T) {
	f := open(t, designedPath)
	whole, err := render.Design(f, render.Options{Scale: 8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	region := image.Rect(4, 15, 20, 20)
	part, err := render.Design(f, render.Options{Scale: 8, Region: region}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if part.Picture.Rect != image.Rect(0, 0, 8*16, 8*5) {
		t.Fatal(part.Picture.Rect)
	}
	equal := 0
	for y := range 8 * 5 {
		for x := range 8 * 16 {
			if same(part.Picture.At(x, y), whole.Picture.At(x+8*4, y+8*15)) {
				equal++
			}
		}
	}
	if equal < 2500 { // the opaque tiles; the sky behind the others does not move with the world
		t.Errorf("%d pixels are those of the whole", equal)
	}
}

// hostile returns a map with a game layer and what add adds.
func hostile(t *testing.T, add func(func(datafile.Event))) *datafile.File {
	t.Helper()
	var m datafiletest.MapWriter
	put := func(ev datafile.Event) {
		if err := m.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	put(datafile.Event{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}})
	put(datafile.Event{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{Kind: datafile.LayerKindGame, Flags: 1, Version: 3, Width: 100, Height: 100, Image: -1, ColorEnvelope: -1}})
	put(datafile.Event{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: 100, Rows: 100, BytesPerTile: 4, Data: make([]byte, 40000)}})
	add(put)
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := datafile.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), datafile.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDesignLimits: a small map that would take much memory or time to draw is refused, and odd values are no harm.
func TestDesignLimits(t *testing.T) {
	const low, high = -1 << 31, 1<<31 - 1
	everywhere := datafile.Quad{
		Points:           []datafile.Point{{X: low, Y: low}, {X: high, Y: low}, {X: low, Y: high}, {X: high, Y: high}, {X: high, Y: low}},
		Colors:           []datafile.Color{{R: -5, A: 9}, {G: high}, {B: low}, {A: high}},
		Texture:          []datafile.Point{{X: low, Y: low}, {X: high}, {Y: high}, {X: high, Y: high}},
		PositionEnvelope: high, ColorEnvelope: 3, ColorEnvelopeOffsetMs: low,
	}
	quads := func(n int, put func(datafile.Event)) {
		list := make([]datafile.Quad, n)
		for i := range list {
			list[i] = everywhere
		}
		put(datafile.Event{Kind: datafile.KindQuadLayer, QuadLayer: datafile.QuadLayer{Version: 2, NumQuads: int32(n), Image: -1}})
		put(datafile.Event{Kind: datafile.KindQuads, Quads: datafile.Quads{Quads: list}})
	}
	f := hostile(t, func(put func(datafile.Event)) { quads(3, put) })
	if _, err := render.Design(f, render.Options{Scale: 4}, nil); err != nil {
		t.Errorf("odd quads: %v", err)
	}
	if _, err := render.Design(f, render.Options{Scale: 4, MaxPixels: 400*400 - 1}, nil); !errors.Is(err, decoders.ErrLimit) {
		t.Errorf("too many pixels: %v", err)
	}
	large := func(string) (image.Image, error) { return endless{}, nil }
	f = hostile(t, func(put func(datafile.Event)) {
		put(datafile.Event{Kind: datafile.KindImage, Image: datafile.Image{Version: 1, Width: 8, Height: 8, External: true, Name: []byte("large")}})
	})
	if _, err := render.Design(f, render.Options{}, large); !errors.Is(err, decoders.ErrLimit) {
		t.Errorf("a large image: %v", err)
	}
	f = hostile(t, func(put func(datafile.Event)) { quads(20, put) })
	if _, err := render.Design(f, render.Options{MaxPainted: 100_000}, nil); !errors.Is(err, decoders.ErrLimit) {
		t.Errorf("much to paint: %v", err)
	}
}

// endless is an image that is too large.
type endless struct{}

func (endless) ColorModel() color.Model { return color.RGBAModel }
func (endless) Bounds() image.Rectangle { return image.Rect(0, 0, 1<<30, 1<<30) }
func (endless) At(int, int) color.Color { return color.Black }
