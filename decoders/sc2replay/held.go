package sc2replay

import "unsafe"

// What an entry of units.byTag and one of units.latest take, with the room that maps leave.
const (
	tagHeld    = 128
	latestHeld = 24
)

// upgradeHeld is what the place of an upgrade in its player's index takes, and its name beside its bytes.
const upgradeHeld = 64

// Held is how much memory the decoder holds of what grows with the file, in bytes: the event streams, unpacked, and the units
// that it knows. It is cheap to ask.
func (d *Decoder) Held() int64 {
	n := 0
	for _, data := range d.rep.salvaged {
		n += cap(data)
	}
	if d.source != nil {
		n += cap(d.source.game.data) + cap(d.source.message.data) + cap(d.source.tracker.data)
	}
	n += tagHeld*len(d.units.byTag) + latestHeld*len(d.units.latest)
	return int64(n)
}

// Held is how much memory the state holds, in bytes.
func (s *State) Held() int64 {
	n := cap(s.units) * int(unsafe.Sizeof(UnitState{}))
	for _, p := range s.players {
		if p != nil {
			n += int(unsafe.Sizeof(*p)) + cap(p.Upgrades)*(int(unsafe.Sizeof(Upgrade{}))+upgradeHeld) + p.names
		}
	}
	return int64(n)
}
