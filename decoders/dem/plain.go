package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// The records, and the messages of the engine and of Dota, that become events field by field.

func parseConsoleCmd(c *ConsoleCmd, m pb.Reader) bool {
	*c = ConsoleCmd{}
	for m.Next() {
		if m.Num == 1 {
			c.Text = m.Raw
		}
	}
	return !m.Bad
}

func readSayText(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.Chat
	*c = Chat{PlayerId: -1, EntityIndex: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			c.PlayerId = m.Int32()
		case 2:
			c.Text = m.Raw
		}
	}
}

func readSayText2(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.Chat
	*c = Chat{PlayerId: -1, EntityIndex: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			c.EntityIndex = m.Int32()
		case 3:
			c.ChannelName = m.Raw
		case 4:
			c.Sender = m.Raw
		case 5:
			c.Text = m.Raw
		}
	}
}

func readDotaChat(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.Chat
	*c = Chat{PlayerId: -1, EntityIndex: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			c.PlayerId = m.Int32()
		case 2:
			c.Channel, c.HasChannel = m.Uint32(), true
		case 3:
			c.Text = m.Raw
		}
	}
}

func readSound(_ *Decoder, ev *Event, m *pb.Reader) {
	s := &ev.Sound
	*s = Sound{SourceEntityIndex: -1}
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
}

func readDotaChatEvent(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.ChatEvent
	*c = ChatEvent{Type: -1, HeroNames: c.HeroNames[:0], Values: c.Values[:0], Players: append(c.Players[:0], -1, -1, -1, -1, -1, -1)}
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
			c.Time, c.HasTime = m.Float32(), true
		}
	}
	for n := len(c.Players); n > 0 && c.Players[n-1] == -1; n-- {
		c.Players = c.Players[:n-1]
	}
}

func readDotaPing(_ *Decoder, ev *Event, m *pb.Reader) {
	p := &ev.Ping
	*p = Ping{PlayerId: -1, Target: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			p.PlayerId = m.Int32()
		case 2:
			for q := m.Message(); m.Within(&q); {
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
		}
	}
}

func readMapLine(_ *Decoder, ev *Event, m *pb.Reader) {
	l := &ev.MapLine
	*l = MapLine{PlayerId: -1}
	for m.Next() {
		switch m.Num {
		case 1:
			l.PlayerId = m.Int32()
		case 2:
			for q := m.Message(); m.Within(&q); {
				switch q.Num {
				case 1:
					l.X = q.Int32()
				case 2:
					l.Y = q.Int32()
				case 3:
					l.Initial = q.Bool()
				}
			}
		}
	}
}

func readDotaChatWheel(_ *Decoder, ev *Event, m *pb.Reader) {
	c := &ev.ChatWheel
	*c = ChatWheel{PlayerId: -1, PawnIndex: -1}
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
		case 5:
			c.EmoticonId = m.Uint32()
		}
	}
}

func readOrder(_ *Decoder, ev *Event, m *pb.Reader) {
	o := &ev.Order
	*o = Order{EntityIndex: -1, AbilityId: -1, Units: o.Units[:0]}
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
			o.Position = vector(m)
		case 7:
			o.Queue = m.Bool()
		case 8:
			o.SequenceNumber = m.Int32()
		case 9:
			o.Flags = m.Uint32()
		}
	}
}
