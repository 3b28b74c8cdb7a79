package dem

import "github.com/replayd/replayd/decoders"

// Position returns where the next event starts, as Options.From takes it. Index counts differently from other formats:
// it is opaque, and grows within a record.
func (d *Decoder) Position() decoders.Position {
	switch {
	case len(d.faults) > 0:
		return decoders.Position{Offset: d.frame.offset, Index: d.faults[0].index}
	case d.stage == stageFrame:
		return decoders.Position{Offset: d.win.Offset()}
	}
	return decoders.Position{Offset: d.frame.offset, Index: d.index(d.item)}
}

// EventPosition returns where the last event started: a decoder that starts there delivers it again.
func (d *Decoder) EventPosition() decoders.Position { return d.last }

// StartHere begins delivery with the next record, whatever Options.From and Options.FromTick say.
func (d *Decoder) StartHere() { d.opts.From, d.opts.FromTick = decoders.Position{}, nil }

const itemBits = 17

// index is the place of an event within its record.
func (d *Decoder) index(item int32) int32 {
	return min(d.ordinal, 1<<(31-itemBits)-1)<<itemBits | min(item, 1<<itemBits-1)
}

// want tells whether the next event, of kind k, is to be delivered. It is called exactly once for each event that there
// may be, wanted or not, so that positions do not depend on what is wanted.
func (d *Decoder) want(k Kind) bool {
	item := d.item
	d.item++
	if d.kinds&(1<<k) == 0 || d.quiet && d.before(item) {
		return false
	}
	d.at = item
	return true
}

// has tells whether events of kind k are wanted at all.
func (d *Decoder) has(k Kind) bool { return d.kinds&(1<<k) != 0 }

// before tells whether an event of the record lies before the start.
func (d *Decoder) before(item int32) bool {
	if d.opts.FromTick != nil && d.frame.tick < *d.opts.FromTick {
		return true
	}
	from := d.opts.From
	return d.frame.offset < from.Offset || d.frame.offset == from.Offset && d.index(item) < from.Index
}
