package dem

import (
	"github.com/replayd/replayd/decoders/dem/internal/facts"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/schema"
)

// decodeMessage decodes a message of a packet. It returns whether it filled ev. More events may follow in another stage.
func (d *Decoder) decodeMessage(ev *Event, id uint32, b []byte) bool {
	d.out.place.message = id
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
	t := d.match.message(id)
	switch {
	case t.read != nil:
		return d.emitTyped(ev, t, id, b)
	case t.kind == KindCombatLog:
		return d.startCombatLogs(b)
	case d.tellsObjective(id):
		d.concludeBoss(id, b)
	}
	return d.emitMessage(ev, id, b)
}

// emitTyped delivers a message that becomes an event of its own kind, and needs no other treatment.
func (d *Decoder) emitTyped(ev *Event, t *knownMessage, id uint32, b []byte) bool {
	skip := !d.out.reads(t.kind, KindMessage) || d.skipsType(t.kind, id, b)
	if skip && !d.facts.sources.has(t.kind) {
		return false
	}
	d.typed = pb.Read(b, t.shape, &d.out.unknown)
	t.read(d, ev, &d.typed)
	if d.typed.Bad {
		return d.badMessage(ev, id, b)
	}
	d.complete(ev, t.kind)
	d.conclude(ev, t.kind)
	return !skip && d.out.want(t.kind, slotEvent)
}

// complete adds facts to an event that its message lacks: names, and the time on the game's clock.
func (d *Decoder) complete(ev *Event, kind Kind) {
	ev.Kind = kind
	d.nameParts(ev, kind)
	switch kind {
	case KindChat:
		ev.Chat.GameTime, ev.Chat.HasGameTime = d.match.clock.at(d.match.clock.now, d.match.interval)
	case KindChatEvent:
		ev.ChatEvent.GameTime, ev.ChatEvent.HasGameTime = d.match.clock.at(d.match.clock.now, d.match.interval)
	case KindCombatLog:
		d.match.clock.dateCombatLog(&ev.CombatLog)
	}
}

// skipsType reports whether a message becomes an event of a type that Options.Types leaves out. A message that cannot be read has
// no type, so that its fault is reported.
func (d *Decoder) skipsType(kind Kind, id uint32, b []byte) bool {
	if d.opts.Types == nil {
		return false
	}
	number, field := int32(0), 1
	switch kind {
	case KindCombatLog:
	case KindChatEvent:
		number = withoutType(id)
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
		number++ // from Valve's number to CombatLogType
	case KindChatEvent:
		name = d.announcement(number)
	case KindOrder:
		name = facts.Orders.Name(int64(number))
	}
	return !m.Bad && !d.opts.Types(kind, number, name)
}

// emitMessage delivers a message undecoded.
func (d *Decoder) emitMessage(ev *Event, id uint32, b []byte) bool {
	m := d.match.message(id)
	d.chunks = chunkReader{kind: KindMessage, id: id, name: m.name, shape: m.shape, data: b, then: stagePacket}
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
	for m := d.message(svcUserMessage, b); m.Next(); {
		switch m.Num {
		case 1:
			id = m.Uint32()
		case 2:
			data = m.Raw
		}
	}
	if passOf(id) != passMessages || id == svcUserMessage || id == svcUserCmds {
		// User messages never carry state.
		return d.emitMessage(ev, svcUserMessage, b)
	}
	if !d.needsUser(id, d.match.message(id).kind) {
		return false
	}
	return d.decodeMessage(ev, id, data)
}
