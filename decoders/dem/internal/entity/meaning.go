package entity

import (
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Meaning is what a field's number stands for. It selects the table with the number's name.
type Meaning uint8

// The meanings.
const (
	NoMeaning  Meaning = iota
	EntityName         // an entry of the string table EntityNames
	Hero               // of Dota 2
	Ability            // or item, of Dota 2
	GameState          // of Dota 2
	Rune               // of Dota 2
	Team               // of Dota 2 and Counter-Strike 2
	RoundEnd           // why a round of Counter-Strike 2 ended
	LifeState          // of all games
)

// drafted are lists of heroes by number: those of the rules of a game in which captains or all draft.
var drafted = map[string]bool{"m_BannedHeroes": true, "m_SelectedHeroes": true, "m_vecNewBannedHeroes": true}

// meanings are those of fields that have one by their name alone.
var meanings = map[string]Meaning{
	"m_nGameState": GameState, "m_iRuneType": Rune, "m_iTeamNum": Team, "m_eRoundWinReason": RoundEnd, "m_lifeState": LifeState,
}

// meaningOf returns what the values stand for that a codec of a field reads.
func meaningOf(f *schema.Field, c *value.Codec) Meaning {
	switch c.Op {
	case value.OpInt32, value.OpInt64, value.OpUint32, value.OpUint64, value.OpMinusOne:
	default:
		return NoMeaning
	}
	typ := schema.ParseType(f.Type)
	if typ.Generic != "" {
		typ = schema.ParseType(typ.Generic)
	}
	switch {
	case f.Name == "m_nameStringableIndex":
		return EntityName
	case typ.Base == "HeroID_t" || strings.Contains(f.Name, "HeroID") || drafted[f.Name]:
		return Hero
	case typ.Base == "AbilityID_t" || strings.Contains(f.Name, "AbilityID"):
		return Ability
	}
	return meanings[f.Name]
}

// Body holds the numbers of the state's cells that an entity's place is made of: its cell of the map, its offset within that,
// and its parent entity. There are several of each when the body may be of several types. It is immutable.
type Body struct {
	Cell, Vec [3][]int32
	Parent    []int32
	// Place is the name of the field that delivers the place.
	Place uint32
}

// bodies is the name of the object that has an entity's place, placeName that of the place in it.
const (
	bodies    = "CBodyComponent"
	placeName = "place"
)

// addToBody notes a node that has a cell, if it is part of a place.
func (t *Tree) addToBody(c *Class, parent, n *Node) {
	if parent.Field == nil || parent.Field.Name != bodies || parent.List {
		return
	}
	var parts *[]int32
	b := new(Body)
	if c.Body != nil {
		*b = *c.Body
	}
	switch n.Field.Name {
	case "m_cellX":
		parts = &b.Cell[0]
	case "m_cellY":
		parts = &b.Cell[1]
	case "m_cellZ":
		parts = &b.Cell[2]
	case "m_vecX":
		parts = &b.Vec[0]
	case "m_vecY":
		parts = &b.Vec[1]
	case "m_vecZ":
		parts = &b.Vec[2]
	case "m_hParent":
		parts = &b.Parent
	default:
		return
	}
	if b.Place == 0 {
		b.Place = t.join(parent.Name, placeName)
		c.PlaceWanted = t.wantsField(c, b.Place)
	}
	*parts = append(slices.Clip(*parts), n.Cell)
	c.Body = b
	n.Body = true
}

// wantsField reports whether the field of a name is wanted.
func (t *Tree) wantsField(c *Class, name uint32) bool {
	return t.wants == nil || t.wants(t.Name(c.Name), t.Name(name))
}

// Present returns the value of the first of some cells that has one. ok is false when none has.
func (s *State) Present(cells []int32) (v value.Cell, ok bool) {
	for _, at := range cells {
		if uint(at) < uint(len(s.Cells)) && s.Cells[at].Kind != value.None {
			return s.Cells[at], true
		}
	}
	return value.Cell{}, false
}
