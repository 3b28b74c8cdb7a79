package dem

import (
	"sync"

	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// typedMessage is a message that becomes an event of its own kind.
type typedMessage struct {
	kind Kind
	// read fills the event from the message. It is nil for a message with special needs, which decodeMessage handles.
	read func(d *Decoder, ev *Event, m *pb.Reader)
}

// typedMessages are the messages that become events of their own kinds: in all games, and in each game.
var typedMessages = struct {
	all  map[uint32]typedMessage
	game [gameDeadlock + 1]map[uint32]typedMessage
}{
	all: map[uint32]typedMessage{
		netSetConVar: {kind: KindServerCvar},
		svcUserCmds:  {kind: KindUserCmd},
		geGameEvent:  {kind: KindGameEvent},
		svcVoiceData: {KindVoice, readVoice},
		umSayText:    {KindChat, readSayText},
		umSayText2:   {KindChat, readSayText2},
		geStartSound: {KindSound, readSound},
	},
	game: [...]map[uint32]typedMessage{
		gameDota: {
			dotaChatEvent:    {KindChatEvent, readDotaChatEvent},
			dotaCombatEntry:  {KindCombatLog, readCombatLog},
			dotaCombatBulk:   {kind: KindCombatLog},
			dotaLocationPing: {KindPing, readDotaPing},
			dotaMapLine:      {KindMapLine, readMapLine},
			dotaChatWheel:    {KindChatWheel, readDotaChatWheel},
			dotaOrders:       {KindOrder, readOrder},
			dotaCombatLog:    {KindCombatLog, readCombatLog},
			dotaMatch:        {KindMatchSummary, readDotaSummary},
			dotaChatMessage:  {KindChat, readDotaChat},
		},
		gameCS2: {
			csDamage:      {KindDamage, readCSDamage},
			csFireBullets: {KindShot, readCSShot},
			csBulletHit:   {KindDamage, readCSHit},
		},
		gameDeadlock: {
			citadelDamage:           {KindDamage, readCitadelDamage},
			citadelMapPing:          {KindPing, readCitadelPing},
			citadelAbilitiesChanged: {KindAbilityChange, readAbilityChange},
			citadelChatWheel:        {KindChatWheel, readCitadelChatWheel},
			citadelChatMsg:          {KindChat, readCitadelChat},
			citadelPostMatch:        {KindMatchSummary, readCitadelSummary},
			citadelChatEvent:        {KindChatEvent, readCitadelChatEvent},
			citadelHeroKilled:       {KindKill, readKill},
			citadelMapLine:          {KindMapLine, readMapLine},
			citadelAbilityPing:      {KindPing, readCitadelAbilityPing},
			citadelKillStreak:       {KindKillStreak, readKillStreak},
			citadelFireBullets:      {KindShot, readCitadelShot},
			citadelBulletImpact:     {KindImpact, readImpact},
		},
	},
}

// numbers returns the game by whose numbers messages are read: Dota, if the game is unknown.
func (g game) numbers() game {
	if g == gameUnknown {
		return gameDota
	}
	return g
}

func (g game) lexicon() lexicon.Game { return lexicon.Game(g.numbers() - gameDota) }

// knownMessage holds the known facts of a message, by its number.
type knownMessage struct {
	typedMessage           // its kind is KindMessage when the message has no kind of its own
	pass         uint8     // the pass in which its messages are delivered
	name         []byte    // Valve's name, or no bytes
	shape        *pb.Shape // its fields, or nil
}

// otherMessage is an unknown message.
var otherMessage = knownMessage{typedMessage: typedMessage{kind: KindMessage}, pass: passMessages}

// knownMessages are the messages of each game, by number.
var knownMessages = sync.OnceValue(func() (all [gameDeadlock + 1][]knownMessage) {
	for g := range all {
		of := make([]knownMessage, lexicon.Numbers(game(g).lexicon()))
		for id := range of {
			n := uint32(id)
			of[id] = knownMessage{
				typedMessage: typedMessage{kind: KindMessage}, pass: passOf(n),
				name: lexicon.Name(game(g).lexicon(), n), shape: lexicon.Shape(game(g).lexicon(), n),
			}
		}
		for _, messages := range []map[uint32]typedMessage{typedMessages.all, typedMessages.game[game(g).numbers()]} {
			for id, t := range messages {
				of[id].typedMessage = t
			}
		}
		all[g] = of
	}
	return all
})

// setGame sets the demo's game, which decides the meaning of messages' numbers.
func (m *match) setGame(g game) { m.game, m.messages = g, knownMessages()[g] }

// message returns the known facts of the message with a number.
func (m *match) message(id uint32) *knownMessage {
	if id < uint32(len(m.messages)) {
		return &m.messages[id]
	}
	return &otherMessage
}

// message returns a reader of a message. messageParts returns one for a message that is read in several stages.
func (d *Decoder) message(id uint32, b []byte) pb.Reader {
	return pb.Read(b, d.match.message(id).shape, &d.out.unknown)
}

func (d *Decoder) messageParts(id uint32, b []byte) pb.Reader {
	return pb.ReadParts(b, d.match.message(id).shape, &d.out.unknown)
}

// kindsOf holds the kinds of events that demos of a game can have: the kinds of all games, and of the game's own messages.
var kindsOf = func() (kinds [gameDeadlock + 1]kindSet) {
	own := setOf(KindModifier)
	for g, messages := range typedMessages.game {
		for _, t := range messages {
			kinds[g].add(t.kind)
			own.add(t.kind)
		}
	}
	kinds[gameUnknown] = allKinds
	for _, t := range typedMessages.all {
		for g := range kinds {
			kinds[g].add(t.kind)
		}
	}
	kinds[gameDota].add(KindModifier)
	for k := KindNone + 1; k < KindCount; k++ {
		for g := range kinds {
			if !own.has(k) {
				kinds[g].add(k)
			}
		}
	}
	return kinds
}()

// has reports whether demos of the game can have events of a kind.
func (g game) has(k Kind) bool { return kindsOf[g].has(k) }

// vector reads an embedded vector. A vector that cannot be read makes the message bad.
func vector(m *pb.Reader) (v Vector) {
	for q := m.Message(); m.Within(&q); {
		switch q.Num {
		case 1:
			v.X = q.Float32()
		case 2:
			v.Y = q.Float32()
		case 3:
			v.Z = q.Float32()
		}
	}
	return v
}

// slotOf returns the slot of an entity that a message names by its slot or, in other builds, by its handle; -1 for none. The
// lowest bits of both are the slot.
func slotOf(n int32) int32 {
	if n < 0 || n&noHandle == noHandle {
		return -1
	}
	return n & (MaxEntities - 1)
}
