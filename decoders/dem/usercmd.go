package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// parseUserCmd reads CDemoUserCmd, a command of the player who recorded the demo.
func parseUserCmd(c *UserCmd, b []byte) bool {
	*c = UserCmd{PlayerSlot: -1}
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			c.Number = m.Int32()
		case 2:
			c.Data = m.Raw
		}
	}
	return !m.Bad
}

// startUserCmds begins to read CSVCMsg_UserCommands, the commands of all players.
func (d *Decoder) startUserCmds(b []byte) bool {
	d.list.items = pb.NewReader(b)
	d.stage = stageCommands
	return false
}

func (d *Decoder) nextUserCmd(ev *Event) bool {
	m := &d.list.items
	for m.Next() {
		if m.Num != 1 {
			continue
		}
		d.out.place.nextElement()
		if !d.out.want(KindUserCmd, slotEvent) {
			continue
		}
		c := UserCmd{PlayerSlot: -1}
		for q := pb.NewReader(m.Raw); q.Next(); {
			switch q.Num {
			case 1:
				c.Data = q.Raw
			case 2:
				c.Number = q.Int32()
			case 3:
				c.PlayerSlot = q.Int32()
			case 4:
				c.ServerTick = q.Int32()
			case 5:
				c.ClientTick = q.Int32()
			}
		}
		ev.Kind, ev.UserCmd = KindUserCmd, c
		return true
	}
	d.stage = stagePacket
	if m.Bad {
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: svcUserCmds, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}

// startCvars begins to read CNETMsg_SetConVar.
func (d *Decoder) startCvars(ev *Event, b []byte) bool {
	d.list.items = pb.Reader{}
	m := pb.NewReader(b)
	for m.Next() {
		if m.Num == 1 {
			d.list.items = pb.NewReader(m.Raw)
		}
	}
	if m.Bad {
		return d.badMessage(ev, netSetConVar, b)
	}
	d.stage = stageCvars
	return false
}

func (d *Decoder) nextCvar(ev *Event) bool {
	m := &d.list.items
	for m.Next() {
		if m.Num != 1 {
			continue
		}
		d.out.place.nextElement()
		if !d.out.want(KindServerCvar, slotEvent) {
			continue
		}
		var c ServerCvar
		for q := pb.NewReader(m.Raw); q.Next(); {
			switch q.Num {
			case 1:
				c.Name = q.Raw
			case 2:
				c.Value = q.Raw
			}
		}
		ev.Kind, ev.ServerCvar = KindServerCvar, c
		return true
	}
	d.stage = stagePacket
	if m.Bad {
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: netSetConVar, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}
