package main

import (
	"github.com/replayd/replayd/decoders/datafile"
)

// How the course looks: a sky, hills that move with the view, and a ground of one image, whose tiles know which of their neighbours are air.

// tileSide is the width and height of a tile in pixels, in the image and in the map.
const tileSide = 32

// Where the tiles of the image begin. Those of the ground and of metal are 16 each, by the sides with air: 1 above, 2 below, 4 left, 8 right.
const (
	groundTiles = 16
	metalTiles  = 32
	iceTile     = 48
	thawTile    = 49
	spikesTile  = 50
	checkTile   = 51 // start and finish
	flagTile    = 52 // checkpoints
	grassTiles  = 53 // four tufts, which grow in the air above the ground
)

// scene is the designed layers of the course: what is behind the tees, and what is before them.
type scene struct {
	rows                  []string
	width, height         int32
	image                 []byte // 16 by 16 tiles, RGBA
	behind, ground, front []byte // tiles
}

func newScene(rows []string) *scene {
	s := &scene{rows: rows, width: int32(len(rows[0])), height: int32(len(rows)), image: tileset()}
	for y := range rows {
		for x := range rows[y] {
			tile := func(index int) []byte { return []byte{byte(index), 0, 0, 0} }
			behind, ground, front := tile(0), tile(0), tile(0)
			switch s.at(x, y) {
			case '#':
				ground = tile(groundTiles + s.sides(x, y))
			case '=':
				ground = tile(metalTiles + s.sides(x, y))
			case 'f':
				front = tile(iceTile)
			case 'u':
				front = tile(thawTile)
			case 'x':
				ground = tile(spikesTile)
			case 'S', 'F':
				behind = tile(checkTile)
			case '1':
				behind = tile(flagTile)
			case ' ', '@':
				if s.at(x, y+1) == '#' && (x*7+y*3)%5 < 3 {
					behind = tile(grassTiles + (x*5+y)%4)
				}
			}
			s.behind, s.ground, s.front = append(s.behind, behind...), append(s.ground, ground...), append(s.front, front...)
		}
	}
	return s
}

// at returns the course's letter at a place; outside of it is ground.
func (s *scene) at(x, y int) byte {
	if y < 0 || y >= len(s.rows) || x < 0 || x >= len(s.rows[y]) {
		return '#'
	}
	return s.rows[y][x]
}

// sides returns on which sides of a tile is air.
func (s *scene) sides(x, y int) (air int) {
	for i, letter := range [...]byte{s.at(x, y-1), s.at(x, y+1), s.at(x-1, y), s.at(x+1, y)} {
		if letter != '#' && letter != '=' && letter != 'x' {
			air |= 1 << i
		}
	}
	return air
}

var white = datafile.Color{R: 255, G: 255, B: 255, A: 255}

// events returns the items of the map, with its game layer.
func (s *scene) events(game []byte) []datafile.Event {
	group := func(name string, parallax, first, layers int32) datafile.Event {
		return datafile.Event{Kind: datafile.KindGroup, Group: datafile.Group{
			Version: 3, FirstLayer: first, NumLayers: layers, Name: []byte(name), ParallaxX: parallax, ParallaxY: parallax,
		}}
	}
	layer := func(kind datafile.LayerKind, flags, image int32, name string, tiles []byte) []datafile.Event {
		return []datafile.Event{
			{Kind: datafile.KindTileLayer, TileLayer: datafile.TileLayer{
				Kind: kind, Version: 3, Flags: flags, Width: s.width, Height: s.height, Name: []byte(name), Color: white, HasColor: true,
				ColorEnvelope: -1, Image: image,
			}},
			{Kind: datafile.KindTiles, Tiles: datafile.Tiles{Columns: s.width, Rows: s.height, BytesPerTile: 4, Data: tiles}},
		}
	}
	quads := func(name string, list ...datafile.Quad) []datafile.Event {
		return []datafile.Event{
			{Kind: datafile.KindQuadLayer, QuadLayer: datafile.QuadLayer{Version: 2, NumQuads: int32(len(list)), Image: -1, Name: []byte(name)}},
			{Kind: datafile.KindQuads, Quads: datafile.Quads{Quads: list}},
		}
	}
	events := []datafile.Event{
		{Kind: datafile.KindVersion, Version: datafile.Version{Version: 1}},
		{Kind: datafile.KindInfo, Info: datafile.Info{Author: []byte("replayd"), License: []byte("CC0")}},
		{Kind: datafile.KindImage, Image: datafile.Image{Version: 1, Width: 16 * tileSide, Height: 16 * tileSide, Name: []byte("course"), Format: datafile.PixelFormatRgba}},
		{Kind: datafile.KindImageData, ImageData: datafile.ImageData{Data: s.image}},
		group("Sky", 0, 0, 1), group("Hills", 40, 1, 1), group("Game", 100, 2, 4),
	}
	dusk, dawn := datafile.Color{R: 52, G: 84, B: 140, A: 255}, datafile.Color{R: 246, G: 202, B: 160, A: 255}
	const far = 8000 // farther than any view
	events = append(events, quads("Sky",
		quad(-far, -far, far, -far, -far, -700, far, -700, dusk, dusk, dusk, dusk), quad(-far, -700, far, -700, -far, 900, far, 900, dusk, dusk, dawn, dawn),
		quad(-far, 900, far, 900, -far, far, far, far, dawn, dawn, dawn, dawn))...)
	foot := datafile.Color{R: 60, G: 92, B: 112, A: 255}
	hills := []datafile.Quad{quad(-far, 900, far, 900, -far, far, far, far, foot, foot, foot, foot)}
	for i := -8; i < 24; i++ {
		x, top, peak := int32(-600+i*330), int32(330-(i+8)*137%190), datafile.Color{R: 96, G: 122, B: 150, A: 255}
		hills = append(hills, quad(x+180, top, x+260, top, x-160, 900, x+600, 900, peak, peak, foot, foot))
	}
	events = append(events, quads("Hills", hills...)...)
	events = append(events, layer(datafile.LayerKindTiles, 0, 0, "Behind", s.behind)...)
	events = append(events, layer(datafile.LayerKindGame, 1, -1, "Game", game)...)
	events = append(events, layer(datafile.LayerKindTiles, 0, 0, "Ground", s.ground)...)
	return append(events, layer(datafile.LayerKindTiles, 0, 0, "Front", s.front)...)
}

