package dem

// reportUndecoded reports once that entities are not decoded.
func (d *Decoder) reportUndecoded(why string) {
	if d.world.undecoded {
		return
	}
	d.world.undecoded = true
	d.out.fault(Fault{Kind: FaultKindSchema, MessageId: d.in.Head.Command, Detail: []byte("entities are unsupported: " + why)})
}
