package physics

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// Layer is a layer of a map that has an effect on characters.
type Layer uint8

// The layers.
const (
	LayerGame Layer = iota
	LayerFront
	LayerTele
	LayerSpeedup
	LayerSwitch
	LayerTune
	layers
)

// Tile is one tile of a layer. Layers use the fields that they have.
type Tile struct {
	// Index is the tile's number, which says what it does.
	Index uint8
	// Flags turn and mirror a tile: 1 and 2 mirror it, 8 turns it.
	Flags uint8
	// Number is that of a teleporter, a switch or a zone of tuning.
	Number uint8
	// Delay is that of a switch.
	Delay uint8
	// Force, MaxSpeed and Angle, in degrees, are those of a speedup.
	Force    uint8
	MaxSpeed uint8
	Angle    int16
}

// MaxTiles is the number of tiles that a [Map] may have.
const MaxTiles = 1 << 24

// ErrMap means that a map has no tiles, or too many of them.
var ErrMap = errors.New("physics: unusable map")

// Map has the tiles of a map. It is made by [NewMap] and filled by Set. From then on it does not change, and any number of
// Worlds may share it.
type Map struct {
	width, height int
	game          []uint8
	others        [layers][]Tile // absent layers are nil; game's have more than an index
	odd           []bool         // where a tile is that does something when a character passes
	through       bool           // has tiles that let hooks through walls
	stops         bool           // has tiles that stop characters
	outs          map[out][]vec
	zones         map[uint8]*tuning
	spawns        map[vec]bool
	starts        []vec // the spawns, each with those beside it
	hearts        []vec // what lies about and freezes
	arms          [LayerFront + 1][]lying
	teleArms      bool   // has teleporters of what is shot
	shooters      []vec  // what shoots or pulls by itself
	threats       []bool // where that may reach, by sector; nil if there is none
	hinges        []int  // places of doors' ends
	open          [1 << 8]bool
	placed        sync.Once
	doors         []uint8 // numbers of the switches of doors, by place
}

// lying is what lies about and gives a weapon, or takes some.
type lying struct {
	at    vec
	place int
	takes bool
	what  []weapon
}

// lies has what lies about, by its tile.
var lies = map[uint8]lying{
	197: {takes: true, what: []weapon{shotgun, grenade, ninja, laser}},
	199: {what: []weapon{shotgun}},
	200: {what: []weapon{grenade}},
	201: {what: []weapon{ninja}},
	202: {what: []weapon{laser}},
	226: {takes: true, what: []weapon{shotgun}},
	227: {takes: true, what: []weapon{grenade}},
	228: {takes: true, what: []weapon{ninja}},
	229: {takes: true, what: []weapon{laser}},
}

// out is the kind and the number of places that teleporters lead to.
type out struct {
	tile   uint8
	number uint8
}

// NewMap returns a map of air. An unusable size gives an error that wraps [ErrMap].
func NewMap(width, height int) (*Map, error) {
	if width <= 0 || height <= 0 || width > MaxTiles/height {
		return nil, fmt.Errorf("%w: %d x %d tiles", ErrMap, width, height)
	}
	return &Map{
		width: width, height: height,
		game: make([]uint8, width*height), odd: make([]bool, width*height),
		outs: map[out][]vec{}, spawns: map[vec]bool{}, zones: map[uint8]*tuning{},
	}, nil
}

// Set places a tile. What is outside of the map is left out, and so is air. Tiles are set once each, row by row.
func (m *Map) Set(layer Layer, x, y int, tile Tile) {
	if layer >= layers || x < 0 || y < 0 || x >= m.width || y >= m.height || tile == (Tile{}) {
		return
	}
	place := y*m.width + x
	if layer == LayerGame {
		m.game[place] = tile.Index
	}
	if layer != LayerGame || tile.Flags != 0 {
		if m.others[layer] == nil {
			m.others[layer] = make([]Tile, m.width*m.height)
		}
		m.others[layer][place] = tile
	}
	m.odd[place] = m.odd[place] || acts(layer, tile)
	if layer == LayerGame || layer == LayerFront {
		switch tile.Index {
		case tileThrough, tileThroughCut, tileThroughAll, tileThroughDir:
			m.through = true
		case tileStop, tileStopBoth, tileStopAll:
			m.stops = true
			m.setBeside(place, tile)
		}
	}
	center := vec{float32(x*tileSize + tileSize/2), float32(y*tileSize + tileSize/2)}
	switch {
	case layer <= LayerFront && tile.Index >= tileSpawn && tile.Index <= tileSpawnLast:
		for _, d := range [...]vec{{}, {-tileSize, 0}, {0, -tileSize}, {tileSize, 0}, {0, tileSize}} {
			m.starts = append(m.starts, center.add(d))
			m.spawns[center.add(d)] = true
		}
	case layer <= LayerFront && tile.Index == tileHeart:
		m.hearts = append(m.hearts, center)
	case layer <= LayerFront && lies[tile.Index].what != nil:
		thing := lies[tile.Index]
		thing.at, thing.place = center, place
		m.arms[layer] = append(m.arms[layer], thing)
	case layer == LayerSwitch && tile.Index == tileDoor && tile.Number > 0:
		m.hinges = append(m.hinges, place)
	case tile.Index >= tileShort && tile.Index <= tileLong: // how long what is beside it is
	case (layer <= LayerFront || layer == LayerSwitch) && tile.Index > tileArmsLast:
		m.shooters = append(m.shooters, center)
	case layer == LayerTele && tile.Index == tileTeleInWeapon:
		m.teleArms = true
	case layer == LayerTele && (tile.Index == tileTeleOut || tile.Index == tileTeleCheckOut) && tile.Number > 0:
		o := out{tile.Index, tile.Number}
		m.outs[o] = append(m.outs[o], center)
	}
}

