package dem

// parseUserCmd reads CDemoUserCmd, a command of the one who recorded.
func parseUserCmd(c *UserCmd, b []byte) bool {
	*c = UserCmd{PlayerSlot: -1}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			c.Number = m.int32()
		case 2:
			c.Data = m.raw
		}
	}
	return !m.bad
}

// startUserCmds begins to read CSVCMsg_UserCommands, the commands of all players.
func (d *Decoder) startUserCmds(b []byte) bool {
	d.list.items = newWire(b)
	d.stage = stageCommands
	return false
}

func (d *Decoder) nextUserCmd(ev *Event) bool {
	m := &d.list.items
	for m.next() {
		if m.num != 1 {
			continue
		}
		d.out.place.nextElement()
		if !d.out.want(KindUserCmd, slotEvent) {
			continue
		}
		c := UserCmd{PlayerSlot: -1}
		for q := newWire(m.raw); q.next(); {
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
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: svcUserCmds, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}

// startCvars begins to read CNETMsg_SetConVar.
func (d *Decoder) startCvars(ev *Event, b []byte) bool {
	d.list.items = wire{}
	m := newWire(b)
	for m.next() {
		if m.num == 1 {
			d.list.items = newWire(m.raw)
		}
	}
	if m.bad {
		return d.badMessage(ev, netSetConVar, b)
	}
	d.stage = stageCvars
	return false
}

func (d *Decoder) nextCvar(ev *Event) bool {
	m := &d.list.items
	for m.next() {
		if m.num != 1 {
			continue
		}
		d.out.place.nextElement()
		if !d.out.want(KindServerCvar, slotEvent) {
			continue
		}
		var c ServerCvar
		for q := newWire(m.raw); q.next(); {
			switch q.num {
			case 1:
				c.Name = q.raw
			case 2:
				c.Value = q.raw
			}
		}
		ev.Kind, ev.ServerCvar = KindServerCvar, c
		return true
	}
	d.stage = stagePacket
	if m.bad {
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: netSetConVar, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}
