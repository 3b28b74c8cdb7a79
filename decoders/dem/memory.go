package dem

// noRoom reports that the states of all entities together became too large.
func (d *Decoder) noRoom(c *class) {
	d.out.fault(Fault{Kind: FaultKindLimit, MessageId: svcPacketEntities, EntityIndex: uint32(d.ents.index), Class: c.name, HasClass: true,
		Detail: []byte(errState.Error())})
}
