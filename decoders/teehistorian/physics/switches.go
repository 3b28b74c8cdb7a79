package physics

import (
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/teehistorian"
)

// position is how a switch stands for a team. Doors and freezes with its number work while it is on.
type position struct {
	on    bool
	timed bool  // turns itself
	end   int32 // in this tick
}

// switcher is a switch of a team.
type switcher struct {
	position
	before  position // the tick
	touched bool     // in the tick
	waits   bool     // to turn itself
}

// switchers has the switches of a team by their numbers.
type switchers struct {
	known bool // what is below
	of    [1 << 8]switcher
}

// switchesOf returns the switches of a team, nil for a team that no server has.
func (w *World) switchesOf(team int32) *switchers {
	if team < 0 || team >= teehistorian.MaxClients {
		return nil
	}
	s := w.switches[team]
	if s == nil {
		s = &switchers{}
		s.reset(w.tiles)
		w.switches[team] = s
	}
	return s
}

// changeTeam puts a client into another team. For one that was empty, the server may have turned the switches back.
func (w *World) changeTeam(s *slot, team int32) {
	s.team = -1
	if sw := w.switches[team]; team != 0 && sw != nil && !slices.ContainsFunc(w.slots, func(o slot) bool { return o.team == team }) {
		sw.known = false
	}
	s.team = team
}

// reset turns all switches to how they are when a game begins.
func (s *switchers) reset(m *Map) {
	s.known = true
	for i := range s.of {
		s.of[i].position = position{on: !m.open[i]}
	}
}

// isOn reports whether a switch is on for a character.
func (w *World) isOn(t *tee, tile, number uint8) bool {
	s := w.switchesOf(t.team)
	if s == nil || !s.known {
		w.doubt(t, CauseTile, tile, false)
		return true
	}
	return s.of[number].on && !t.core.super
}

// turn turns a switch for a character's team, for some seconds or for good.
func (w *World) turn(t *tee, number uint8, to position) {
	s := w.switchesOf(t.team)
	if s == nil || number == 0 || w.alone {
		return
	}
	it := &s.of[number]
	if !it.touched {
		it.touched, it.before = true, it.position
		w.touched = append(w.touched, it)
	}
	it.position = to
}

// unturn turns switches back, so that a tick can be played again.
func (w *World) unturn() {
	for _, it := range w.touched {
		it.position, it.touched = it.before, false
	}
	w.touched = w.touched[:0]
}

// elapse ends a tick for the switches, and turns those whose time is over.
func (w *World) elapse() {
	for _, it := range w.touched {
		if it.touched = false; it.timed && !it.waits {
			it.waits = true
			w.waiting = append(w.waiting, it)
		}
	}
	w.touched = w.touched[:0]
	w.waiting = slices.DeleteFunc(w.waiting, func(it *switcher) bool {
		if it.timed && it.end <= w.tick {
			it.on, it.timed = !it.on, false
		}
		it.waits = it.timed
		return !it.waits
	})
}

// Open has a switch be off when a game begins, as the map's command switch_open does.
func (m *Map) Open(number uint8) { m.open[number] = true }

// placeDoors places the tiles of doors, which go from a tile of the layer of switches in each direction in which their length is.
func (m *Map) placeDoors() {
	for _, place := range m.hinges {
		if m.game[place] >= tileSolid && m.game[place] <= tileNoLaser {
			continue
		}
		x, y := place%m.width, place/m.width
		for i, d := range [...][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}} {
			if x+d[0] < 0 || x+d[0] >= m.width || y+d[1] < 0 || y+d[1] >= m.height {
				continue
			}
			length := m.index(LayerSwitch, place+d[1]*m.width+d[0])
			if length < tileShort || length > tileLong {
				continue
			}
			sin, cos := math.Sincos(float64(float32(math.Pi / 4 * float64(i))))
			m.placeDoor(place, vec{float32(sin), float32(cos)}, 3*tileSize*int(length-tileShort+1))
		}
	}
}

// placeDoor places the tiles of a door.
func (m *Map) placeDoor(place int, dir vec, length int) {
	from := vec{float32(place%m.width*tileSize + tileSize/2), float32(place/m.width*tileSize + tileSize/2)}
	for i := range length - 1 {
		at := from.add(dir.mul(float32(i)))
		if m.solid(at.x, at.y) {
			return
		}
		if m.doors == nil {
			m.doors = make([]uint8, len(m.game))
			m.stops = true
		}
		p := m.near(at)
		m.doors[p] = m.others[LayerSwitch][place].Number
		m.setBeside(p, Tile{Index: tileStopAll})
		m.odd[p] = true
	}
}
