package dem

import (
	"errors"

	"github.com/replayd/replayd/decoders/bits"
)

// updateEntity reads an update of an entity.
func (d *Decoder) updateEntity(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	ent := d.world.store.slots[e.index]
	entered := false
	if e.visual {
		var left, only bool
		if entered, left, only = readVisibility(r, ent); only {
			return d.tellVisibility(ev, ent, entered, left)
		}
	}
	size := e.size()
	if size > r.Len() {
		d.lose(e.index, nil, errEntitySize)
		return false
	}
	kind := KindEntityUpdated
	if entered {
		kind = KindEntityEntered
	}
	told := d.out.want(kind, slotAfter)
	if ent == nil {
		d.stats.EntityUnknown++
		if size < 0 {
			d.lose(e.index, nil, errUnknown)
			return false
		}
		r.Skip(size)
		return false
	}
	ent.seen = true
	c := ent.class
	if !ent.decoded && size >= 0 {
		r.Skip(size)
		d.stats.EntitySkips++
		return false
	}
	read := d.readUpdate(ent, c, size)
	if c.rules {
		d.match.clock.update(d, ent)
	}
	if !told || !c.wanted {
		return false
	}
	if kind == KindEntityEntered {
		// It did, even when its news could not be read.
		fields := d.world.fillChanges(ev.EntityEntered.Fields)
		ev.Kind = kind
		ev.EntityEntered = EntityEntered{Index: uint32(e.index), Class: c.name, Serial: ent.serial, Fields: fields}
		return len(fields) > 0 || !d.world.narrowed
	}
	if !read {
		return false
	}
	out := &ev.EntityUpdated
	out.Fields = d.world.fillChanges(out.Fields)
	out.Index, out.Class, out.Serial = uint32(e.index), c.name, ent.serial
	ev.Kind = kind
	return len(out.Fields) > 0 || !d.world.narrowed
}

// readVisibility reads whether an entity is within the recorder's view, and tells whether it entered or left it. only
// says that no other news of the entity follow.
func readVisibility(r *bits.Reader, ent *entity) (entered, left, only bool) {
	p := r.Bits(2)
	if ent != nil {
		active := p&2 != 0
		entered, left = active && !ent.active, !active && ent.active
		ent.active, ent.seen = active, true
	}
	return entered, left, p&1 != 0
}

// tellVisibility delivers that an entity left or entered the recorder's view without other news.
func (d *Decoder) tellVisibility(ev *Event, ent *entity, entered, left bool) bool {
	if ent == nil {
		return false
	}
	kind := KindEntityLeft
	if entered {
		kind = KindEntityEntered
	}
	if told := d.out.want(kind, slotAfter); !told || !entered && !left || !ent.class.wanted {
		return false
	}
	d.world.narrowed = false
	ev.Kind = kind
	if entered {
		ev.EntityEntered = EntityEntered{Index: uint32(d.ents.index), Class: ent.class.name, Serial: ent.serial, Fields: ev.EntityEntered.Fields[:0]}
		return true
	}
	ev.EntityLeft = EntityLeft{Index: uint32(d.ents.index), Class: ent.class.name, Serial: ent.serial}
	return true
}

// readUpdate reads an update of an entity and applies it. size is its announced size, or -1. What was applied is in
// d.world.update.changes then: nothing, when nothing of the update is of use. It returns whether something was.
func (d *Decoder) readUpdate(ent *entity, c *class, size int) bool {
	e := &d.ents
	r := &e.bits
	u := &d.world.update
	start := r.Pos()
	d.stats.EntityUpdates++
	u.room = d.world.store.room()
	var err error
	if size >= 0 {
		err = u.readSized(r, c, &ent.state, size, 0)
	} else {
		err = u.read(r, c, &ent.state)
	}
	used := r.Pos() - start
	switch {
	case err == nil:
		return d.applyUpdate(ent)
	case size < 0:
		// Where the next one starts is not known.
		u.changes = u.changes[:0]
		d.lose(e.index, c, err)
		d.world.store.count(ent)
		return false
	}
	r.Seek(start + size)
	if errors.Is(err, errState) {
		u.changes, u.lost = u.changes[:0], u.lost[:0]
		d.noRoom(c)
		d.world.store.count(ent)
		return false
	}
	d.stats.EntityMismatches++
	f := Fault{Kind: FaultKindEntity, MessageId: svcPacketEntities, EntityIndex: uint32(e.index), Class: c.name, HasClass: true,
		BitsAnnounced: uint32(size), BitsRead: uint32(used), Detail: []byte(err.Error())}
	blame(&f, u.suspect())
	d.out.fault(f)
	return d.applyUpdate(ent) && len(u.changes)+len(u.lost) > 0
}

// applyUpdate applies the changes of the update to an entity. It drops them and returns false when there is no room.
func (d *Decoder) applyUpdate(ent *entity) bool {
	u := &d.world.update
	fits := u.fits(ent.class, &ent.state)
	if !fits {
		u.changes = u.changes[:0]
		d.noRoom(ent.class)
	}
	d.countFields(u)
	u.apply(ent.class, &ent.state)
	d.world.store.count(ent)
	return fits
}

// countFields counts what an update tells.
func (d *Decoder) countFields(u *updateReader) {
	d.stats.Fields += int64(len(u.changes) + len(u.lost))
	d.stats.FieldsLost += int64(len(u.lost))
}

// blame names, in the fault of an update, the field that is most likely why it could not be read right. n is nil when there
// is none.
func blame(f *Fault, n *node) {
	if n == nil {
		return
	}
	f.Field, f.HasField = n.name, true
	f.Detail = append(f.Detail, ": nobody knows the type "...)
	f.Detail = append(f.Detail, n.guess.name...)
}

// fillChanges fills fields with the wanted changes of the update, and behind them, without a value, with the wanted fields
// that changed to what could not be read.
func (w *world) fillChanges(fields []FieldValue) []FieldValue {
	u := &w.update
	w.floats = w.floats[:0]
	all := len(u.changes) + len(u.lost)
	fields = sized(fields, all)
	n := 0
	for i := range u.changes {
		ch := &u.changes[i]
		if !ch.node.wanted {
			continue
		}
		fields[n].Field = ch.node.name
		fill(&fields[n], &ch.cell, u.data(&ch.cell), &w.floats)
		n++
	}
	for _, lost := range u.lost {
		if lost.wanted {
			fields[n].Field, fields[n].ValueCase = lost.name, FieldValueValueNone
			n++
		}
	}
	w.narrowed = n < all
	return fields[:n]
}

// sized returns fields with length n, reusing its memory.
func sized(fields []FieldValue, n int) []FieldValue {
	if cap(fields) >= n {
		return fields[:n]
	}
	return append(fields[:cap(fields)], make([]FieldValue, n-cap(fields))...)
}
