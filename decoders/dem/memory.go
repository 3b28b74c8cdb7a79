package dem

// maxState bounds the states of all entities together, in bytes. The largest games use a fifth of it.
const maxState = 64 << 20

// startFrom gives an entity the state that its creation changes, or none when there is no room.
func (d *Decoder) startFrom(ent *entity, from *state) {
	need := from.size()
	if d.held+need > maxState {
		d.held -= ent.held
		ent.state, ent.held = state{}, 0
	}
	if need > 0 && d.held+need > maxState {
		d.noRoom(ent.class)
		return
	}
	ent.copyFrom(from)
	d.count(ent)
}

// count notes how much memory the state of an entity takes now.
func (d *Decoder) count(ent *entity) {
	if size := ent.size(); size != ent.held {
		d.held += size - ent.held
		ent.held = size
	}
}

// noRoom reports that the states of all entities together became too large.
func (d *Decoder) noRoom(c *class) {
	d.fault(Fault{Kind: FaultKindLimit, MessageId: svcPacketEntities, EntityIndex: uint32(d.ents.index), Class: c.name, HasClass: true,
		Detail: []byte(errState.Error())})
}

// Memory of entities that are no more is used again, up to so many of them that are no larger than that.
const (
	maxSpare      = 1 << 10
	maxSpareCells = 1 << 10
	maxSpareBytes = 32 << 10
)

func (d *Decoder) newEntity() *entity {
	if n := len(d.free); n > 0 {
		e := d.free[n-1]
		d.free = d.free[:n-1]
		return e
	}
	return &entity{}
}

// release forgets an entity.
func (d *Decoder) release(index int) {
	old := d.entities[index]
	d.entities[index] = nil
	d.held -= old.held
	small := cap(old.cells) <= maxSpareCells && old.size() <= maxSpareBytes
	old.held = 0
	old.reset()
	old.class = nil
	if small && len(d.free) < maxSpare {
		d.free = append(d.free, old)
	}
}
