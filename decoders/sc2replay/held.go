package sc2replay

import "unsafe"

// tagHeld is an estimate of the memory of an entry in units.others, with the spare room of maps.
const tagHeld = 24

// upgradeHeld is an estimate of the memory of an upgrade's entry in its player's index, and of its name's header.
const upgradeHeld = 64

// Held returns the memory that the decoder holds and that grows with the file, in bytes: the unpacked event streams and
// the units. It is cheap to call.
func (d *Decoder) Held() int64 {
	n := 0
	for _, data := range d.rep.salvaged {
		n += cap(data)
	}
	if d.source != nil {
		n += cap(d.source.game.data) + cap(d.source.message.data) + cap(d.source.tracker.data)
	}
	n += tagHeld*len(d.units.others) + cap(d.units.all)*int(unsafe.Sizeof(unit{})) + 4*cap(d.units.newest)
	return int64(n)
}

// Held returns the memory that the state holds, in bytes.
func (s *State) Held() int64 {
	n := cap(s.units) * int(unsafe.Sizeof(UnitState{}))
	for _, p := range s.players {
		if p != nil {
			n += int(unsafe.Sizeof(*p)) + cap(p.Upgrades)*(int(unsafe.Sizeof(Upgrade{}))+upgradeHeld) + p.names
		}
	}
	return int64(n)
}
