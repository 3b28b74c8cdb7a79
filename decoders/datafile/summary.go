package datafile

// summary counts the tiles of a layer by type, and keeps their bounds.
type summary struct {
	stride, at int // bytes per tile, and the position of the type in them
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

// TypeByte returns the position, in each of the layer's tiles, of the byte that [TileName] takes.
func (l *TileLayer) TypeByte() int { return typeByte(l.Kind, l.BytesPerTile) }

// typeByte returns 0 for layers of ordinary tiles, whose index comes first. Layers of a physics kind with their own
// struct have it elsewhere.
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

// include counts the tiles of row y from column x up to, but not including, column end. Rows come in order.
func (c *TileCount) include(x, end, y int32) {
	if c.Count == 0 {
		c.MinX, c.MinY, c.MaxX = x, y, x
	}
	c.Count += end - x
	c.MinX, c.MaxX, c.MaxY = min(c.MinX, x), max(c.MaxX, end-1), y
}

// counts returns the counts of the tiles that occur. It appends their names to texts.
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
