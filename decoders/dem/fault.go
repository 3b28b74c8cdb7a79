package dem

type pendingFault struct {
	Fault
	index int32 // of the event within the record
}

// fault notes that something could not be decoded.
func (d *Decoder) fault(f Fault) {
	d.stats.Faults++
	f.Offset = d.frame.offset
	at := d.at
	if d.want(KindFault) {
		d.faults = append(d.faults, pendingFault{f, d.index(d.at)})
	}
	d.at = at
}

// tellUndecoded reports once that entities are not decoded.
func (d *Decoder) tellUndecoded(why string) {
	if d.told {
		return
	}
	d.told = true
	d.fault(Fault{Kind: FaultKindSchema, MessageId: d.frame.command, Detail: []byte("entities are unsupported: " + why)})
}
