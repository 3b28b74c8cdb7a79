package dem

import (
	"errors"
	"math"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// Position returns where the next event is, or a place before it with no event in between.
func (d *Decoder) Position() decoders.Position {
	at := decoders.Position{Offset: d.in.Head.Offset, Index: d.out.reached}
	switch {
	case d.out.arrived:
		return d.out.from
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

// Sum returns the sum of the bytes before Position's Offset.
func (d *Decoder) Sum() decoders.Sum {
	if len(d.out.faults) > 0 || d.stage != stageFrame || d.out.arrived {
		return d.in.Head.Sum
	}
	return d.in.Win.Sum()
}

// EventPosition returns the position of the last event.
func (d *Decoder) EventPosition() decoders.Position { return d.out.last }

// behind is a position behind every event.
var behind = decoders.Position{Offset: math.MaxInt64}

// Seek decodes up to a position without delivering what comes before it: entities and names are changes of earlier ones.
// It returns nil when it is there, so that Present has the state before the next event; and what Next returns when there
// is no record that the position is in, or not yet; call it again after ErrYield and decoders.ErrMore. Position is behind
// the one asked for when no record starts at its offset.
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

// enter decodes the record that d.out.from is in up to there: what comes before it may have changed entities, and what comes
// behind it must not have. An event that is not of an entity and was met there is kept for Next.
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

// holdsEntry reports whether the next entry of a message of entities is not to be read yet. Of an entry that gives a slot to
// another entity, the deletion of the one that was there may come before that.
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
			return false // it is nothing but a deletion
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

// SeekTick is Seek to the first record whose tick is at least that.
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

// SeekEnd decodes what is there without delivering it. It returns nil at the end of the bytes present, where Next goes on
// when there are more.
func (d *Decoder) SeekEnd() error {
	err := d.seek(func() (bool, error) { return false, nil })
	if errors.Is(err, decoders.ErrMore) && d.in.Begun {
		d.out.from = decoders.Position{}
		return nil
	}
	return err
}

// seek decodes quietly until the next record is the one that is wanted.
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
