package dem

// The records and messages that an event repeats field by field. They need nothing of what the decoder knows.

func parseConsoleCmd(c *ConsoleCmd, b []byte) bool {
	*c = ConsoleCmd{}
	m := newWire(b)
	for m.next() {
		if m.num == 1 {
			c.Text = m.raw
		}
	}
	return !m.bad
}

func parseChat(c *Chat, id uint32, b []byte) bool {
	*c = Chat{PlayerId: -1, EntityIndex: -1}
	m := newWire(b)
	for m.next() {
		switch {
		case id == dotaChatMessage && m.num == 1:
			c.PlayerId = m.int32()
		case id == dotaChatMessage && m.num == 2:
			c.Channel = m.uint32()
		case id == dotaChatMessage && m.num == 3:
			c.Text = m.raw
		case id == umSayText && m.num == 1:
			c.PlayerId = m.int32()
		case id == umSayText && m.num == 2:
			c.Text = m.raw
		case id == umSayText2 && m.num == 1:
			c.EntityIndex = m.int32()
		case id == umSayText2 && m.num == 3:
			c.ChannelName = m.raw
		case id == umSayText2 && m.num == 4:
			c.Sender = m.raw
		case id == umSayText2 && m.num == 5:
			c.Text = m.raw
		}
	}
	return !m.bad
}

func parseSound(s *Sound, b []byte) bool {
	*s = Sound{SourceEntityIndex: -1}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			s.Guid = m.int32()
		case 2:
			s.Hash = m.uint32()
		case 3:
			s.SourceEntityIndex = m.int32()
		case 4:
			s.Seed = m.int32()
		case 5:
			s.Params = m.raw
		case 6:
			s.StartTime = m.float32()
		}
	}
	return !m.bad
}

func parseChatEvent(c *ChatEvent, b []byte) bool {
	*c = ChatEvent{Type: -1, Players: append(c.Players[:0], -1, -1, -1, -1, -1, -1)}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			c.Type = m.int32()
		case 2:
			c.Value = m.uint32()
		case 3, 4, 5, 6, 7, 8:
			c.Players[m.num-3] = m.sint32()
		case 9:
			c.Value2 = m.uint32()
		case 10:
			c.Value3 = m.uint32()
		case 11:
			c.Time = m.float32()
		}
	}
	for n := len(c.Players); n > 0 && c.Players[n-1] == -1; n-- {
		c.Players = c.Players[:n-1]
	}
	return !m.bad
}

func parsePing(p *Ping, b []byte) bool {
	*p = Ping{PlayerId: -1, Target: -1}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			p.PlayerId = m.int32()
		case 2:
			q := newWire(m.raw)
			for q.next() {
				switch q.num {
				case 1:
					p.X = q.int32()
				case 2:
					p.Y = q.int32()
				case 3:
					p.Target = q.int32()
				case 4:
					p.Direct = q.bool()
				case 5:
					p.Type = q.uint32()
				}
			}
			m.bad = m.bad || q.bad
		}
	}
	return !m.bad
}

func parseMapLine(l *MapLine, b []byte) bool {
	*l = MapLine{PlayerId: -1}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			l.PlayerId = m.int32()
		case 2:
			q := newWire(m.raw)
			for q.next() {
				switch q.num {
				case 1:
					l.X = q.int32()
				case 2:
					l.Y = q.int32()
				case 3:
					l.Initial = q.bool()
				}
			}
			m.bad = m.bad || q.bad
		}
	}
	return !m.bad
}

func parseChatWheel(c *ChatWheel, b []byte) bool {
	*c = ChatWheel{PlayerId: -1}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			c.MessageId = m.uint32()
		case 2:
			c.PlayerId = m.int32()
		case 3:
			c.AccountId = m.uint32()
		case 4:
			c.HeroId = m.int32()
		}
	}
	return !m.bad
}

func parseOrder(o *Order, b []byte) bool {
	*o = Order{EntityIndex: -1, AbilityId: -1, Units: o.Units[:0]}
	m := newWire(b)
	for m.next() {
		switch m.num {
		case 1:
			o.EntityIndex = m.int32()
		case 2:
			o.Type = m.int32()
		case 3:
			o.Units = m.appendInt32s(o.Units)
		case 4:
			o.TargetIndex = m.int32()
		case 5:
			o.AbilityId = m.int32()
		case 6:
			o.HasPosition = true
			o.Position = parseVector(m.raw)
		case 7:
			o.Queue = m.bool()
		case 8:
			o.SequenceNumber = m.int32()
		case 9:
			o.Flags = m.uint32()
		}
	}
	return !m.bad
}

func parseVector(b []byte) (v Vector) {
	for m := newWire(b); m.next(); {
		switch m.num {
		case 1:
			v.X = m.float32()
		case 2:
			v.Y = m.float32()
		case 3:
			v.Z = m.float32()
		}
	}
	return v
}
