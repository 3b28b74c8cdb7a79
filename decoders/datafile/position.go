package datafile

import (
	"sort"

	"github.com/replayd/replayd/decoders"
)

// Position returns where the next event starts.
func (d *Decoder) Position() decoders.Position {
	if d.checking {
		return d.End()
	}
	return d.place()
}

// place returns the next place, whether or not the filter delivers its event.
func (d *Decoder) place() decoders.Position {
	if d.ready && d.slot >= d.plan.total() && d.record < d.records()-1 {
		return decoders.Position{Offset: d.offset(d.record + 1)}
	}
	return decoders.Position{Offset: d.offset(d.record), Index: d.slot * decoders.Room}
}

// End returns the position after the last event.
func (d *Decoder) End() decoders.Position {
	return decoders.Position{Offset: d.file.dataAt, Index: d.file.looseChunks() * decoders.Room}
}

// Place returns the part of the map that the last event describes.
func (d *Decoder) Place() Place {
	if d.record <= d.file.NumTypes() || d.record == d.records()-1 {
		return wholeMap
	}
	return d.item.Place
}

// Checking reports whether all events were delivered and the decoder is now checking data before the position at which
// decoding began. It checks only data that the filter delivers. See Next.
func (d *Decoder) Checking() bool { return d.checking }

// Seek continues at a position that a decoder of the same file returned. It inflates the record's data again up to that
// position.
func (d *Decoder) Seek(p decoders.Position) error {
	n := d.records()
	record := sort.Search(n, func(i int) bool { return d.offset(i) >= p.Offset })
	if record == n || d.offset(record) != p.Offset || p.Index < 0 {
		return failure(p.Offset, "position", decoders.ErrCorrupt, "no record starts there")
	}
	d.err, d.damage, d.later, d.begun, d.checking = nil, nil, nil, p, false
	d.enter(record)
	if p.Index == 0 { // Position is already behind a record without events once it is prepared, so do not prepare it here
		return nil
	}
	d.prepare()
	slot := (p.Index-1)/decoders.Room + 1
	if slot > d.plan.total() {
		return failure(p.Offset, "position", decoders.ErrCorrupt, "the record has %d places, not %d", d.plan.total(), slot)
	}
	d.slot = slot
	return nil
}

// records returns the number of records.
func (d *Decoder) records() int { return 1 + d.file.NumTypes() + d.file.NumItems() + 1 }

// offset returns the offset of a record in the file.
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

// itemIndex returns the index of the item that is the current record.
func (d *Decoder) itemIndex() int { return d.record - 1 - d.file.NumTypes() }
