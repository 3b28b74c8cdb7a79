package dem

import (
	"slices"

	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// The numbers of the messages that the decoder itself understands (docs/formats/dem.md, Messages).
const (
	netTick              = 4
	netSetConVar         = 6
	svcServerInfo        = 40
	svcFlattened         = 41
	svcClassInfo         = 42
	svcCreateStringTable = 44
	svcUpdateStringTable = 45
	svcVoiceData         = 47
	svcClearTables       = 51
	svcPacketEntities    = 55
	svcUserMessage       = 72
	svcUserCmds          = 76
	umSayText            = 117
	umSayText2           = 118
	geGameEventList      = 205
	geGameEvent          = 207
	geStartSound         = 208

	dotaChatEvent    = 466
	dotaCombatEntry  = 468
	dotaCombatBulk   = 470
	dotaLocationPing = 477
	dotaMapLine      = 478
	dotaChatWheel    = 501
	dotaOrders       = 547
	dotaCombatLog    = 554
	dotaMatch        = 558
	dotaChatMessage  = 612

	csDamage      = 321
	csFireBullets = 452
	csBulletHit   = 453

	citadelDamage           = 300
	citadelMapPing          = 303
	citadelAbilitiesChanged = 309
	citadelChatWheel        = 312
	citadelChatMsg          = 314
	citadelPostMatch        = 316
	citadelChatEvent        = 317
	citadelHeroKilled       = 319
	citadelMapLine          = 322
	citadelAbilityPing      = 331
	citadelBossKilled       = 347
	citadelMidBossSpawned   = 349
	citadelKillStreak       = 351
	citadelFireBullets      = 450
	citadelBulletImpact     = 461
)

// message is a message of a packet.
type message struct {
	id      uint32
	ordinal int64 // among the messages of its pass, from 1
	next    int32 // the index of the next message of its pass, or -1
	data    []byte
}

// packet is a packet being delivered. Its messages are delivered in four passes, each in the order of the packet, so that a
// message finds names that came after it, and entities in their earlier state (docs/formats/dem.md, Order).
type packet struct {
	messages []message // the needed messages
	passes   [passCount]pass
	pass     uint8
	before   int64 // messages of the record in earlier passes
	next     int32 // the index of the next message of the pass, or -1
	arena    []byte
}

// pass is one of the passes in which the messages of a packet are delivered.
type pass struct {
	first, last int32 // the indexes of its first and last needed message, or -1
	count       int64 // of all its messages
}

const (
	passState    = iota // ticks, string tables, facts of the server
	passMessages        // everything else
	passEntities
	passEvents // game events
	passCount
)

// maxMessages limits the messages of a packet, to hundreds of times a game's number.
const maxMessages = 1 << 16

func passOf(id uint32) uint8 {
	switch id {
	case netTick, svcServerInfo, svcFlattened, svcClassInfo, svcCreateStringTable, svcUpdateStringTable, svcClearTables,
		geGameEventList:
		return passState
	case svcPacketEntities:
		return passEntities
	case geGameEvent:
		return passEvents
	}
	return passMessages
}

// needs reports whether a message is to be read.
func (d *Decoder) needs(id uint32, m *knownMessage) bool {
	switch id {
	case svcServerInfo, svcFlattened, svcClassInfo, svcCreateStringTable, svcUpdateStringTable, svcClearTables,
		svcUserMessage:
		return true
	case netTick:
		return true
	case svcPacketEntities:
		return d.walksEntities() || d.out.reads(KindMessage, KindMessage)
	case geGameEventList:
		return d.out.reads(KindGameEventType, KindGameEvent) || d.needsKind(KindCombatLog) || d.facts.sources.has(KindGameEvent)
	}
	return d.needsUser(id, m.kind) || id == geGameEvent && d.needsKind(KindCombatLog)
}

// needsUser reports whether a message that becomes an event of a kind is to be read, for delivery or for facts.
func (d *Decoder) needsUser(id uint32, k Kind) bool {
	return d.out.reads(k, KindMessage) || d.facts.sources.has(k) || d.tellsObjective(id)
}

// needsKind reports whether events of a kind are to be read, for delivery or for facts.
func (d *Decoder) needsKind(k Kind) bool { return d.out.has(k) || d.facts.sources.has(k) }

// startPacket splits a packet into its messages. It copies the needed ones, because they may start at any bit.
func (d *Decoder) startPacket(data []byte) {
	p := &d.packet
	p.messages = p.messages[:0]
	p.passes = [passCount]pass{{-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}}
	d.stage = stagePacket
	// All copies together are no larger than the packet, so the arena does not move.
	if cap(p.arena) < len(data) {
		p.arena = make([]byte, 0, unpack.Roomy(len(data)))
	}
	p.arena = p.arena[:0]
	r := bits.New(data)
	padChecked := false
	for count := 0; r.Len() >= 8; count++ {
		id := r.UBitVar()
		size := int(r.Varuint32())
		if id == 0 && size == 0 && !padChecked {
			if isPadding(&r) {
				break
			}
			padChecked = true
		}
		if count >= maxMessages {
			d.markAllLost()
			d.out.fault(Fault{Kind: FaultKindLimit, Detail: []byte("packet: too many messages")})
			break
		}
		if r.Overrun() || size > r.Len()/8 {
			d.markAllLost()
			d.out.fault(Fault{Kind: FaultKindRecord, MessageId: id, Detail: []byte("packet: a message of it is larger than what is left")})
			break
		}
		d.stats.Messages++
		known := d.match.message(id)
		of := &p.passes[known.pass]
		of.count++
		if !d.needs(id, known) {
			r.Skip(8 * size)
			continue
		}
		m := p.add(of)
		m.id, m.ordinal = id, of.count
		if r.Pos()&7 == 0 {
			at := r.Pos() / 8
			m.data = data[at : at+size : at+size]
			r.Skip(8 * size)
		} else {
			at := len(p.arena)
			p.arena = p.arena[:at+size]
			m.data = p.arena[at : at+size : at+size]
			r.Copy(m.data)
		}
	}
	p.pass, p.before, p.next = 0, 0, p.passes[0].first
}

// add adds a message to a pass.
func (p *packet) add(of *pass) *message {
	i := len(p.messages)
	p.messages = slices.Grow(p.messages, 1)[:i+1]
	if of.last < 0 {
		of.first = int32(i)
	} else {
		p.messages[of.last].next = int32(i)
	}
	of.last = int32(i)
	m := &p.messages[i]
	m.next = -1
	return m
}

// isPadding reports whether only zero bits are left: a client's recordings may be padded.
func isPadding(r *bits.Reader) bool {
	rest := *r
	for rest.Len() > 0 {
		if rest.Bits(min(rest.Len(), 56)) != 0 {
			return false
		}
	}
	return true
}

// nextMessage decodes the next message of the packet.
func (d *Decoder) nextMessage(ev *Event) bool {
	p := &d.packet
	for p.next < 0 {
		p.before += p.passes[p.pass].count
		p.pass++
		if p.pass >= passCount {
			d.stage = stageFrame
			return false
		}
		p.next = p.passes[p.pass].first
	}
	m := &p.messages[p.next]
	p.next = m.next
	d.out.place.startMessage(m.id, p.before+m.ordinal)
	return d.decodeMessage(ev, m.id, m.data)
}
