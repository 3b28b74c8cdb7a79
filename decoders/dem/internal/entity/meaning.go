package entity

import (
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Meaning says what a field's number stands for. It selects the table with the number's name.
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

// drafted are the lists of heroes by number in the rules of games with a draft.
var drafted = map[string]bool{"m_BannedHeroes": true, "m_SelectedHeroes": true, "m_vecNewBannedHeroes": true}

// meanings are the meanings of fields that the name alone decides.
var meanings = map[string]Meaning{
	"m_nGameState": GameState, "m_iRuneType": Rune, "m_iTeamNum": Team, "m_eRoundWinReason": RoundEnd, "m_lifeState": LifeState,
}

// meaningOf returns the meaning of the values that a codec of a field reads.
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

// Body holds the numbers of the cells that make up an entity's place. It is immutable.
type Body struct {
	// The first cell of each part, -1 if there is none, and further ones if the body may be of several types.
	first   [bodyParts]int32
	further [bodyParts][]int32
	// Place is the name of the field that delivers the place.
	Place uint32
	// Guessed are the parts of an unknown type or encoder.
	Guessed []GuessedPart
}

// GuessedPart is a part of a place: its cell in the state, and the number of its guess.
type GuessedPart struct{ Cell, Guess int32 }

// The parts of a body: the entity's parent, its cell of the map, and its offset within that, by axis.
const (
	BodyParent = 0
	BodyCell   = 1
	BodyOffset = 4
	bodyParts  = 7
)

// bodyFields are the names of the fields that are parts of a body.
var bodyFields = [bodyParts]string{"m_hParent", "m_cellX", "m_cellY", "m_cellZ", "m_vecX", "m_vecY", "m_vecZ"}

// Of returns the cell of a part in a state, like State.At.
func (b *Body) Of(s *State, part int) *value.Cell {
	if c := s.At(b.first[part]); c.Kind != value.None {
		return c
	}
	return b.ofFurther(s, part)
}

func (b *Body) ofFurther(s *State, part int) *value.Cell {
	for _, at := range b.further[part] {
		if c := s.At(at); c.Kind != value.None {
			return c
		}
	}
	return &absent
}

// bodies is the name of the object with an entity's place, and placeName the name of the place in it.
const (
	bodies    = "CBodyComponent"
	placeName = "place"

	// PlaceField is the full name of the place, and PlacePart that of a field which every class with places has.
	PlaceField = bodies + "." + placeName
	PlacePart  = bodies + ".m_cellX"
)

// addToBody notes a node with a cell, if it is part of a place.
func (t *Tree) addToBody(c *Class, parent, n *Node) {
	if parent.Field == nil || parent.Field.Name != bodies || parent.List {
		return
	}
	part := slices.Index(bodyFields[:], n.Field.Name)
	if part < 0 {
		return
	}
	b := &Body{first: [bodyParts]int32{-1, -1, -1, -1, -1, -1, -1}}
	if c.Body != nil {
		*b = *c.Body
	}
	if b.Place == 0 {
		b.Place = t.join(parent.Name, placeName)
		c.PlaceWanted = t.wantsField(c, b.Place)
	}
	if b.first[part] < 0 {
		b.first[part] = n.Cell
	} else {
		b.further[part] = append(slices.Clip(b.further[part]), n.Cell)
	}
	if n.Guess != 0 {
		b.Guessed = append(slices.Clip(b.Guessed), GuessedPart{n.Cell, n.Guess})
	}
	c.Body = b
	n.Body, n.Parent = true, part == BodyParent
}

// wantsField reports whether the field with a name is wanted.
func (t *Tree) wantsField(c *Class, name uint32) bool {
	return t.wants == nil || t.wants(t.Name(c.Name), t.Name(name))
}
