package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/facts"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// decodeMessage decodes a message of a packet. It returns whether ev was filled. More events may follow in another stage.
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
		d.clearTables()
		return false
	case svcPacketEntities:
		return d.startEntities(ev, b)
	case svcClassInfo:
		return d.serverClasses(ev, b)
	case svcFlattened:
		s, ok := schema.ParseFlattened(b, d.dotaBuild())
		d.useSchema(s, ok)
		return false
	case geGameEventList:
		return d.startEventTypes(b)
	case geGameEvent:
		return d.gameEvent(ev, b)
	case svcUserCmds:
		return d.startUserCmds(b)
	case netSetConVar:
		return d.startCvars(ev, b)
	case svcUserMessage:
		return d.userMessage(ev, b)
	}
	if kind := d.kindOf(id); kind != KindMessage {
		return d.emitPlain(ev, kind, id, b)
	}
	return d.emitMessage(ev, id, b)
}

// emitPlain delivers a message that becomes an event of a kind of its own, and needs nothing else.
func (d *Decoder) emitPlain(ev *Event, kind Kind, id uint32, b []byte) bool {
	if !d.out.reads(kind, KindMessage) || d.skipsType(kind, b) {
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
	d.nameParts(ev, kind)
	switch kind {
	case KindChat:
		ev.Chat.GameTime, ev.Chat.HasGameTime = d.match.clock.at(d.match.clock.now, d.match.interval)
	case KindChatEvent:
		ev.ChatEvent.GameTime, ev.ChatEvent.HasGameTime = d.match.clock.at(d.match.clock.now, d.match.interval)
	case KindCombatLog:
		d.match.clock.dateCombatLog(&ev.CombatLog)
	}
	ev.Kind = kind
	return d.out.want(kind, slotEvent)
}

// skipsType reports whether a message becomes an event of a type that Options.Types leaves out. A message that cannot be read has
// no type, so that its fault is reported.
func (d *Decoder) skipsType(kind Kind, b []byte) bool {
	if d.opts.Types == nil {
		return false
	}
	number, field := int32(0), 1
	switch kind {
	case KindCombatLog:
	case KindChatEvent:
		number = -1 // without the field
	case KindOrder:
		field = 2
	default:
		return false
	}
	m := pb.NewReader(b)
	for m.Next() {
		if m.Num == field {
			number = m.Int32()
		}
	}
	var name []byte
	switch kind {
	case KindCombatLog:
		number++ // to CombatLogType
	case KindChatEvent:
		name = facts.Announcements.Name(int64(number))
	case KindOrder:
		name = facts.Orders.Name(int64(number))
	}
	return !m.Bad && !d.opts.Types(kind, number, name)
}

// kindOf returns the kind of event that a message becomes.
func (d *Decoder) kindOf(id uint32) Kind {
	kind := KindMessage
	switch id {
	case svcUserCmds:
		return KindUserCmd
	case netSetConVar:
		return KindServerCvar
	case umSayText, umSayText2:
		return KindChat
	case geGameEvent:
		return KindGameEvent
	case geStartSound:
		return KindSound
	case dotaChatEvent:
		kind = KindChatEvent
	case dotaLocationPing:
		kind = KindPing
	case dotaMapLine:
		kind = KindMapLine
	case dotaChatWheel:
		kind = KindChatWheel
	case dotaOrders:
		kind = KindOrder
	case dotaCombatLog:
		kind = KindCombatLog
	case dotaChatMessage:
		if d.match.game.has(KindChatEvent) { // a number of Dota's
			kind = KindChat
		}
	}
	if !d.match.game.has(kind) {
		return KindMessage
	}
	return kind
}

// emitMessage delivers a message undecoded.
func (d *Decoder) emitMessage(ev *Event, id uint32, b []byte) bool {
	d.chunks = chunkReader{kind: KindMessage, id: id, name: d.messageName(id), data: b, then: stagePacket}
	return d.nextChunk(ev)
}

// badMessage reports a message that could not be read, and delivers it undecoded.
func (d *Decoder) badMessage(ev *Event, id uint32, b []byte) bool {
	d.out.fault(Fault{Kind: FaultKindMessage, MessageId: id, Detail: []byte("message: not what its number announces")})
	return d.emitMessage(ev, id, b)
}

// userMessage unwraps CSVCMsg_UserMessage.
func (d *Decoder) userMessage(ev *Event, b []byte) bool {
	var id uint32
	var data []byte
	for m := pb.NewReader(b); m.Next(); {
		switch m.Num {
		case 1:
			id = m.Uint32()
		case 2:
			data = m.Raw
		}
	}
	if passOf(id) != passMessages || id == svcUserMessage || id == svcUserCmds {
		// Nothing of the state travels in user messages.
		return d.emitMessage(ev, svcUserMessage, b)
	}
	if !d.out.reads(d.kindOf(id), KindMessage) {
		return false
	}
	return d.decodeMessage(ev, id, data)
}
