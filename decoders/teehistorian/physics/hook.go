package physics

// hookHit is what a hook meets on its way.
type hookHit uint8

const (
	hookNothing hookHit = iota
	hookGround
	hookSlips
	hookTele
)

// hookWay returns what a hook meets first on the way between two places, where it then is, and the number of a teleporter.
func (w *World) hookWay(from, to vec) (hookHit, vec, uint8) {
	m := w.tiles
	end := cut(min(from.sub(to).length(), 1<<13) + 1)
	through := throughOffset(from, to)
	for i := range end + 1 {
		p := from.toward(to, float32(i)/float32(end))
		x, y := whole(p.x), whole(p.y)
		place := m.place(x, y)
		if number := m.hookTele(place); number != 0 {
			return hookTele, p, number
		}
		if tile := m.game[place]; tile == tileSolid || tile == tileNoHook {
			if m.passes(x, y, through, from, to) {
				continue
			}
			if tile == tileNoHook {
				return hookSlips, p, 0
			}
			return hookGround, p, 0
		}
		if m.through && m.blocks(place, from, to) {
			return hookSlips, p, 0
		}
	}
	return hookNothing, to, 0
}

func (m *Map) hookTele(place int) uint8 {
	if tiles := m.others[LayerTele]; len(tiles) > 0 && tiles[place].Index == tileTeleInHook {
		return tiles[place].Number
	}
	return 0
}

// throughOffset is the neighbour, towards the hook's origin, whose tile lets the hook through a wall.
func throughOffset(from, to vec) [2]int32 {
	x, y := from.x-to.x, from.y-to.y
	var o [2]int32
	if x*x > y*y {
		o[0] = tileSize
		if x < 0 {
			o[0] = -tileSize
		}
		return o
	}
	o[1] = tileSize
	if y < 0 {
		o[1] = -tileSize
	}
	return o
}

// passes reports whether a wall lets a hook through.
func (m *Map) passes(x, y int32, through [2]int32, from, to vec) bool {
	if !m.through {
		return false
	}
	place := m.place(x, y)
	switch tile := m.tile(LayerFront, place); tile.Index {
	case tileThroughAll, tileThroughCut:
		return true
	case tileThroughDir:
		if directed(tile.Flags, from, to) {
			return true
		}
	}
	next := m.place(x+through[0], y+through[1])
	return m.index(LayerGame, next) == tileThrough || m.index(LayerFront, next) == tileThrough
}

// blocks reports whether a tile that is no wall stops a hook.
func (m *Map) blocks(place int, from, to vec) bool {
	for _, layer := range [...]Layer{LayerGame, LayerFront} {
		switch tile := m.tile(layer, place); tile.Index {
		case tileThroughAll:
			return true
		case tileThroughDir:
			if directed(tile.Flags, to, from) {
				return true
			}
		}
	}
	return false
}

// directed reports whether a hook goes the way in which a directed tile lets it through. The other way it blocks.
func directed(flags uint8, from, to vec) bool {
	switch flags & turns {
	case 0:
		return from.y > to.y
	case turnRight:
		return from.x < to.x
	case turnBack:
		return from.y < to.y
	case turnLeft:
		return from.x > to.x
	}
	return false
}

// Flags of tiles: how far they are turned. The last one turns them upside down without turning them.
const (
	turns     = 1 | 2 | 8
	turnRight = 8
	turnBack  = 1 | 2
	turnLeft  = 1 | 2 | 8
	mirrored  = 2
)
