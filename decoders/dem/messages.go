package dem

// kindOf returns the kind of event that a message becomes.
func (d *Decoder) kindOf(id uint32) Kind {
	switch id {
	case svcUserCmds:
		return KindUserCmd
	case umSayText, umSayText2:
		return KindChat
	case geGameEvent:
		return KindGameEvent
	case geStartSound:
		return KindSound
	}
	if d.game == gameDota || d.game == gameUnknown {
		switch id {
		case dotaChatEvent:
			return KindChatEvent
		case dotaLocationPing:
			return KindPing
		case dotaMapLine:
			return KindMapLine
		case dotaChatWheel:
			return KindChatWheel
		case dotaOrders:
			return KindOrder
		case dotaCombatLog:
			return KindCombatLog
		case dotaChatMessage:
			return KindChat
		}
	}
	return KindMessage
}

// decodeMessage decodes a message of a packet. It returns whether ev was filled; there may be more to come, in another
// stage.
func (d *Decoder) decodeMessage(ev *Event, id uint32, b []byte) bool {
	switch id {
	case netTick:
		return d.tick(ev, b)
	case svcServerInfo:
		return d.serverInfo(ev, b)
	case svcCreateStringTable:
		return d.createTable(ev, b)
	case svcUpdateStringTable:
		return d.updateTable(ev, b)
	case svcClearTables:
		d.tables, d.stored = nil, 0
		clear(d.baseIndex)
		d.dropAlternates()
		for _, c := range d.classes {
			if c != nil {
				c.baseline.made = false
			}
		}
		return false
	case svcPacketEntities:
		return d.startEntities(ev, b)
	case svcClassInfo:
		return d.serverClasses(ev, b)
	case svcFlattened:
		s, ok := parseFlattenedSerializer(b, d.build, d.game)
		d.useSchema(s, ok)
		return false
	case geGameEventList:
		return d.startEventTypes(b)
	case geGameEvent:
		return d.gameEvent(ev, b)
	case svcUserCmds:
		d.list.items = wire{buf: b}
		d.stage = stageCommands
		return false
	case svcUserMessage:
		return d.userMessage(ev, b)
	}
	kind := d.kindOf(id)
	if kind == KindMessage {
		return d.tellMessage(ev, id, b)
	}
	if !d.want(kind) {
		return false
	}
	ok := false
	switch kind {
	case KindChat:
		ok = parseChat(&ev.Chat, id, b)
	case KindSound:
		ok = parseSound(&ev.Sound, b)
	case KindChatEvent:
		ok = parseChatEvent(&ev.ChatEvent, b)
	case KindPing:
		ok = parsePing(&ev.Ping, b)
	case KindMapLine:
		ok = parseMapLine(&ev.MapLine, b)
	case KindChatWheel:
		ok = parseChatWheel(&ev.ChatWheel, b)
	case KindOrder:
		ok = parseOrder(&ev.Order, b)
	case KindCombatLog:
		ok = d.parseCombatLog(&ev.CombatLog, b)
	}
	if !ok {
		return d.badMessage(ev, id, b)
	}
	ev.Kind = kind
	return true
}

// tellMessage delivers a message as it is.
func (d *Decoder) tellMessage(ev *Event, id uint32, b []byte) bool {
	d.chunks = chunkReader{kind: KindMessage, id: id, name: d.messageName(id), data: b, then: stagePacket}
	return d.nextChunk(ev)
}

// badMessage reports a message that could not be read, and delivers it as it is.
func (d *Decoder) badMessage(ev *Event, id uint32, b []byte) bool {
	d.fault(Fault{Kind: FaultKindMessage, MessageId: id, Detail: []byte("message: not what its number announces")})
	return d.tellMessage(ev, id, b)
}

// serverClasses reads CSVCMsg_ClassInfo, which is empty where the file has a record of the same.
func (d *Decoder) serverClasses(ev *Event, b []byte) bool {
	m := wire{buf: b}
	for m.next() {
		if m.num != 2 {
			continue
		}
		var id int32
		var name []byte
		for q := (wire{buf: m.raw}); q.next(); {
			switch q.num {
			case 1:
				id = q.int32()
			case 3:
				name = q.raw
			}
		}
		if id < 0 || id >= maxClassID {
			return d.badMessage(ev, svcClassInfo, b)
		}
		d.addClass(id, name)
	}
	return false
}

// userMessage unwraps CSVCMsg_UserMessage.
func (d *Decoder) userMessage(ev *Event, b []byte) bool {
	var id uint32
	var data []byte
	for m := (wire{buf: b}); m.next(); {
		switch m.num {
		case 1:
			id = m.uint32()
		case 2:
			data = m.raw
		}
	}
	if passOf(id) != passMessages || id == svcUserMessage || id == svcUserCmds {
		// Nothing of the state travels in user messages.
		return d.tellMessage(ev, svcUserMessage, b)
	}
	if !d.has(d.kindOf(id)) {
		return false
	}
	return d.decodeMessage(ev, id, data)
}

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

func parseChat(c *Chat, id uint32, b []byte) bool {
	*c = Chat{PlayerId: -1, EntityIndex: -1}
	m := wire{buf: b}
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
	m := wire{buf: b}
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
	m := wire{buf: b}
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
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			p.PlayerId = m.int32()
		case 2:
			q := wire{buf: m.raw}
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
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			l.PlayerId = m.int32()
		case 2:
			q := wire{buf: m.raw}
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
	m := wire{buf: b}
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
	m := wire{buf: b}
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
	for m := (wire{buf: b}); m.next(); {
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

// noHandle is the handle of no entity.
const noHandle = 1<<24 - 1

// modifier delivers an entry of the table ActiveModifiers.
func (d *Decoder) modifier(ev *Event, slot int, b []byte) bool {
	if !d.want(KindModifier) || len(b) == 0 || d.game != gameDota && d.game != gameUnknown {
		return false
	}
	o := Modifier{
		State: ModifierStateActive, Slot: uint32(slot), Raw: b, Duration: -1,
		Parent: noHandle, Caster: noHandle, Ability: noHandle, AuraOwner: noHandle,
	}
	class := int32(-1)
	var lua []byte
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			o.State = ModifierState(m.int32())
		case 2:
			o.Parent = m.uint32()
		case 3:
			o.Index = m.int32()
		case 4:
			o.Serial = m.int32()
		case 5:
			class = m.int32()
		case 6:
			o.AbilityLevel = m.int32()
		case 7:
			o.StackCount = m.int32()
		case 8:
			o.CreationTime = m.float32()
		case 9:
			o.Duration = m.float32()
		case 10:
			o.Caster = m.uint32()
		case 11:
			o.Ability = m.uint32()
		case 14:
			o.Subtle = m.bool()
		case 23:
			o.Aura = m.bool()
		case 32:
			lua = m.raw
		case 34:
			o.AuraOwner = m.uint32()
		}
	}
	if m.bad {
		d.fault(Fault{Kind: FaultKindMessage, MessageId: svcUpdateStringTable, Detail: []byte("modifier: not the message that it should be")})
		return false
	}
	o.Name = lua
	if class >= 0 && len(lua) == 0 {
		for _, t := range d.tables {
			if t.role == roleModifierNames {
				o.Name = t.key(int(class))
			}
		}
	}
	ev.Kind, ev.Modifier = KindModifier, o
	return true
}
