package dem

// MaxEntities is how many slots for entities there are.
const MaxEntities = maxEntities

// Entity is a look at the present state of an entity.
type Entity struct {
	Index  int
	Serial uint32
	Class  string
	// Active tells whether it is within the recorder's view.
	Active bool
	// Fields are all present fields, as in EntityCreated. Their bytes are valid until the next call of Next.
	Fields []FieldValue
}

// Entity returns the state of the entity in a slot. ok is false when there is none, or when its class is not decoded.
func (d *Decoder) Entity(index int) (e Entity, ok bool) {
	if uint(index) >= maxEntities || d.world.store.slots[index] == nil || !d.world.store.slots[index].decoded {
		return Entity{}, false
	}
	ent := d.world.store.slots[index]
	e = Entity{Index: index, Serial: ent.serial, Class: d.Name(ent.class.name), Active: ent.active}
	var floats []float32
	if ent.class.root != nil {
		fields, _ := ent.appendFields(nil, ent.class.root)
		for _, ch := range fields {
			f := FieldValue{Field: ch.node.name}
			fill(&f, &ch.cell, ent.data(&ch.cell), &floats)
			e.Fields = append(e.Fields, f)
		}
	}
	return e, true
}

// Present fills ev with an EntityEntered that tells the whole present state of the entity in a slot, for somebody who
// comes late: of all slots, it is what somebody knows who read all events before Position. ok is false when there is no
// entity, and when nobody asked for its class. It is no event of the demo: the position does not move.
func (d *Decoder) Present(index int, ev *Event) (ok bool) {
	if uint(index) >= maxEntities {
		return false
	}
	ent := d.world.store.slots[index]
	if ent == nil || !ent.decoded || !ent.class.wanted {
		return false
	}
	ev.AtTick = d.Tick()
	ok = d.world.tellWhole(ev, index, ent)
	ev.EntityEntered.OutOfView = !ent.active
	return ok
}

// tellWhole fills ev with an EntityEntered that tells the whole state of an entity. It returns false when the entity has
// fields, but no wanted one.
func (w *world) tellWhole(ev *Event, index int, ent *entity) bool {
	ev.Kind = KindEntityEntered
	fields := w.fillState(ev.EntityEntered.Fields, ent)
	ev.EntityEntered = EntityEntered{Index: uint32(index), Class: ent.class.name, Serial: ent.serial, Full: true, Fields: fields}
	return len(fields) > 0 || !w.narrowed
}

// Narrowed reports whether the last event, which is of an entity, has fewer fields than without Options.Fields.
func (d *Decoder) Narrowed() bool { return d.world.narrowed }

// fillState fills fields with the present and wanted fields of an entity.
func (w *world) fillState(fields []FieldValue, ent *entity) []FieldValue {
	w.merged, w.floats, w.narrowed = w.merged[:0], w.floats[:0], false
	if ent.class.root != nil {
		w.merged, w.narrowed = ent.appendFields(w.merged, ent.class.root)
	}
	fields = sized(fields, len(w.merged))
	for i := range w.merged {
		ch := &w.merged[i]
		fields[i].Field = ch.node.name
		fill(&fields[i], &ch.cell, ent.data(&ch.cell), &w.floats)
	}
	return fields
}
