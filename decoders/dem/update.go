package dem

import (
	"errors"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// updateEntity reads an update of an entity.
func (d *Decoder) updateEntity(ev *Event) bool {
	e := &d.ents
	r := &e.bits
	ent := d.world.store.Slots[e.index]
	entered := false
	if e.visual {
		var left, only bool
		if entered, left, only = readVisibility(r, ent); only {
			return d.emitVisibility(ev, ent, entered, left)
		}
	}
	size := e.size()
	if size > r.Len() {
		d.skipPacket(e.index, nil, errEntitySize)
		return false
	}
	kind := KindEntityUpdated
	if entered {
		kind = KindEntityEntered
	}
	emit := d.out.want(kind, slotAfter)
	if ent == nil {
		d.stats.EntityUnknown++
		if size < 0 {
			d.skipPacket(e.index, nil, errUnknown)
			return false
		}
		r.Skip(size)
		return false
	}
	ent.Mention()
	c := ent.Class
	if !ent.Decoded && size >= 0 {
		r.Skip(size)
		d.stats.EntitySkips++
		return false
	}
	read := d.readUpdate(ent, c, size)
	if c.Rules {
		d.match.clock.update(d, ent)
	}
	if !emit || !c.Wanted {
		return false
	}
	if kind == KindEntityEntered {
		// The entity entered the view, even if its update could not be read.
		fields := d.world.fillChanges(ev.EntityEntered.Fields, ent, false)
		ev.Kind = kind
		ev.EntityEntered = EntityEntered{Index: uint32(e.index), Class: c.Name, Serial: ent.Serial, Fields: fields}
		return len(fields) > 0 || !d.world.narrowed
	}
	if !read {
		return false
	}
	out := &ev.EntityUpdated
	out.Fields = d.world.fillChanges(out.Fields, ent, false)
	out.Index, out.Class, out.Serial = uint32(e.index), c.Name, ent.Serial
	ev.Kind = kind
	return len(out.Fields) > 0 || !d.world.narrowed
}

// updateSized reads an update of announced size, of a decoded entity that stays in or out of view.
func (d *Decoder) updateSized(ev *Event, ent *entity.Entity, size int) bool {
	c := ent.Class
	if !d.out.want(KindEntityUpdated, slotAfter) || !c.Wanted {
		d.readUpdate(ent, c, size)
		if c.Rules {
			d.match.clock.update(d, ent)
		}
		return false
	}
	u := &d.world.update
	if c.Narrow && u.Unwanted(&d.ents.bits, c) {
		d.ents.bits.Skip(size)
		ent.Narrowed = true
		d.stats.EntitySkips++
		return false
	}
	out := &ev.EntityUpdated
	start, read := d.ents.bits.Pos(), true
	d.stats.EntityUpdates++
	u.Room = d.world.store.Room()
	err := u.ReadSized(&d.ents.bits, c, &ent.State, size, 0)
	if err == nil && u.Fits(c, &ent.State) {
		d.countFields(u)
		out.Fields = d.world.fillChanges(out.Fields, ent, true)
		d.world.store.Count(ent)
	} else if read = d.finishUpdate(ent, c, start, size, err); read {
		out.Fields = d.world.fillChanges(out.Fields, ent, false)
	}
	if c.Rules {
		d.match.clock.update(d, ent)
	}
	if !read {
		return false
	}
	out.Index, out.Class, out.Serial = uint32(d.ents.index), c.Name, ent.Serial
	ev.Kind = KindEntityUpdated
	return len(out.Fields) > 0 || !d.world.narrowed
}

// readVisibility reads whether an entity is within the recorder's view, and reports whether it entered or left. only says that no
// update of the entity follows.
func readVisibility(r *bits.Reader, ent *entity.Entity) (entered, left, only bool) {
	p := r.Bits(2)
	if ent != nil {
		active := p&2 != 0
		entered, left = active && !ent.Active, !active && ent.Active
		ent.Mention()
		ent.Active = active
	}
	return entered, left, p&1 != 0
}

// emitVisibility delivers that an entity left or entered the recorder's view without an update.
func (d *Decoder) emitVisibility(ev *Event, ent *entity.Entity, entered, left bool) bool {
	if ent == nil {
		return false
	}
	kind := KindEntityLeft
	if entered {
		kind = KindEntityEntered
	}
	if emit := d.out.want(kind, slotAfter); !emit || !entered && !left || !ent.Class.Wanted {
		return false
	}
	d.world.narrowed = false
	ev.Kind = kind
	if entered {
		ev.EntityEntered = EntityEntered{Index: uint32(d.ents.index), Class: ent.Class.Name, Serial: ent.Serial, Fields: ev.EntityEntered.Fields[:0]}
		return true
	}
	ev.EntityLeft = EntityLeft{Index: uint32(d.ents.index), Class: ent.Class.Name, Serial: ent.Serial}
	return true
}

// readUpdate reads an update of an entity and applies it. size is its announced size, or -1. Afterwards d.world.update.Changes
// has the applied changes: none, if nothing of the update is of use. It returns whether there were any.
func (d *Decoder) readUpdate(ent *entity.Entity, c *entity.Class, size int) bool {
	e := &d.ents
	r := &e.bits
	u := &d.world.update
	start := r.Pos()
	d.stats.EntityUpdates++
	u.Room = d.world.store.Room()
	var err error
	if size >= 0 {
		err = u.ReadSized(r, c, &ent.State, size, 0)
	} else {
		err = u.ReadUnsized(r, c, &ent.State)
	}
	return d.finishUpdate(ent, c, start, size, err)
}

// finishUpdate applies an update that was read from start on, with the error err. It is otherwise like readUpdate.
func (d *Decoder) finishUpdate(ent *entity.Entity, c *entity.Class, start, size int, err error) bool {
	e := &d.ents
	r := &e.bits
	u := &d.world.update
	used := r.Pos() - start
	switch {
	case err == nil:
		return d.applyUpdate(ent)
	case size < 0:
		// The start of the next update is unknown.
		u.Changes = u.Changes[:0]
		d.skipPacket(e.index, c, err)
		d.world.store.Count(ent)
		return false
	}
	r.Seek(start + size)
	if errors.Is(err, entity.ErrNoRoom) {
		u.Changes, u.Lost = u.Changes[:0], u.Lost[:0]
		d.noRoom(c)
		d.world.store.Count(ent)
		return false
	}
	d.stats.EntityMismatches++
	f := Fault{Kind: FaultKindEntity, MessageId: svcPacketEntities, EntityIndex: uint32(e.index), Class: c.Name, HasClass: true,
		BitsAnnounced: uint32(size), BitsRead: uint32(used), Detail: []byte(err.Error())}
	d.blame(&f, u.Suspect())
	d.out.fault(f)
	return d.applyUpdate(ent) && len(u.Changes)+len(u.Lost) > 0
}

// applyUpdate applies the changes of the update to an entity. It drops them and returns false when there is no room.
func (d *Decoder) applyUpdate(ent *entity.Entity) bool {
	u := &d.world.update
	fits := u.Fits(ent.Class, &ent.State)
	if !fits {
		u.Changes = u.Changes[:0]
		d.noRoom(ent.Class)
	}
	d.countFields(u)
	u.Apply(ent.Class, &ent.State)
	d.world.store.Count(ent)
	return fits
}

// countFields counts the fields of an update.
func (d *Decoder) countFields(u *entity.Update) {
	d.stats.Fields += int64(len(u.Changes) + len(u.Lost))
	d.stats.FieldsLost += int64(len(u.Lost))
}

// blame names, in the fault of an update, the field that most likely caused it. n is nil when there is none.
func (d *Decoder) blame(f *Fault, n *entity.Node) {
	if n == nil {
		return
	}
	f.Field, f.HasField = n.Name, true
	g := d.world.tree.Types.At(n.Guess)
	what := ": unknown type "
	if g.Encoder {
		what = ": unknown encoder "
	}
	f.Detail = append(append(f.Detail, what...), g.Name...)
}

// fillChanges fills fields with the wanted changes of the update, then with the wanted fields that changed to unreadable values,
// without a value, and then with the entity's place, if that changed. With apply, it also applies each change, so that each is
// visited once.
func (w *world) fillChanges(fields []FieldValue, ent *entity.Entity, apply bool) []FieldValue {
	u := &w.update
	w.floats = w.floats[:0]
	all := len(u.Changes) + len(u.Lost)
	fields = sized(fields, all+1)
	n := 0
	moved := false
	for i := range u.Changes {
		ch := &u.Changes[i]
		if apply && !ent.Set(ch) {
			u.SetAny(ent.Class, &ent.State, ch)
		}
		moved = moved || ch.Node.Body
		if !ent.Class.Wants(ch.Node) {
			continue
		}
		f := &fields[n]
		f.Field = ch.Node.Name
		fill(f, &ch.Cell, u.Data(&ch.Cell), &w.floats)
		if ch.Node.Marked || ch.Cell.Open || f.HasName || f.HasUnproven {
			w.mark(f, ch.Node, &ch.Cell)
		}
		n++
	}
	for _, lost := range u.Lost {
		moved = moved || lost.Body
		if ent.Class.Wants(lost) {
			fields[n] = FieldValue{Field: lost.Name}
			n++
		}
	}
	// If nobody wants the place, it counts only as a field that is left out, and only if no others are.
	if moved && (ent.Class.PlaceWanted || n == all) && w.changesPlace(&fields[n], ent, u) {
		all++
		if ent.Class.PlaceWanted {
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
