package dem

import (
	"errors"
	"math"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/value"
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
	if !ent.Decoded && size >= 0 {
		r.Skip(size)
		d.stats.EntitySkips++
		return false
	}
	return d.updateAny(ev, ent, size, entered)
}

// updateAny reads an update of an entity. size is its announced size, or -1.
func (d *Decoder) updateAny(ev *Event, ent *entity.Entity, size int, entered bool) bool {
	c, w := ent.Class, &d.world
	kind := KindEntityUpdated
	if entered {
		kind = KindEntityEntered
	}
	emit := d.out.want(kind, slotAfter) && c.Wanted
	read := d.readUpdate(ent, c, size)
	if c.Rules {
		d.match.clock.update(d, ent)
	}
	switch {
	case emit && entered: // even if its update could not be read
		fields := w.fillChanges(ev.EntityEntered.Fields, ent)
		ev.Kind = kind
		ev.EntityEntered = EntityEntered{Index: uint32(d.ents.index), Class: c.Name, Serial: ent.Serial, Fields: fields}
		return len(fields) > 0 || !w.narrowed
	case emit && read:
		ev.EntityUpdated.Fields = w.fillChanges(ev.EntityUpdated.Fields, ent)
		return d.updated(ev, ent, len(ev.EntityUpdated.Fields))
	}
	return false
}

// updated completes ev to an EntityUpdated with the first n of its fields. It returns false when fields changed, but no selected one.
func (d *Decoder) updated(ev *Event, ent *entity.Entity, n int) bool {
	out := &ev.EntityUpdated
	out.Index, out.Class, out.Serial = uint32(d.ents.index), ent.Class.Name, ent.Serial
	out.Fields = out.Fields[:n] // writes no pointer, which would take as long as reading a value while garbage is marked
	ev.Kind = KindEntityUpdated
	return n > 0 || !d.world.narrowed
}

// updateSized reads an update of announced size, of a decoded entity that stays in or out of view. It does what updateAny does, but reads,
// applies and delivers each value at once if the paths are known and the values lie in cells, as nearly always. An update that does not end
// where it should is read again, which gives each of its fields another value, or none.
func (d *Decoder) updateSized(ev *Event, ent *entity.Entity, size int) bool {
	c, w, r := ent.Class, &d.world, &d.ents.bits
	if !d.out.want(KindEntityUpdated, slotAfter) || !c.Wanted {
		return d.updateAny(ev, ent, size, false)
	}
	l := w.update.Known(r, c)
	if l != nil && c.Narrow && !l.Wanted {
		r.Skip(size)
		ent.Narrowed = true
		d.stats.EntitySkips++
		return false
	}
	if l == nil || !l.Plain(&ent.State) {
		return d.updateAny(ev, ent, size, false)
	}
	start, all := r.Pos(), len(l.Nodes)
	r.Skip(int(l.Size))
	if cap(ev.EntityUpdated.Fields) <= all {
		ev.EntityUpdated.Fields = sized(ev.EntityUpdated.Fields, all+1)
	}
	fields := ev.EntityUpdated.Fields[:all+1]
	n, moved, gone := 0, false, false
	for _, node := range l.Nodes {
		cell, f := &ent.Cells[node.Cell], &fields[n]
		f.Field = node.Name
		switch codec := &node.Codec; codec.Op {
		case value.OpFloat: // seven of ten values
			v := codec.ReadFloat(r, w.update.Tick)
			*cell = value.Cell{Word: uint64(math.Float32bits(v)), Kind: value.Float}
			f.ValueCase, f.Float = FieldValueValueFloat, v
		case value.OpInt32:
			v := int64(r.Varint32())
			*cell = value.Cell{Word: uint64(v), Kind: value.Int}
			f.ValueCase, f.Int = FieldValueValueInt, v
		default:
			*cell = codec.Read(r, nil, w.update.Tick)
			fill(f, cell, nil, nil)
		}
		moved, gone = moved || node.Body, gone || node.Parent
		if !c.Wants(node) {
			continue
		}
		if node.Marked || f.HasName || f.HasUnproven {
			w.mark(f, node, cell)
		}
		n++
	}
	if r.Pos() != start+size || r.Overrun() {
		r.Seek(start)
		return d.updateAny(ev, ent, size, false)
	}
	d.stats.EntityUpdates++
	d.stats.Fields += int64(all)
	if c.Rules {
		d.match.clock.update(d, ent)
	}
	return d.updated(ev, ent, w.withPlace(&fields[n], n, all, ent, moved, gone))
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
// without a value, and then with the entity's place, if that changed.
func (w *world) fillChanges(fields []FieldValue, ent *entity.Entity) []FieldValue {
	u := &w.update
	w.floats = w.floats[:0]
	all := len(u.Changes) + len(u.Lost)
	fields = sized(fields, all+1)
	n, moved, gone := 0, false, false
	for i := range u.Changes {
		ch := &u.Changes[i]
		moved, gone = moved || ch.Node.Body, gone || ch.Node.Parent
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
		moved, gone = moved || lost.Body, gone || lost.Body
		if ent.Class.Wants(lost) {
			fields[n] = FieldValue{Field: lost.Name}
			n++
		}
	}
	return fields[:w.withPlace(&fields[n], n, all, ent, moved, gone)]
}

// withPlace fills f with the entity's place if an update of all fields, of which n are wanted, moved it, and returns how many fields there are
// with the place. gone says that the update attached the entity to another one, or that a part of its place could not be read. A place that
// was and is unknown is not told.
func (w *world) withPlace(f *FieldValue, n, all int, ent *entity.Entity, moved, gone bool) int {
	// If nobody wants the place, it counts only as a field that is left out, and only if no others are.
	if moved && (ent.Class.PlaceWanted || n == all) && (w.fillPlace(f, ent) || gone && w.meanings.game.cellWidth() != 0) {
		all++
		if ent.Class.PlaceWanted {
			n++
		}
	}
	w.narrowed = n < all
	return n
}

// sized returns fields with length n, reusing its memory.
func sized(fields []FieldValue, n int) []FieldValue {
	if cap(fields) >= n {
		return fields[:n]
	}
	return append(fields[:cap(fields)], make([]FieldValue, n-cap(fields))...)
}
