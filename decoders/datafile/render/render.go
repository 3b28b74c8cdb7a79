package render

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile"
)

// Options configure a picture. The zero value draws the game layer, with one pixel per tile.
type Options struct {
	// Scale is the width and height of a tile in pixels, 1 to MaxScale. 0 means 1.
	Scale int
	// Physics also draws the front, tele, speedup, switch and tune layers, over the game layer.
	Physics bool
	// Region is the part of the map to draw, in tiles. Empty means all of it. What lies beyond the map is left out.
	Region image.Rectangle
	// Crop cuts off the edges of the map, or of Region, in which all drawn layers are air.
	Crop bool
	// Over also draws the tiles that Map draws, over designed layers. Only [Design] uses it.
	Over bool
	// MaxPixels is the largest number of pixels of the picture. A pixel takes one byte, or 4 with designed layers. 0 means 256
	// Mi, or 64 Mi with designed layers.
	MaxPixels int64
	// MaxPainted limits the number of painted pixels, which exceeds the picture's because designed layers lie over each other.
	// Only [Design] uses it. 0 means 2 Gi, which takes about a minute.
	MaxPainted int64
}

// ErrNoGameLayer reports that a map has no game layer.
var ErrNoGameLayer = errors.New("the map has no game layer")

// ErrNothing reports that the region of a picture has no tiles.
var ErrNothing = errors.New("nothing of the map is in that region")

// MaxScale is the largest Scale.
const MaxScale = 64

const defaultMaxPixels = 256 << 20

// Map draws a map. If it has several layers of a kind, the last one counts, as in the game. For a picture that would be
// too large, Map returns a *decoders.Error that wraps decoders.ErrLimit. For a map that cannot be decoded, it returns
// the decoder's error.
func Map(f *datafile.File, o Options) (*image.Paletted, error) {
	layers, region, err := o.plan(f)
	if err != nil {
		return nil, err
	}
	return o.draw(f, layers, region)
}

// plan checks the options, sets missing ones, and returns the map's layers that affect play and the part of the map to draw.
func (o *Options) plan(f *datafile.File) (layers map[datafile.LayerKind]datafile.TileLayer, region image.Rectangle, err error) {
	none := image.Rectangle{}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Scale < 1 || o.Scale > MaxScale {
		return nil, none, fmt.Errorf("a scale of %d is not between 1 and %d", o.Scale, MaxScale)
	}
	if o.MaxPixels == 0 {
		o.MaxPixels = defaultMaxPixels
	}
	if layers, err = physicsLayers(f); err != nil {
		return nil, none, err
	}
	game, ok := layers[datafile.LayerKindGame]
	if !ok || game.Width == 0 || game.Height == 0 {
		return nil, none, ErrNoGameLayer
	}
	region = image.Rect(0, 0, int(game.Width), int(game.Height))
	if !o.Region.Empty() {
		region = region.Intersect(o.Region)
	}
	if o.Crop {
		if region, err = crop(f, region, layers, o.kinds()); err != nil {
			return nil, none, err
		}
	}
	if region.Empty() {
		return nil, none, ErrNothing
	}
	// The file's limits bound a layer's tiles, so this does not overflow.
	if n := int64(region.Dx()) * int64(region.Dy()); n > o.MaxPixels/int64(o.Scale*o.Scale) {
		return nil, none, decoders.Errorf(decoders.Datafile, 0, decoders.NoTick, "picture", decoders.ErrLimit,
			"%d x %d tiles of %d x %d pixels, of which %d are allowed", region.Dx(), region.Dy(), o.Scale, o.Scale, o.MaxPixels)
	}
	return layers, region, nil
}

