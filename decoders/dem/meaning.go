package dem

import (
	"math"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/entity"
	"github.com/replayd/replayd/decoders/dem/internal/facts"
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/stringtable"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// meanings holds what the decoder needs to name the values of fields.
type meanings struct {
	game  game
	names *stringtable.Table // EntityNames; nil before there is one
}

// tablesOf holds the tables with the names for the values of fields, by game and meaning.
var tablesOf = [...][entity.LifeState + 1]*facts.Table{
	gameDota: {
		entity.Hero: new(facts.Heroes), entity.Ability: new(facts.Abilities), entity.GameState: new(facts.GameStates),
		entity.Rune: new(facts.Runes), entity.Team: new(facts.DotaTeams), entity.LifeState: new(facts.LifeStates),
	},
	gameCS2: {
		entity.Team: new(facts.CSTeams), entity.RoundEnd: new(facts.RoundEndReasons), entity.LifeState: new(facts.LifeStates),
	},
	gameDeadlock: {entity.LifeState: new(facts.LifeStates)},
}

// unproven reports whether a value may be wrong, because its type or encoder is unknown, or because of an earlier value with one.
// guess is the guess of its field.
func (w *world) unproven(guess int32, c *value.Cell) bool {
	if guess == 0 || c.Kind == value.None || c.Open {
		return c.Open
	}
	isNumber := c.Kind == value.Int || c.Kind == value.Uint || c.Kind == value.Length
	return !w.tree.Types.At(guess).Sure(int64(c.Word), isNumber)
}

// mark sets the name of a field's value, and whether the value is unproven. c is the value's cell.
func (w *world) mark(f *FieldValue, n *entity.Node, c *value.Cell) {
	f.Name, f.HasName = nil, false
	f.Unproven = w.unproven(n.Guess, c)
	f.HasUnproven = f.Unproven
	var number int64
	switch f.ValueCase {
	case FieldValueValueInt:
		number = f.Int
	case FieldValueValueUint:
		number = int64(f.Uint)
	default:
		return
	}
	switch n.Meaning {
	case entity.NoMeaning:
	case entity.EntityName:
		f.Name = w.meanings.names.Key(int(number))
	default:
		if table := tablesOf[w.meanings.game][n.Meaning]; table != nil {
			f.Name = table.Name(number)
		}
	}
	f.HasName = f.Name != nil
}

// cellWidth returns the width of a cell of the map, in world units; 0 when it is not known. The cells begin at -mapEdge.
func (g game) cellWidth() float64 {
	switch g {
	case gameDota:
		return 128
	case gameCS2, gameDeadlock:
		return 512
	}
	return 0
}

const mapEdge = 16384

// place returns the position of an entity. open reports whether a part of it may have another value. ok is false when the
// position is unknown, or the entity is attached to another one, whose coordinates its own are relative to.
func (m *meanings) place(ent *entity.Entity) (at Vector, open, ok bool) {
	width, b := m.game.cellWidth(), ent.Class.Body
	if width == 0 || b == nil {
		return at, false, false
	}
	parent := b.Of(&ent.State, entity.BodyParent)
	if parent.Kind != value.None && parent.Word != noHandle {
		return at, false, false
	}
	open = parent.Open
	var axes [3]float32
	for i := range axes {
		cell, offset := b.Of(&ent.State, entity.BodyCell+i), b.Of(&ent.State, entity.BodyOffset+i)
		if cell.Kind != value.Uint || offset.Kind != value.Float {
			return at, false, false
		}
		open = open || cell.Open || offset.Open
		axes[i] = float32(float64(cell.Word)*width - mapEdge + float64(math.Float32frombits(uint32(offset.Word))))
	}
	return Vector{X: axes[0], Y: axes[1], Z: axes[2]}, open, true
}

// fillPlace fills f with the place of an entity, or leaves f without a value if the place is unknown.
func (w *world) fillPlace(f *FieldValue, ent *entity.Entity) (known bool) {
	f.ValueCase = FieldValueValueNone
	f.Name, f.HasName, f.Unproven, f.HasUnproven = nil, false, false, false
	b := ent.Class.Body
	var open bool
	if f.Vector, open, known = w.meanings.place(ent); known {
		f.ValueCase = FieldValueValueVector
		f.Unproven = open || len(b.Guessed) > 0 && slices.ContainsFunc(b.Guessed, func(p entity.GuessedPart) bool { return w.unproven(p.Guess, ent.At(p.Cell)) })
		f.HasUnproven = f.Unproven
	}
	if b != nil {
		f.Field = b.Place
	}
	return known
}

// roster locates the names and heroes of Dota's players in the entity of the class CDOTA_PlayerResource.
type roster struct {
	index  int                   // of the entity
	met    bool                  // it was created
	sides  [len(sideClasses)]int // of the entities with the counts of each side's players
	fields [rosterFields]rosterField
}

const (
	rosterName = iota
	rosterHero
	rosterFields
)

// rosterField is a field of a list's elements: its indexes in the root's object and in the elements' object; -1 if there is none.
type rosterField struct{ list, field int }

var rosterNames = [rosterFields][2]string{
	rosterName: {"m_vecPlayerData", "m_iszPlayerName"},
	rosterHero: {"m_vecPlayerTeamData", "m_nSelectedHeroID"},
}

// rosterKinds are the kinds of events for which the names of players are read.
var rosterKinds = setOf(KindChat, KindChatEvent, KindPing, KindMapLine, KindChatWheel, KindSamplePlayer)

// setClass finds the fields in the class.
func (r *roster) setClass(c *entity.Class) {
	for i, names := range rosterNames {
		r.fields[i] = rosterField{-1, -1}
		if c.Root == nil {
			continue
		}
		for at, f := range c.Root.Object.Fields {
			if f.Name != names[0] || len(f.Types) == 0 || f.Types[0] == nil {
				continue
			}
			for below, g := range f.Types[0].Fields {
				if g.Name == names[1] {
					r.fields[i] = rosterField{at, below}
				}
			}
		}
	}
}

// rosterCell returns the value of a field of a player, and the entity that has it. The entity is nil when there is none.
func (d *Decoder) rosterCell(field int, player int32) (*entity.Entity, value.Cell) {
	r := &d.match.roster
	ent, at := d.world.store.Slots[r.index], r.fields[field]
	if ent == nil || !ent.Class.Roster || ent.Class.Root == nil || player < 0 || at.list < 0 {
		return nil, value.Cell{}
	}
	n := ent.Class.Root
	for _, i := range [...]int{at.list, int(player), at.field} {
		if i >= len(n.Kids) || n.Kids[i] == nil {
			return nil, value.Cell{}
		}
		n = n.Kids[i]
	}
	v := ent.At(n.Cell)
	if v.Kind == value.None || d.world.unproven(n.Guess, v) {
		return nil, value.Cell{}
	}
	return ent, *v
}

// playerName returns the name of a player of Dota, or nil.
func (d *Decoder) playerName(player int32) []byte {
	ent, v := d.rosterCell(rosterName, player)
	if ent == nil {
		return nil
	}
	return ent.Data(&v)
}

// playerHero returns the hero of a player of Dota, or nil.
func (d *Decoder) playerHero(player int32) []byte {
	ent, v := d.rosterCell(rosterHero, player)
	if ent == nil {
		return nil
	}
	return facts.Heroes.Name(int64(v.Word))
}

// nameParts adds names for the numbers of a message.
func (d *Decoder) nameParts(ev *Event, kind Kind) {
	switch kind {
	case KindChat:
		if c := &ev.Chat; d.match.game == gameDota {
			c.PlayerName, c.HeroName = d.playerName(c.PlayerId), d.playerHero(c.PlayerId)
		}
	case KindChatEvent:
		c := &ev.ChatEvent
		c.TypeName = d.announcement(c.Type)
		if d.match.game == gameDeadlock {
			return
		}
		known := false
		for _, p := range c.Players {
			hero := d.playerHero(p)
			c.HeroNames, known = append(c.HeroNames, hero), known || hero != nil
		}
		if !known {
			c.HeroNames = c.HeroNames[:0]
		}
	case KindPing:
		ev.Ping.PlayerName = d.playerName(ev.Ping.PlayerId)
	case KindMapLine:
		ev.MapLine.PlayerName = d.playerName(ev.MapLine.PlayerId)
	case KindChatWheel:
		if c := &ev.ChatWheel; d.match.game.numbers() == gameDota {
			c.HeroName, c.PlayerName = facts.Heroes.Name(int64(c.HeroId)), d.playerName(c.PlayerId)
		}
	case KindCombatLog:
		c := &ev.CombatLog
		switch c.Type {
		case CombatLogTypeGameState:
			c.ValueName = facts.GameStates.Name(int64(c.Value))
		case CombatLogTypeGold:
			c.GoldReasonName = facts.GoldReasons.Name(int64(c.GoldReason))
		case CombatLogTypeXp:
			c.XpReasonName = facts.XPReasons.Name(int64(c.XpReason))
		case CombatLogTypePickupRune:
			c.RuneName = facts.Runes.Name(int64(c.RuneType))
		}
	case KindOrder:
		o := &ev.Order
		o.TypeName, o.AbilityName = facts.Orders.Name(int64(o.Type)), facts.Abilities.Name(int64(o.AbilityId))
	}
}

// announcement returns the name of a type of announcements in the chat, or nil.
func (d *Decoder) announcement(number int32) []byte {
	if d.match.game == gameDeadlock {
		return facts.CitadelAnnouncements.Name(int64(number))
	}
	return facts.Announcements.Name(int64(number))
}

// parsePlayerInfo reads CMsgPlayerInfo, the value of the entries in the string table userinfo.
func parsePlayerInfo(p *PlayerInfo, slot int, b []byte, log *pb.Log) bool {
	*p = PlayerInfo{Slot: int32(slot)}
	m := pb.Read(b, lexicon.Type("CMsgPlayerInfo"), log)
	for m.Next() {
		switch m.Num {
		case 1:
			p.Name = m.Raw
		case 2:
			p.SteamId = m.Val
		case 3:
			p.UserId = m.Int32()
		case 5:
			p.IsBot = m.Bool()
		case 6:
			p.IsHltv = m.Bool()
		}
	}
	return !m.Bad
}

// nameKeys adds names for the numbers in the keys of a game event.
func (d *Decoder) nameKeys(event string, keys []GameEventKey) {
	for i := range keys {
		k := &keys[i]
		if k.ValueCase != GameEventKeyValueInt {
			continue
		}
		if names, ok := d.valueNames(event, k.Name); ok {
			k.ValueName = names.Name(k.Int)
			k.HasValueName = k.ValueName != nil
		}
	}
}

// valueNames returns the names of the numbers in a key of a game event, if they have names.
func (d *Decoder) valueNames(event string, key []byte) (facts.Table, bool) {
	switch string(key) {
	case "team", "oldteam", "winner":
		return facts.CSTeams, d.match.game == gameCS2
	case "reason":
		return facts.RoundEndReasons, d.match.game == gameCS2 && event == "round_end"
	}
	return 0, false
}

// namePlayers adds the names and Steam ids of players to the keys of a game event.
func (d *Decoder) namePlayers(keys []GameEventKey) {
	for i := range keys {
		k := &keys[i]
		if k.ValueCase != GameEventKeyValuePlayer || k.Player < 0 {
			continue
		}
		for _, t := range d.tables.list {
			var p PlayerInfo
			if t.Role == stringtable.Players && int(k.Player) < len(t.Entries) && parsePlayerInfo(&p, int(k.Player), t.Entries[k.Player].Value, nil) {
				k.PlayerName, k.HasPlayerName, k.SteamId, k.HasSteamId = p.Name, true, p.SteamId, true
			}
		}
	}
}
