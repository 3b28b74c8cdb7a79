package dem

import (
	"errors"
	"math"

	"github.com/replayd/replayd/decoders"
)

// The place of an event within its record is made of where its bytes lie and of nothing else, so that it does not depend on
// what else is delivered, or decoded at all:
//
//	ordinal  the message within the record, in the order in which messages are delivered; 0 is the record itself
//	element  the part of that message which becomes events by itself: an entity, an entry of a string table, a piece
//	slot     the event of that element: what happened comes first, then what went wrong
//
// A record has 32 MiB at most, a packet 65,536 messages, and an element a byte at least, so the parts fit.
const (
	slotBits    = 3
	elementBits = 26
)

// The slots of an element.
const (
	slotEvent  = 0 // the event, where there is one for each element
	slotBefore = 0 // of an entity: the deletion of the slot's former tenant
	slotAfter  = 1 // of an entity: what happened to it; of an entry: the modifier that it is
	slotFault  = 4 // and those behind it: what went wrong
	slotEnd    = 1 << slotBits
)

// place is where the decoder is within a record.
type place struct {
	ordinal int64
	element int64
	faults  int // of the element, so far
}

func (p *place) startRecord()  { *p = place{} }
func (p *place) startMessage() { *p = place{ordinal: p.ordinal + 1} }
func (p *place) nextElement()  { p.element, p.faults = p.element+1, 0 }

// index is the Index of the event in a slot of the present element.
func (p *place) index(slot int) int64 {
	return (p.ordinal<<elementBits|p.element)<<slotBits | int64(slot)
}

// Position returns where the next event is, or a place before it with no event in between.
func (d *Decoder) Position() decoders.Position {
	at := decoders.Position{Offset: d.frame.offset, Index: d.reached}
	switch {
	case d.arrived:
		return d.from
	case len(d.faults) > 0:
		at.Index = d.faults[0].index
	case d.stage == stageFrame:
		at = decoders.Position{Offset: d.win.Offset()}
	}
	if at.Before(d.from) && at.Offset == d.from.Offset {
		return d.from
	}
	return at
}

// Sum returns the sum of the bytes before Position's Offset.
func (d *Decoder) Sum() decoders.Sum {
	if len(d.faults) > 0 || d.stage != stageFrame || d.arrived {
		return d.frame.sum
	}
	return d.win.Sum()
}

// EventPosition returns the position of the last event.
func (d *Decoder) EventPosition() decoders.Position { return d.last }

// behind is a position behind every event.
var behind = decoders.Position{Offset: math.MaxInt64}

// Seek decodes up to a position without delivering what comes before it: entities and names are changes of earlier ones.
// It returns nil when it is there, so that Present tells the state before the next event; and what Next returns when there
// is no record that the position is in, or not yet; call it again after ErrYield and decoders.ErrMore. Position is behind
// the one asked for when no record starts at its offset.
func (d *Decoder) Seek(to decoders.Position) error {
	if !d.begun && to == (decoders.Position{}) {
		return nil
	}
	if err := d.seek(func() (bool, error) { return d.win.Offset() >= to.Offset, nil }); err != nil {
		return err
	}
	d.from = to
	if to.Index == 0 || d.win.Offset() != to.Offset {
		return nil
	}
	return d.enter()
}

// enter decodes the record that d.from is in up to there: what comes before it may have changed entities, and what comes
// behind it must not have. An event that is not of an entity and was met there is kept for Next.
func (d *Decoder) enter() error {
	d.work, d.hold = 0, true
	for {
		ok, err := d.step(&d.unseen)
		if ok || err != nil || !d.hold || d.stage == stageFrame {
			d.hold, d.kept, d.arrived = false, ok, err == nil
			return err
		}
	}
}

// holds reports whether the next deletion, or with slotAfter the rest of the present element, is not to be read yet.
func (d *Decoder) holds(slot int) bool {
	if !d.hold {
		return false
	}
	next := d.place
	if slot == slotBefore {
		next.nextElement()
	}
	d.hold = d.before(next.index(slot))
	return !d.hold
}

// holdsEntry reports whether the next entry of a message of entities is not to be read yet. Of an entry that gives a slot to
// another entity, the deletion of the one that was there may come before that.
func (d *Decoder) holdsEntry() bool {
	if !d.hold {
		return false
	}
	next := d.place
	next.nextElement()
	if d.before(next.index(slotAfter)) {
		return false
	}
	if d.before(next.index(slotBefore)) {
		e := d.ents // a copy
		r := &e.bits
		e.index += int(r.UBitVar()) + 1
		switch cmd := r.Bits(2); {
		case r.Overrun() || uint(e.index) >= maxEntities:
		case cmd == 3:
			return false // it is nothing but a deletion
		case cmd == 2:
			id, serial := int(r.Bits(d.classBits)), uint32(r.Bits(serialBits))
			old := d.entities[e.index]
			if old != nil && (id >= len(d.classes) || old.class != d.classes[id] || old.serial != serial) {
				d.release(e.index)
			}
		}
	}
	d.hold = false
	return true
}

// SeekTick is Seek to the first record whose tick is at least that.
func (d *Decoder) SeekTick(tick int32) error {
	err := d.seek(func() (bool, error) {
		f, err := d.peekFrame()
		return err == nil && f.tick >= tick, err
	})
	if err == nil {
		d.from = decoders.Position{Offset: d.win.Offset()}
	}
	return err
}

// SeekEnd decodes what is there without delivering it. It returns nil at the end of the bytes present, where Next goes on
// when there are more.
func (d *Decoder) SeekEnd() error {
	err := d.seek(func() (bool, error) { return false, nil })
	if errors.Is(err, decoders.ErrMore) && d.begun {
		d.from = decoders.Position{}
		return nil
	}
	return err
}

// seek decodes quietly until the next record is the one that is wanted.
func (d *Decoder) seek(arrived func() (bool, error)) error {
	if d.err != nil {
		return d.err
	}
	d.from = behind
	d.kept, d.arrived = false, false
	for {
		if d.stage == stageFrame {
			if !d.begun {
				if err := d.begin(); err != nil {
					return err
				}
			}
			if here, err := arrived(); here || err != nil {
				return err
			}
		}
		if _, err := d.step(&d.unseen); err != nil {
			return err
		}
	}
}

// want reports whether the event in a slot of the present element, of kind k, is to be delivered.
func (d *Decoder) want(k Kind, slot int) bool {
	if d.kinds&(1<<k) == 0 {
		return false
	}
	at := d.place.index(slot)
	if d.quiet && d.before(at) {
		return false
	}
	d.at = at
	return true
}

// has reports whether events of kind k are wanted at all.
func (d *Decoder) has(k Kind) bool { return d.kinds&(1<<k) != 0 }

// reads reports whether a message or a record that becomes an event of kind k is to be read: for that event, for the
// fault when it cannot be read, or because it is delivered as it is then, which is of kind raw.
func (d *Decoder) reads(k, raw Kind) bool { return d.has(k) || d.has(raw) || d.has(KindFault) }

// before reports whether an event of the record lies before where delivery starts.
func (d *Decoder) before(index int64) bool {
	return decoders.Position{Offset: d.frame.offset, Index: index}.Before(d.from)
}
