package render

import (
	"errors"
	"fmt"
	"image"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
)

// Options configure a picture. The zero value draws the game layer, with one pixel per tile.
type Options struct {
	// Scale is the width and height of a tile in pixels, 1 to MaxScale. 0 means 1.
	Scale int
	// Physics also draws the front, tele, speedup, switch and tune layers, over the game layer.
	Physics bool
	// MaxPixels is the largest number of pixels of the picture. A pixel takes one byte. 0 means 256 Mi.
	MaxPixels int64
}

// ErrNoGameLayer reports that a map has no game layer.
var ErrNoGameLayer = errors.New("the map has no game layer")

// MaxScale is the largest Scale.
const MaxScale = 64

const defaultMaxPixels = 256 << 20

// Map draws a map. If it has several layers of a kind, the last one counts, as in the game. For a picture that would be
// too large, Map returns a *decoders.Error that wraps decoders.ErrLimit. For a map that cannot be decoded, it returns
// the decoder's error.
func Map(f *datafile.File, o Options) (*image.Paletted, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Scale < 1 || o.Scale > MaxScale {
		return nil, fmt.Errorf("a scale of %d is not between 1 and %d", o.Scale, MaxScale)
	}
	if o.MaxPixels == 0 {
		o.MaxPixels = defaultMaxPixels
	}
	layers, err := physicsLayers(f)
	if err != nil {
		return nil, err
	}
	game, ok := layers[datafile.LayerKindGame]
	if !ok || game.Width == 0 || game.Height == 0 {
		return nil, ErrNoGameLayer
	}
	// The file's limits bound a layer's tiles, so this does not overflow.
	if n := int64(game.Width) * int64(game.Height); n > o.MaxPixels/int64(o.Scale*o.Scale) {
		return nil, decoders.Errorf(decoders.Datafile, 0, decoders.NoTick, "picture", decoders.ErrLimit,
			"%d x %d tiles of %d x %d pixels, of which %d are allowed", game.Width, game.Height, o.Scale, o.Scale, o.MaxPixels)
	}
	bounds := image.Rect(0, 0, int(game.Width)*o.Scale, int(game.Height)*o.Scale)
	p := painter{picture: image.NewPaletted(bounds, Palette()), scale: o.Scale}
	kinds := []datafile.LayerKind{datafile.LayerKindGame}
	if o.Physics {
		kinds = append(kinds, datafile.LayerKindTune, datafile.LayerKindSpeedup, datafile.LayerKindTele,
			datafile.LayerKindSwitch, datafile.LayerKindFront)
	}
	for _, kind := range kinds {
		if layer, ok := layers[kind]; ok {
			if err := p.paint(f, layer); err != nil {
				return nil, err
			}
		}
	}
	return p.picture, nil
}

// physicsLayers returns the last layer of each kind.
func physicsLayers(f *datafile.File) (map[datafile.LayerKind]datafile.TileLayer, error) {
	layers := map[datafile.LayerKind]datafile.TileLayer{}
	d := f.Events(datafile.Options{Want: func(kind datafile.Kind, _ datafile.Place) bool { return kind == datafile.KindTileLayer }})
	var ev datafile.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return layers, nil
		}
		if err != nil {
			return nil, err
		}
		layers[ev.TileLayer.Kind] = ev.TileLayer
	}
}

// painter paints layers over each other.
type painter struct {
	picture *image.Paletted
	scale   int
}

func (p *painter) paint(f *datafile.File, layer datafile.TileLayer) error {
	d := f.Events(datafile.Options{Want: func(kind datafile.Kind, at datafile.Place) bool {
		return kind == datafile.KindTiles && at.Layer == layer.Layer
	}})
	kindAt := layer.TypeByte()
	var ev datafile.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t := &ev.Tiles
		row := int(t.Columns * t.BytesPerTile)
		for y := range int(t.Rows) {
			p.row(int(t.X), int(t.Y)+y, t.Data[y*row:(y+1)*row], int(t.BytesPerTile), kindAt)
		}
	}
}

// row paints a row of tiles from column x. Air is transparent.
func (p *painter) row(x, y int, tiles []byte, stride, kindAt int) {
	if y*p.scale >= p.picture.Rect.Dy() {
		return
	}
	first := p.picture.Pix[y*p.scale*p.picture.Stride:][:p.picture.Stride]
	for i := kindAt; i < len(tiles) && (x+1)*p.scale <= len(first); i, x = i+stride, x+1 {
		if tiles[i] == datafile.AirTile {
			continue
		}
		for k := range p.scale {
			first[x*p.scale+k] = tiles[i]
		}
	}
	for k := 1; k < p.scale; k++ {
		copy(p.picture.Pix[(y*p.scale+k)*p.picture.Stride:][:p.picture.Stride], first)
	}
}
