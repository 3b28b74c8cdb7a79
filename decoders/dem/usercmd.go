package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/usercmd"
)

// parseUserCmd reads CDemoUserCmd, a command of the player who recorded the demo.
func parseUserCmd(c *UserCmd, m pb.Reader) bool {
	*c = UserCmd{PlayerSlot: -1, Input: c.Input}
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
	d.list.items = d.messageParts(svcUserCmds, b)
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
		if !d.out.has(KindUserCmd) {
			continue
		}
		c := &ev.UserCmd
		parseServerUserCmd(c, m.Message())
		data := d.rebuildUserCmd(c)
		if !d.out.want(KindUserCmd, slotEvent) {
			if len(d.out.faults) > 0 {
				return false
			}
			continue
		}
		if c.HasInput = data != nil; c.HasInput {
			parseUserInput(&c.Input, data)
		}
		ev.Kind = KindUserCmd
		return true
	}
	d.stage = stagePacket
	if m.Bad {
		d.match.commands.Lose()
		d.out.fault(Fault{Kind: FaultKindMessage, MessageId: svcUserCmds, Detail: []byte("message: cannot be read to its end")})
	}
	return false
}

// parseServerUserCmd reads CMsgServerUserCmd.
func parseServerUserCmd(c *UserCmd, m pb.Reader) {
	*c = UserCmd{PlayerSlot: -1, Input: c.Input}
	for m.Next() {
		switch m.Num {
		case 1:
			c.Data = m.Raw
		case 2:
			c.Number = m.Int32()
		case 3:
			c.PlayerSlot = m.Int32()
		case 4:
			c.ServerTick = m.Int32()
		case 5:
			c.ClientTick = m.Int32()
		case 6:
			c.DeltaData = m.Raw
		}
	}
}

// rebuildUserCmd sets the source of a command. It returns the whole command, or nil if that is unknown.
func (d *Decoder) rebuildUserCmd(c *UserCmd) []byte {
	in := usercmd.Command{Player: c.PlayerSlot, Number: c.Number, ServerTick: c.ServerTick, Data: c.Data, Delta: c.DeltaData}
	whole, delta := len(c.Data) > 0, c.DeltaData != nil
	switch {
	case d.match.game != gameCS2:
	case delta:
		if data := d.match.commands.Delta(&in, &d.out.unknown); data != nil {
			c.Source = UserCmdSourceDelta
			return data
		}
	case d.match.commands.Full(&in, &d.out.unknown) && whole:
		c.Source = UserCmdSourceFull
		return c.Data
	}
	if delta {
		c.Source = UserCmdSourceNoBaseline
	}
	return nil
}

// startCvars begins to read CNETMsg_SetConVar.
func (d *Decoder) startCvars(ev *Event, b []byte) bool {
	d.list.items = pb.Reader{}
	m := d.messageParts(netSetConVar, b)
	for m.Next() {
		if m.Num == 1 {
			d.list.items = m.Message()
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
		for q := m.Message(); q.Next(); {
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
