package dem

import (
	"errors"
	"math"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// Position returns the position of the next event, or a position before it with no event in between.
func (d *Decoder) Position() decoders.Position {
	at := decoders.Position{Offset: d.in.Head.Offset, Index: d.out.reached}
	switch {
	case d.out.arrived:
		return d.out.from
	case d.facts.pending():
		at.Index = d.facts.ready[d.facts.next].index
	case len(d.out.faults) > 0:
		at.Index = d.out.faults[0].index
	case d.stage == stageFrame:
		at = decoders.Position{Offset: d.in.Win.Offset()}
	}
	if at.Before(d.out.from) && at.Offset == d.out.from.Offset {
		return d.out.from
	}
	return at
}

// Sum returns the checksum of the bytes before Position's Offset, without the two offsets in the file's header: they are written when the
// recording ends.
func (d *Decoder) Sum() decoders.Sum {
	if len(d.out.faults) > 0 || d.stage != stageFrame || d.out.arrived {
		return d.in.Sum()
	}
	return d.in.SumBehind()
}

// EventPosition returns the position of the last event.
func (d *Decoder) EventPosition() decoders.Position { return d.out.last }

// behind is a position after every event.
var behind = decoders.Position{Offset: math.MaxInt64}

// Seek moves to a position without delivering the events before it. It still decodes them, because the states of entities and the
// names build on earlier ones. It returns nil when it has reached the position; Present then has the state before the next event.
// If the record of the position does not exist (yet), Seek returns the errors of Next. Call it again after ErrYield and
// decoders.ErrMore. When no record starts at the given offset, Position is then after the given position.
func (d *Decoder) Seek(to decoders.Position) error {
	if !d.in.Begun && to == (decoders.Position{}) {
		return nil
	}
	if err := d.seek(func() (bool, error) { return d.in.Win.Offset() >= to.Offset, nil }); err != nil {
		return err
	}
	d.out.from = to
	if to.Index == 0 || d.in.Win.Offset() != to.Offset {
		return nil
	}
	return d.enter()
}

// enter decodes the record that contains d.out.from, up to that position. Afterwards entities have the changes of all events
// before the position, and of none after it. If enter meets an event that is not an entity's, it keeps the event for Next.
func (d *Decoder) enter() error {
	d.in.Work, d.out.hold = 0, true
	for {
		ok, err := d.step(&d.out.unseen)
		if ok || err != nil || !d.out.hold || d.stage == stageFrame {
			d.out.hold, d.out.kept, d.out.arrived = false, ok, err == nil
			return err
		}
	}
}

// holdsEntry reports whether the next entry of a message of entities must not be read yet. An entry that gives a slot to another
// entity also deletes the former one. That deletion may lie before the position; holdsEntry then applies it.
func (d *Decoder) holdsEntry() bool {
	if !d.out.hold {
		return false
	}
	next := d.out.place
	next.nextElement()
	if d.out.before(next.index(slotAfter)) {
		return false
	}
	if d.out.before(next.index(slotBefore)) {
		e := d.ents // a copy
		r := &e.bits
		e.index += int(r.UBitVar()) + 1
		switch cmd := r.Bits(2); {
		case r.Overrun() || uint(e.index) >= entity.MaxEntities:
		case cmd == 3:
			return false // the entry is only a deletion
		case cmd == 2:
			id, serial := int(r.Bits(d.world.classBits)), uint32(r.Bits(entity.SerialBits))
			old := d.world.store.Slots[e.index]
			if old != nil && (id >= len(d.world.classes) || old.Class != d.world.classes[id] || old.Serial != serial) {
				d.world.store.Release(e.index)
			}
		}
	}
	d.out.hold = false
	return true
}

// SeekTick moves to the first record whose tick is at least the given one. It is otherwise like Seek.
func (d *Decoder) SeekTick(tick int32) error {
	err := d.seek(func() (bool, error) {
		f, err := d.in.Peek()
		return err == nil && f.Tick >= tick, err
	})
	if err == nil {
		d.out.from = decoders.Position{Offset: d.in.Win.Offset()}
	}
	return err
}

// SeekEnd decodes the present bytes without delivering events. It returns nil at their end. Next continues there when there are
// more.
func (d *Decoder) SeekEnd() error {
	err := d.seek(func() (bool, error) { return false, nil })
	if errors.Is(err, decoders.ErrMore) && d.in.Begun {
		d.out.from = decoders.Position{}
		return nil
	}
	return err
}

// seek decodes without delivering events until arrived reports that the next record is the target.
func (d *Decoder) seek(arrived func() (bool, error)) error {
	if d.in.Err != nil {
		return d.in.Err
	}
	d.out.from = behind
	d.out.kept, d.out.arrived = false, false
	for {
		if d.stage == stageFrame {
			if !d.in.Begun {
				if err := d.in.Begin(); err != nil {
					return err
				}
			}
			if here, err := arrived(); here || err != nil {
				return err
			}
		}
		if _, err := d.step(&d.out.unseen); err != nil {
			return err
		}
	}
}
