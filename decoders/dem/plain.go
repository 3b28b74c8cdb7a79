package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// The records and messages that become events field by field. They do not need the decoder's state.

func parseConsoleCmd(c *ConsoleCmd, b []byte) bool {
	*c = ConsoleCmd{}
	m := pb.NewReader(b)
	for m.Next() {
		if m.Num == 1 {
			c.Text = m.Raw
		}
	}
	return !m.Bad
}

func parseChat(c *Chat, id uint32, b []byte) bool {
	*c = Chat{PlayerId: -1, EntityIndex: -1}
	m := pb.NewReader(b)
	for m.Next() {
		switch {
		case id == dotaChatMessage && m.Num == 1:
			c.PlayerId = m.Int32()
		case id == dotaChatMessage && m.Num == 2:
			c.Channel = m.Uint32()
		case id == dotaChatMessage && m.Num == 3:
			c.Text = m.Raw
		case id == umSayText && m.Num == 1:
			c.PlayerId = m.Int32()
		case id == umSayText && m.Num == 2:
			c.Text = m.Raw
		case id == umSayText2 && m.Num == 1:
			c.EntityIndex = m.Int32()
		case id == umSayText2 && m.Num == 3:
			c.ChannelName = m.Raw
		case id == umSayText2 && m.Num == 4:
			c.Sender = m.Raw
		case id == umSayText2 && m.Num == 5:
			c.Text = m.Raw
		}
	}
	return !m.Bad
}

func parseSound(s *Sound, b []byte) bool {
	*s = Sound{SourceEntityIndex: -1}
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			s.Guid = m.Int32()
		case 2:
			s.Hash = m.Uint32()
		case 3:
			s.SourceEntityIndex = m.Int32()
		case 4:
			s.Seed = m.Int32()
		case 5:
			s.Params = m.Raw
		case 6:
			s.StartTime = m.Float32()
		}
	}
	return !m.Bad
}

func parseChatEvent(c *ChatEvent, b []byte) bool {
	*c = ChatEvent{Type: -1, HeroNames: c.HeroNames[:0], Players: append(c.Players[:0], -1, -1, -1, -1, -1, -1)}
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			c.Type = m.Int32()
		case 2:
			c.Value = m.Uint32()
		case 3, 4, 5, 6, 7, 8:
			c.Players[m.Num-3] = m.Sint32()
		case 9:
			c.Value2 = m.Uint32()
		case 10:
			c.Value3 = m.Uint32()
		case 11:
			c.Time = m.Float32()
		}
	}
	for n := len(c.Players); n > 0 && c.Players[n-1] == -1; n-- {
		c.Players = c.Players[:n-1]
	}
	return !m.Bad
}

func parsePing(p *Ping, b []byte) bool {
	*p = Ping{PlayerId: -1, Target: -1}
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			p.PlayerId = m.Int32()
		case 2:
			q := pb.NewReader(m.Raw)
			for q.Next() {
				switch q.Num {
				case 1:
					p.X = q.Int32()
				case 2:
					p.Y = q.Int32()
				case 3:
					p.Target = q.Int32()
				case 4:
					p.Direct = q.Bool()
				case 5:
					p.Type = q.Uint32()
				}
			}
			m.Bad = m.Bad || q.Bad
		}
	}
	return !m.Bad
}

func parseMapLine(l *MapLine, b []byte) bool {
	*l = MapLine{PlayerId: -1}
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			l.PlayerId = m.Int32()
		case 2:
			q := pb.NewReader(m.Raw)
			for q.Next() {
				switch q.Num {
				case 1:
					l.X = q.Int32()
				case 2:
					l.Y = q.Int32()
				case 3:
					l.Initial = q.Bool()
				}
			}
			m.Bad = m.Bad || q.Bad
		}
	}
	return !m.Bad
}

func parseChatWheel(c *ChatWheel, b []byte) bool {
	*c = ChatWheel{PlayerId: -1}
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			c.MessageId = m.Uint32()
		case 2:
			c.PlayerId = m.Int32()
		case 3:
			c.AccountId = m.Uint32()
		case 4:
			c.HeroId = m.Int32()
		}
	}
	return !m.Bad
}

func parseOrder(o *Order, b []byte) bool {
	*o = Order{EntityIndex: -1, AbilityId: -1, Units: o.Units[:0]}
	m := pb.NewReader(b)
	for m.Next() {
		switch m.Num {
		case 1:
			o.EntityIndex = m.Int32()
		case 2:
			o.Type = m.Int32()
		case 3:
			o.Units = m.AppendInt32s(o.Units)
		case 4:
			o.TargetIndex = m.Int32()
		case 5:
			o.AbilityId = m.Int32()
		case 6:
			o.HasPosition = true
			o.Position = parseVector(m.Raw)
		case 7:
			o.Queue = m.Bool()
		case 8:
			o.SequenceNumber = m.Int32()
		case 9:
			o.Flags = m.Uint32()
		}
	}
	return !m.Bad
}

func parseVector(b []byte) (v Vector) {
	for m := pb.NewReader(b); m.Next(); {
		switch m.Num {
		case 1:
			v.X = m.Float32()
		case 2:
			v.Y = m.Float32()
		case 3:
			v.Z = m.Float32()
		}
	}
	return v
}
