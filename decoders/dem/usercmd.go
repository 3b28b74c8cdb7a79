package dem

func (d *Decoder) nextUserCmd(ev *Event) bool {
	m := &d.list.items
	for m.next() {
		if m.num != 1 {
			continue
		}
		if !d.want(KindUserCmd) {
			continue
		}
		c := UserCmd{PlayerSlot: -1}
		for q := (wire{buf: m.raw}); q.next(); {
			switch q.num {
			case 1:
				c.Data = q.raw
			case 2:
				c.Number = q.int32()
			case 3:
				c.PlayerSlot = q.int32()
			case 4:
				c.ServerTick = q.int32()
			case 5:
				c.ClientTick = q.int32()
			}
		}
		ev.Kind, ev.UserCmd = KindUserCmd, c
		return true
	}
	d.stage = stagePacket
	if m.bad {
		d.fault(Fault{Kind: FaultKindMessage, MessageId: svcUserCmds, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}
