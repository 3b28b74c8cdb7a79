package datafile

// segments counts the places for events of a record, in this order: the record's own event or its pieces, the pieces of
// its data, the events that follow the data, the rest of the blob, and the events that are derived from the data.
type segments struct {
	own, body, tail, rest, derived int64
}

func (s segments) total() int64 { return s.own + s.body + s.tail + s.rest + s.derived }

// prepare counts the places of the current record.
func (d *Decoder) prepare() {
	f := d.file
	d.ready = true
	d.plan = segments{own: 1}
	switch {
	case d.record <= f.NumTypes():
		return
	case d.record == d.records()-1:
		d.plan = segments{rest: f.looseChunks()}
		return
	}
	i := d.itemIndex()
	l := f.layoutOf(i)
	d.item = l
	size := int64(len(f.Item(i).Data))
	switch l.kind {
	case KindRawItem:
		d.plan.own = looseChunks(size)
	case KindEnvelopePoints:
		d.plan.own = chunks(size/4/int64(f.plan.pointInts), pointsPerEvent)
	case KindEnvelopeBeziers:
		if i != f.plan.beziers {
			d.plan.body = looseChunks(size) // the item as raw pieces
		}
	}
	switch l.body {
	case KindSettings:
		d.plan.body = 1
	case KindImageData, KindSoundData:
		d.plan.body = chunks(l.bytes, ChunkSize)
	case KindQuads:
		d.plan.body = chunks(l.bytes/quadBytes, quadsPerEvent)
	case KindSoundSources:
		d.plan.body = chunks(l.bytes/f.sourceBytes(i), sourcesPerEvent)
	case KindTiles:
		d.tiles.reset(&d.item)
		d.plan.body = d.tiles.chunks()
		d.plan.tail = 2 // a warning about run lengths, and the summary
	}
	if l.body != KindNone {
		d.plan.rest = chunks(f.DataSize(int(l.data))-l.bytes, ChunkSize)
	}
	d.secondOpen, d.bounded = false, false
	if d.plan.derived = d.derivedPlaces(); l.body == KindTiles {
		d.tiles.reset(&d.item)
	}
}

// chunks returns the number of events for n things.
func chunks(n, perEvent int64) int64 { return (n + perEvent - 1) / perEvent }

// looseChunks is chunks for bytes that no other event announces. It returns at least 1, because even empty data takes
// one event.
func looseChunks(n int64) int64 { return max(chunks(n, ChunkSize), 1) }

// looseChunks returns the number of events for the blobs that no item's event carries.
func (f *File) looseChunks() (n int64) {
	for i := range f.NumData() {
		if !f.isUsed(i) {
			n += looseChunks(f.DataSize(i))
		}
	}
	return n
}

// produce fills in the event of the next place and moves to the place after it. The event has KindNone if the filter
// drops it or the place is empty.
func (d *Decoder) produce(ev *Event) error {
	f, slot, plan := d.file, d.slot, d.plan
	switch {
	case d.record == 0:
		d.slot++
		d.produceHeader(ev)
		return nil
	case d.record <= f.NumTypes():
		d.slot++
		d.produceType(ev, d.record-1)
		return nil
	case d.record == d.records()-1:
		return d.produceLoose(ev)
	}
	if slot < plan.own {
		d.slot++
		if !d.wants(d.item.kind) {
			if d.item.kind == KindRawItem || d.item.kind == KindEnvelopePoints {
				d.slot = plan.own
			}
			return nil
		}
		return d.produceItem(ev, slot)
	}
	slot -= plan.own
	if slot < plan.body+plan.tail {
		return d.produceBody(ev, slot)
	}
	slot -= plan.body + plan.tail
	if slot >= plan.rest {
		return d.produceDerived(ev, slot-plan.rest)
	}
	if !d.wants(KindRawData) {
		d.slot = plan.total() - plan.derived
		return nil
	}
	return d.produceRawData(ev, int(d.item.data), d.item.bytes+slot*ChunkSize)
}

// wants reports whether the filter delivers an event of the current record.
func (d *Decoder) wants(kind Kind) bool {
	if d.filter == nil {
		return true
	}
	return d.filter(kind, d.Place())
}

// warn adds a warning to the event.
func (d *Decoder) warn(ev *Event, w Warning) {
	if len(ev.Warnings) < len(d.warnings) {
		ev.Warnings = append(ev.Warnings, w)
	}
}

func (d *Decoder) produceHeader(ev *Event) {
	if !d.wants(KindHeader) {
		return
	}
	ev.Kind, ev.Header = KindHeader, d.file.header
	if d.file.excess {
		d.warn(ev, WarningExcessBytes)
	}
	switch p := &d.file.plan; {
	case p.legacy:
		d.warn(ev, WarningLegacy)
		return
	case p.noVersion:
		d.warn(ev, WarningNoVersion)
	}
	if !d.file.plan.hasGame {
		d.warn(ev, WarningNoGameLayer)
	}
}

func (d *Decoder) produceType(ev *Event, i int) {
	if !d.wants(KindItemType) {
		return
	}
	typ, count := d.file.Type(i)
	d.texts = d.texts[:0]
	name, uuid := d.typeName(typ)
	ev.Kind = KindItemType
	ev.ItemType = ItemType{Type: int32(typ), Count: int32(count), Name: name, Uuid: uuid}
}

// produceLoose delivers the blobs that no item's event carries.
func (d *Decoder) produceLoose(ev *Event) error {
	f := d.file
	if !d.wants(KindRawData) {
		d.slot = d.plan.total()
		return nil
	}
	for ; d.loose < f.NumData(); d.loose++ {
		if f.isUsed(d.loose) {
			continue
		}
		n := looseChunks(f.DataSize(d.loose))
		if d.slot < d.looseSlot+n {
			break
		}
		d.looseSlot += n
	}
	return d.produceRawData(ev, d.loose, (d.slot-d.looseSlot)*ChunkSize)
}
