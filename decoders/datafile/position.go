package datafile

import (
	"sort"

	"github.com/replayd/replayd/decoders"
)

// Position says where the next event starts.
func (d *Decoder) Position() decoders.Position {
	if d.checking {
		return d.End()
	}
	return d.place()
}

// place is where the next event starts, delivered or not.
func (d *Decoder) place() decoders.Position {
	if d.ready && d.slot >= d.plan.total() && d.record < d.records()-1 {
		return decoders.Position{Offset: d.offset(d.record + 1)}
	}
	return decoders.Position{Offset: d.offset(d.record), Index: d.slot}
}

// End is the position after the last event.
func (d *Decoder) End() decoders.Position {
	return decoders.Position{Offset: d.file.dataAt, Index: d.file.looseChunks()}
}

// Place returns what the last event is about.
func (d *Decoder) Place() Place {
	if d.record <= d.file.NumTypes() || d.record == d.records()-1 {
		return nowhere
	}
	return d.item.Place
}

// Checking reports whether all events were delivered, and that what comes before the position where decoding began is being
// looked at, as far as the filter wants it. See Next.
func (d *Decoder) Checking() bool { return d.checking }

// Seek continues at a position that a decoder of the same file returned. The data of that record is inflated again up to
// there.
func (d *Decoder) Seek(p decoders.Position) error {
	n := d.records()
	record := sort.Search(n, func(i int) bool { return d.offset(i) >= p.Offset })
	if record == n || d.offset(record) != p.Offset || p.Index < 0 {
		return failure(p.Offset, "position", decoders.ErrCorrupt, "no record starts there")
	}
	d.err, d.damage, d.later, d.begun, d.checking = nil, nil, nil, p, false
	d.enter(record)
	if p.Index == 0 { // also of a record that has no events, behind which Position is already once it is prepared
		return nil
	}
	d.prepare()
	if p.Index > d.plan.total() {
		return failure(p.Offset, "position", decoders.ErrCorrupt, "the record has %d places, not %d",
			d.plan.total(), p.Index)
	}
	d.slot = p.Index
	return nil
}

// records is how many records there are.
func (d *Decoder) records() int { return 1 + d.file.NumTypes() + d.file.NumItems() + 1 }

// offset is where a record starts.
func (d *Decoder) offset(record int) int64 {
	f := d.file
	switch {
	case record == 0:
		return 0
	case record <= f.NumTypes():
		return f.typeAt(record - 1)
	case record <= f.NumTypes()+f.NumItems():
		return f.itemAt(record - 1 - f.NumTypes())
	}
	return f.dataAt
}

// itemIndex is the item that is the current record.
func (d *Decoder) itemIndex() int { return d.record - 1 - d.file.NumTypes() }
