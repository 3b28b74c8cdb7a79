package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// createEntity reads the creation of an entity, or a repetition of the whole entity.
func (d *Decoder) createEntity(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	id := int(r.Bits(d.world.classBits))
	serial := uint32(r.Bits(entity.SerialBits))
	group := r.Varuint32()
	size := e.size()
	c := d.class(id)
	if r.Overrun() || size > r.Len() || c == nil {
		return d.refuseEntity(ev, c, size)
	}
	old := d.world.store.Slots[e.index]
	again := old != nil && old.Class == c && old.Serial == serial
	if old != nil && !again {
		// The slot has a new tenant.
		if d.deleteEntity(ev, e.index) {
			e.pending = pendingCreate{set: true, class: c, serial: serial, group: group, size: size}
			return true
		}
	}
	return d.fillEntity(ev, c, serial, group, size)
}

// refuseEntity gives up a creation that cannot be read, and the rest of the message if its end is not known.
func (d *Decoder) refuseEntity(ev *Event, c *entity.Class, size int) bool {
	e := &d.ents
	r := &e.bits
	err := errClass
	if size > r.Len() {
		err = errEntitySize
	}
	emit := false
	if c == nil && !r.Overrun() && d.world.store.Slots[e.index] != nil {
		// The slot's former entity is gone.
		emit = d.deleteEntity(ev, e.index)
	}
	if c == nil && size >= 0 && size <= r.Len() && !r.Overrun() {
		r.Skip(size)
		d.out.fault(Fault{Kind: FaultKindEntity, MessageId: svcPacketEntities, EntityIndex: uint32(e.index), BitsAnnounced: uint32(size), Detail: []byte(err.Error())})
		return emit
	}
	d.skipPacket(e.index, c, err)
	return emit
}

// pendingCreate is a creation in a slot from which another entity was just deleted, whose event comes first.
type pendingCreate struct {
	set           bool
	class         *entity.Class
	serial, group uint32
	size          int
}

// fillEntity reads the payload of a creation.
func (d *Decoder) fillEntity(ev *Event, c *entity.Class, serial, group uint32, size int) bool {
	e := &d.ents
	r := &e.bits
	ent := d.world.store.Slots[e.index]
	again := ent != nil
	if !again {
		ent = d.world.store.Create(e.index)
	}
	ent.Mention()
	ent.Class, ent.Serial, ent.Active = c, serial, true
	kind := KindEntityCreated
	if again {
		kind = KindEntityEntered
	}
	if c.Roster {
		d.match.roster.index, d.match.roster.met = e.index, true
	}
	if c.Rounds {
		d.match.rounds.slot = e.index
	}
	if c.Rules {
		d.match.draft.rules = e.index
	}
	if c.Ward {
		e.wards = append(e.wards, int32(e.index))
	}
	if c.Side > 0 {
		d.match.roster.sides[c.Side-1] = e.index
	}
	if c.Rules || c.Roster {
		d.world.watched = max(d.world.watched, e.index)
		d.match.clock.met = d.match.clock.met || c.Rules
	}
	emit := d.out.want(kind, slotAfter)
	if !c.Decoded && size >= 0 {
		r.Skip(size)
		ent.Decoded = false
		d.world.store.Show(e.index, false)
		d.stats.EntitySkips++
		return false
	}
	ent.Decoded, ent.Narrowed = true, false
	d.world.store.Show(e.index, c.Wanted)
	if !d.world.store.StartFrom(ent, d.startState(c)) {
		d.noRoom(c)
	}
	d.readUpdate(ent, c, size)
	if e.store {
		d.world.store.StoreOwn(e.index, 1-e.slot, ent)
	}
	if c.Rules {
		d.match.clock.update(d, ent)
	}
	if !emit || !c.Wanted {
		return false
	}
	// Fields that could not be read are missing, and a fault says so.
	if again {
		return d.world.fillEntered(ev, e.index, ent)
	}
	ev.Kind = kind
	fields := d.world.fillState(ev.EntityCreated.Fields, ent)
	ev.EntityCreated = EntityCreated{Index: uint32(e.index), Class: c.Name, Serial: serial, SpawnGroup: group, Fields: fields}
	return len(fields) > 0 || !d.world.narrowed
}