// Held returns about how much memory the map holds, in bytes.
func (m *Map) Held() int64 {
	held := 3 * len(m.game) // with doors
	for _, tiles := range m.others {
		held += len(tiles) * int(unsafe.Sizeof(Tile{}))
	}
	return int64(held)
}

// lying yields what lies about, in the order in which servers look at it: the last first, and of one place what is in the front layer.
func (m *Map) lying(yield func(*lying) bool) {
	game, front := m.arms[LayerGame], m.arms[LayerFront]
	for g, f := len(game)-1, len(front)-1; g >= 0 || f >= 0; {
		next := &game
		i := &g
		if g < 0 || f >= 0 && front[f].place >= game[g].place {
			next, i = &front, &f
		}
		if !yield(&(*next)[*i]) {
			return
		}
		*i--
	}
}

// setBeside marks what a stopper is beside as odd. One of one way counts only for where it keeps from coming in, and not when it is
// mirrored.
func (m *Map) setBeside(place int, tile Tile) {
	for _, beside := range [...]struct {
		by    int
		flags uint8
	}{{-1, turnLeft}, {1, turnRight}, {-m.width, 0}, {m.width, turnBack}} {
		near := place + beside.by
		if (tile.Index != tileStop || tile.Flags == beside.flags) && near >= 0 && near < len(m.odd) {
			m.odd[near] = true
		}
	}
}

// sectorSize is the side of the squares for which threats says something, in world units.
const sectorSize = 16 * tileSize

// sectors returns how many sectors there are in a row and in a column.
func (m *Map) sectors() (columns, rows int) {
	return m.width*tileSize/sectorSize + 1, m.height*tileSize/sectorSize + 1
}

// sector returns the sector of a place; places outside are at the map's border.
func (m *Map) sector(p vec) (x, y int) {
	columns, rows := m.sectors()
	return min(max(int(cut(p.x))/sectorSize, 0), columns-1), min(max(int(cut(p.y))/sectorSize, 0), rows-1)
}

// threatened reports whether something that is not calculated may shoot at a place, or pull who is there.
func (m *Map) threatened(p vec) bool {
	if m.threats == nil {
		return false
	}
	columns, _ := m.sectors()
	x, y := m.sector(p)
	return m.threats[y*columns+x]
}

// placeThreats finds where what shoots and pulls may reach.
func (m *Map) placeThreats() {
	if len(m.shooters) == 0 {
		return
	}
	columns, rows := m.sectors()
	from := make([]bool, columns*rows)
	for _, shooter := range m.shooters {
		x, y := m.sector(shooter)
		from[y*columns+x] = true
	}
	const reach = shooterReach/sectorSize + 1
	m.threats = make([]bool, columns*rows)
	for i, shoots := range from {
		for y := max(i/columns-reach, 0); shoots && y <= min(i/columns+reach, rows-1); y++ {
			for x := max(i%columns-reach, 0); x <= min(i%columns+reach, columns-1); x++ {
				m.threats[y*columns+x] = true
			}
		}
	}
}

// Tune sets a value of the tuning of a zone, as the map's command tune_zone does.
func (m *Map) Tune(zone uint8, name, value string) {
	if m.zones[zone] == nil {
		m.zones[zone] = &tuning{}
		m.zones[zone].reset()
	}
	m.zones[zone].command(name, value)
}