// draw draws the layers that affect play.
func (o *Options) draw(
	f *datafile.File, layers map[datafile.LayerKind]datafile.TileLayer, region image.Rectangle,
) (*image.Paletted, error) {
	bounds := image.Rect(0, 0, region.Dx()*o.Scale, region.Dy()*o.Scale)
	p := painter{picture: image.NewPaletted(bounds, Palette()), scale: o.Scale, region: region}
	for _, kind := range o.kinds() {
		if layer, ok := layers[kind]; ok {
			if err := p.paint(f, layer); err != nil {
				return nil, err
			}
		}
	}
	return p.picture, nil
}

// kinds returns the kinds of the layers to draw, in this order.
func (o *Options) kinds() []datafile.LayerKind {
	kinds := []datafile.LayerKind{datafile.LayerKindGame}
	if o.Physics {
		kinds = append(kinds, datafile.LayerKindTune, datafile.LayerKindSpeedup, datafile.LayerKindTele,
			datafile.LayerKindSwitch, datafile.LayerKindFront)
	}
	return kinds
}

// crop returns the smallest part of a region that contains all its tiles except air.
func crop(
	f *datafile.File, region image.Rectangle, layers map[datafile.LayerKind]datafile.TileLayer, kinds []datafile.LayerKind,
) (part image.Rectangle, err error) {
	err = eachTile(f, layers, kinds, func(_ datafile.LayerKind, tile datafile.PhysicsTile) {
		run := image.Rect(int(tile.X), int(tile.Y), int(tile.X+tile.Columns), int(tile.Y)+1).Intersect(region)
		part = part.Union(run)
	})
	return part, err
}

// eachTile calls each for all runs of tiles of the layers of the given kinds.
func eachTile(
	f *datafile.File, layers map[datafile.LayerKind]datafile.TileLayer, kinds []datafile.LayerKind,
	each func(datafile.LayerKind, datafile.PhysicsTile),
) error {
	wanted := map[int32]bool{}
	for _, kind := range kinds {
		if layer, ok := layers[kind]; ok {
			wanted[layer.Layer] = true
		}
	}
	d := f.Events(datafile.Options{Want: func(kind datafile.Kind, at datafile.Place) bool {
		return kind == datafile.KindPhysicsTiles && wanted[at.Layer]
	}})
	var ev datafile.Event
	for {
		err := d.Next(&ev)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, tile := range ev.PhysicsTiles.Tiles {
			each(ev.PhysicsTiles.Kind, tile)
		}
	}
}

// Sign is an entry of a legend: a kind of tile in a picture.
type Sign struct {
	// Tile is the tile's index or type, which is its colour's index in the palette.
	Tile byte
	// Name is the tile's name, empty for tiles without a name.
	Name string
	// Count is the number of tiles in all drawn layers.
	Count int
}

// Legend returns the kinds of tiles that Map draws with the same options, the most frequent first. Tiles of one kind may lie
// below others.
func Legend(f *datafile.File, o Options) ([]Sign, error) {
	layers, err := physicsLayers(f)
	if err != nil {
		return nil, err
	}
	type key struct {
		tile byte
		name string
	}
	counts := map[key]int{}
	err = eachTile(f, layers, o.kinds(), func(_ datafile.LayerKind, tile datafile.PhysicsTile) {
		run := image.Rect(int(tile.X), int(tile.Y), int(tile.X+tile.Columns), int(tile.Y)+1)
		if !o.Region.Empty() {
			run = run.Intersect(o.Region)
		}
		if n := run.Dx(); n > 0 {
			counts[key{byte(tile.Tile), string(tile.Name)}] += n
		}
	})
	var signs []Sign
	for k, n := range counts {
		signs = append(signs, Sign{k.tile, k.name, n})
	}
	slices.SortFunc(signs, func(a, b Sign) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Tile, b.Tile), strings.Compare(a.Name, b.Name))
	})
	return signs, err
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
	region  image.Rectangle
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
	x, y = x-p.region.Min.X, y-p.region.Min.Y
	if y < 0 || y*p.scale >= p.picture.Rect.Dy() {
		return
	}
	if x < 0 {
		tiles = tiles[min(-x*stride, len(tiles)):]
		x = 0
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
