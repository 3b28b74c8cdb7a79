package datafile

// summary counts the tiles of a layer, and where they are.
type summary struct {
	stride, at int // bytes of a tile, and which of them says what it is
	tiles      [256]TileCount
	list       []TileCount
}

func (s *summary) reset(l *layout) {
	s.stride, s.at = int(l.stride), typeByte(l.tiles, l.stride)
	if l.warned&(1<<WarningMissingPhysicsData) != 0 {
		s.at = 0
	}
	for i := range s.tiles {
		s.tiles[i] = TileCount{}
	}
}

// TypeByte returns which byte of each of the layer's tiles says what the tile is, as [TileName] takes it.
func (l *TileLayer) TypeByte() int { return typeByte(l.Kind, l.BytesPerTile) }

// typeByte distinguishes layers that keep their kind's own structs from those that were written as ordinary tiles, whose index
// comes first.
func typeByte(kind LayerKind, stride int32) int {
	for _, p := range physics {
		if p.kind == kind && p.stride == stride {
			return p.typeAt
		}
	}
	return 0
}

// add counts the tiles of a rectangle, run by run.
func (s *summary) add(r rectangle, data []byte) {
	for y := r.y; y < r.y+r.rows; y++ {
		row := data[:r.columns*s.stride]
		data = data[len(row):]
		for x, i := r.x, s.at; i < len(row); {
			tile, start := row[i], x
			for i < len(row) && row[i] == tile {
				x, i = x+1, i+s.stride
			}
			if tile != AirTile {
				s.tiles[tile].include(int32(start), int32(x), int32(y))
			}
		}
	}
}

// include counts the tiles from column x to before column end of row y. Rows come in order.
func (c *TileCount) include(x, end, y int32) {
	if c.Count == 0 {
		c.MinX, c.MinY, c.MaxX = x, y, x
	}
	c.Count += end - x
	c.MinX, c.MaxX, c.MaxY = min(c.MinX, x), max(c.MaxX, end-1), y
}

// counts returns the tiles that there are. The names are appended to texts.
func (s *summary) counts(kind LayerKind, texts *[]byte) []TileCount {
	s.list = s.list[:0]
	for i, c := range s.tiles {
		if c.Count == 0 {
			continue
		}
		c.Tile = int32(i)
		start := len(*texts)
		*texts = append(*texts, TileName(kind, byte(i))...)
		c.Name = (*texts)[start:]
		s.list = append(s.list, c)
	}
	return s.list
}