// quad returns a quad by its corners in units, above left, above right, below left and below right, with the colour of each.
func quad(x0, y0, x1, y1, x2, y2, x3, y3 int32, colors ...datafile.Color) datafile.Quad {
	const unit, whole = 1 << 10, 1 << 10
	point := func(x, y int32) datafile.Point { return datafile.Point{X: x * unit, Y: y * unit} }
	return datafile.Quad{
		Points: []datafile.Point{point(x0, y0), point(x1, y1), point(x2, y2), point(x3, y3), point((x0+x3)/2, (y0+y3)/2)}, Colors: colors,
		Texture:          []datafile.Point{{}, {X: whole}, {Y: whole}, {X: whole, Y: whole}},
		PositionEnvelope: -1, ColorEnvelope: -1,
	}
}

// tileset returns the pixels of the image.
func tileset() []byte {
	pixels := make([]byte, 16*tileSide*16*tileSide*4)
	for index := 1; index < grassTiles+4; index++ {
		for y := range tileSide {
			for x := range tileSide {
				at := (index/16*tileSide+y)*16*tileSide + index%16*tileSide + x
				copy(pixels[at*4:], pixel(index, x, y))
			}
		}
	}
	return pixels
}

// pixel returns a pixel of a tile.
func pixel(index, x, y int) []byte {
	nothing := []byte{0, 0, 0, 0}
	switch {
	case index >= grassTiles:
		blade := 6 + (x/4*7+index*5)%9 // how high the grass is here
		if y < tileSide-blade || x%4 == 3 {
			return nothing
		}
		return []byte{byte(70 + x%4*14), byte(140 + (tileSide-y)*3), 70, 255}
	case index == flagTile, index == checkTile:
		light := (x/8+y/8)%2 == 0
		switch {
		case index == flagTile && (x < 13 || x > 18):
			return nothing
		case index == flagTile:
			return []byte{120, 235, 150, 170}
		case light:
			return []byte{245, 245, 245, 150}
		}
		return []byte{30, 30, 40, 150}
	case index == spikesTile:
		if point := (tileSide - y) / 4; x%8 < point/2 || 7-x%8 < point/2 {
			return nothing
		}
		return []byte{byte(200 - y*2), byte(205 - y*2), byte(215 - y*2), 255}
	case index == iceTile, index == thawTile:
		colour := []byte{40, 60, 110, 190}
		if index == thawTile {
			colour = []byte{150, 240, 160, 120}
		}
		if (x+2*y)%23 < 2 {
			colour[3] = 230
		}
		return colour
	case index >= metalTiles && index < metalTiles+16:
		return edged(index-metalTiles, x, y, shade(104, 112, 124, (x+y)%8/4*10), []byte{190, 200, 212, 255}, 2)
	case index >= groundTiles && index < groundTiles+16:
		speck := 0
		if (x*x+y*13+x*y*3)%17 < 2 {
			speck = 16
		}
		sides := index - groundTiles
		if ragged := 7 + (x/3*5)%4; sides&1 != 0 && y < ragged {
			return shade(84, 150, 66, (ragged-y)*5)
		}
		return edged(sides&^1, x, y, shade(112, 80, 56, speck), []byte{70, 48, 36, 255}, 3)
	}
	return nothing
}

// edged returns the colour of the edge for pixels near the sides with air, and the other one for the rest.
func edged(sides, x, y int, inside, edge []byte, wide int) []byte {
	if sides&1 != 0 && y < wide || sides&2 != 0 && y >= tileSide-wide || sides&4 != 0 && x < wide || sides&8 != 0 && x >= tileSide-wide {
		return edge
	}
	return inside
}

func shade(r, g, b, more int) []byte {
	return []byte{byte(r + more), byte(g + more), byte(b + more), 255}
}