// acts reports whether a tile does something to who passes it, apart from being solid or deadly.
func acts(layer Layer, tile Tile) bool {
	switch layer {
	case LayerGame, LayerFront:
		return tile.Index >= tileFreeze && tile.Index < tileEntities
	case LayerTele:
		switch tile.Index {
		case tileTeleIn, tileTeleInEvil, tileTeleCheck, tileTeleCheckIn, tileTeleCheckInEvil:
			return true
		}
		return false
	case LayerSpeedup:
		return tile.Force > 0
	case LayerSwitch:
		return tile.Index > 0
	}
	return tile.Index > 0
}

// place returns the number of the tile at a place; places outside are at the map's border.
func (m *Map) place(x, y int32) int {
	column, row := int(x/tileSize), int(y/tileSize)
	return min(max(row, 0), m.height-1)*m.width + min(max(column, 0), m.width-1)
}

// at returns the number of the tile at a place, whose digits behind the point are dropped.
func (m *Map) at(p vec) int { return m.place(cut(p.x), cut(p.y)) }

// near returns the number of the tile at a place, which is rounded.
func (m *Map) near(p vec) int { return m.place(whole(p.x), whole(p.y)) }

func (m *Map) solid(x, y float32) bool {
	tile := m.game[m.place(whole(x), whole(y))]
	return tile == tileSolid || tile == tileNoHook
}

// tile returns a tile of a layer.
func (m *Map) tile(layer Layer, place int) Tile {
	if tiles := m.others[layer]; len(tiles) > 0 && (layer != LayerGame || tiles[place].Index != 0) {
		return tiles[place]
	}
	if layer == LayerGame {
		return Tile{Index: m.game[place]}
	}
	return Tile{}
}

// index returns the index of a tile of a layer.
func (m *Map) index(layer Layer, place int) uint8 {
	if layer == LayerGame {
		return m.game[place]
	}
	if tiles := m.others[layer]; tiles != nil {
		return tiles[place].Index
	}
	return 0
}

// outside reports whether a place is so far from the map that who is there dies.
func (m *Map) outside(p vec) bool {
	x, y := int(whole(p.x)/tileSize), int(whole(p.y)/tileSize)
	return x < -beyond || x > m.width+beyond || y < -beyond || y > m.height+beyond
}

const (
	tileSize = 32
	beyond   = 200 // tiles
)

// Tiles of the game layer and the front layer, and of the layer that the name says.
const (
	tileSolid              = 1
	tileDeath              = 2
	tileNoHook             = 3
	tileNoLaser            = 4
	tileThroughCut         = 5
	tileThrough            = 6
	tileSwitchJump         = 7
	tileSwitchAddTime      = 79
	tileSwitchSubtractTime = 95
	tileFreeze             = 9
	tileTeleInEvil         = 10
	tileUnfreeze           = 11
	tileDeep               = 12
	tileUndeep             = 13
	tileTeleInWeapon       = 14
	tileTeleInHook         = 15
	tileWallJump           = 16
	tileEndlessOn          = 17
	tileEndlessOff         = 18
	tileHitOn              = 19
	tileHitOff             = 20
	tileSoloOn             = 21
	tileSoloOff            = 22
	tileTeleIn             = 26
	tileTeleOut            = 27
	tileBoost              = 29
	tileTeleCheck          = 29
	tileTeleCheckOut       = 30
	tileTeleCheckIn        = 31
	tileRefillJumps        = 32
	tileStart              = 33
	tileFinish             = 34
	tileCheckpointFirst    = 35
	tileCheckpointLast     = 59
	tileStop               = 60
	tileStopBoth           = 61
	tileStopAll            = 62
	tileTeleCheckInEvil    = 63
	tileThroughAll         = 66
	tileThroughDir         = 67
	tileCollisionOff       = 88
	tileUnlimitedOff       = 89
	tileJetpackOff         = 90
	tileHookOff            = 91
	tileTeleGun            = 96
	tileTeleGrenade        = 112
	tileTeleLaser          = 128
	tileCollisionOn        = 104
	tileUnlimitedOn        = 105
	tileJetpackOn          = 106
	tileHookOn             = 107
	tileLive               = 144
	tileUnlive             = 145
	tileSpawn              = 192
	tileArmsLast           = 202
	tileTuneZone           = 68
	tileSwitchTimedOpen    = 22
	tileSwitchTimedClose   = 23
	tileSwitchOpen         = 24
	tileSwitchClose        = 25
	tileShort              = 210
	tileLong               = 212
	tileDoor               = 240
	tileHeart              = 198
	tileSpawnLast          = 194
	tileEntities           = 192
)
