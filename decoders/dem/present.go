package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// MaxEntities is the number of slots for entities.
const MaxEntities = entity.MaxEntities

// Entity is the present state of an entity.
type Entity struct {
	Index  int
	Serial uint32
	Class  string
	// Active reports whether the entity is within the recorder's view.
	Active bool
	// Fields are all present fields that Options select, as in EntityCreated. Their bytes are valid until the next call of Next.
	Fields []FieldValue
}

// Entity returns the state of the entity in a slot. ok is false when the slot is empty, or when the class is not decoded.
func (d *Decoder) Entity(index int) (e Entity, ok bool) {
	if uint(index) >= entity.MaxEntities || d.world.store.Slots[index] == nil || !d.world.store.Slots[index].Decoded {
		return Entity{}, false
	}
	ent := d.world.store.Slots[index]
	e = Entity{Index: index, Serial: ent.Serial, Class: d.Name(ent.Class.Name), Active: ent.Active}
	var floats []float32
	fields, _ := ent.AppendFields(nil, ent.Class)
	for _, ch := range fields {
		f := FieldValue{Field: ch.Node.Name}
		fill(&f, &ch.Cell, ent.Data(&ch.Cell), &floats)
		d.world.mark(&f, ch.Node, &ch.Cell)
		e.Fields = append(e.Fields, f)
	}
	var place FieldValue
	if ent.Class.PlaceWanted && d.world.fillPlace(&place, ent) {
		e.Fields = append(e.Fields, place)
	}
	return e, true
}

// Present fills ev with an EntityEntered that has the whole present state of the entity in a slot. The states of all slots
// are the sum of all events before Position, so a consumer can start with them. ok is false when the slot is empty, and when
// Options leave out the entity. Present delivers no event of the demo, so the position does not move.
func (d *Decoder) Present(index int, ev *Event) (ok bool) {
	if uint(index) >= entity.MaxEntities {
		return false
	}
	ent := d.world.store.Slots[index]
	if ent == nil || !ent.Decoded || !ent.Class.Wanted {
		return false
	}
	ev.AtTick = d.Tick()
	ok = d.world.fillEntered(ev, index, ent)
	ev.EntityEntered.OutOfView = !ent.Active
	return ok
}

// NextPresent returns the first slot at or after index with an entity that Options select, MaxEntities if there is none. Present and Sample
// have nothing of the slots before it.
func (d *Decoder) NextPresent(index int) int { return d.world.store.NextShown(index) }

// fillEntered fills ev with an EntityEntered that has the whole state of an entity. It returns false when the entity has
// fields, but no selected one.
func (w *world) fillEntered(ev *Event, index int, ent *entity.Entity) bool {
	ev.Kind = KindEntityEntered
	fields := w.fillState(ev.EntityEntered.Fields, ent)
	ev.EntityEntered = EntityEntered{Index: uint32(index), Class: ent.Class.Name, Serial: ent.Serial, Full: true, Fields: fields}
	return len(fields) > 0 || !w.narrowed
}

// Narrowed reports whether the last event, which is of an entity, has fewer fields than without Options.Fields.
func (d *Decoder) Narrowed() bool { return d.world.narrowed }

// fillState fills fields with the present fields of an entity that Options select.
func (w *world) fillState(fields []FieldValue, ent *entity.Entity) []FieldValue {
	w.floats = w.floats[:0]
	w.merged, w.narrowed = ent.AppendFields(w.merged[:0], ent.Class)
	w.narrowed = w.narrowed || ent.Narrowed
	n := len(w.merged)
	fields = sized(fields, n+1)
	for i := range w.merged {
		ch, f := &w.merged[i], &fields[i]
		f.Field = ch.Node.Name
		fill(f, &ch.Cell, ent.Data(&ch.Cell), &w.floats)
		if ch.Node.Marked || ch.Cell.Open || f.HasName || f.HasUnproven {
			w.mark(f, ch.Node, &ch.Cell)
		}
	}
	if w.fillPlace(&fields[n], ent) {
		if ent.Class.PlaceWanted {
			n++
		} else {
			w.narrowed = true
		}
	}
	return fields[:n]
}
