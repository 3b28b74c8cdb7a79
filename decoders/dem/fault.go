package dem

import "github.com/replayd/replayd/decoders"

// pendingFault is a fault that was not delivered yet.
type pendingFault struct {
	Fault
	index int64 // of the event within the record
}

// fault notes that something of the present element could not be decoded. Of one element only the first few faults are
// delivered; all are counted.
func (d *Decoder) fault(f Fault) {
	d.stats.Faults++
	if f.HasClass {
		d.faultsOf[f.Class]++
	}
	f.Offset = d.frame.offset
	slot := slotFault + d.place.faults
	if slot >= slotEnd {
		return
	}
	d.place.faults++
	at := d.at
	if d.want(KindFault, slot) {
		d.faults = append(d.faults, pendingFault{f, d.at})
	}
	d.at = at
}

// tellFault delivers the oldest fault.
func (d *Decoder) tellFault(ev *Event) {
	f := d.faults[0]
	copy(d.faults, d.faults[1:])
	d.faults = d.faults[:len(d.faults)-1]
	ev.AtTick, ev.Kind, ev.Fault = d.frame.tick, KindFault, f.Fault
	d.deliver(f.index)
}

// deliver notes that an event is delivered.
func (d *Decoder) deliver(index int64) {
	d.last = decoders.Position{Offset: d.frame.offset, Index: index}
	d.reached = index + 1
	d.arrived = false
	d.work = 0
}

// tellUndecoded reports once that entities are not decoded.
func (d *Decoder) tellUndecoded(why string) {
	if d.told {
		return
	}
	d.told = true
	d.fault(Fault{Kind: FaultKindSchema, MessageId: d.frame.command, Detail: []byte("entities are unsupported: " + why)})
}
