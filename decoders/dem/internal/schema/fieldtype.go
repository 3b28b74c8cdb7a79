package schema

import (
	"strconv"
	"strings"
)

// Type is the type of a field as the schema spells it (docs/formats/dem.md, Types):
//
//	type = base [ "< " type " >" ] [ "*" ] [ "[" count "]" ]
type Type struct {
	Base    string
	Generic string // the text between the angle brackets, or empty
	pointer bool
	count   int // of an array; 0 for none
}

// namedCounts are the array lengths that the schema names. They only limit an index.
var namedCounts = map[string]int{
	"MAX_ITEM_STOCKS":                    8,
	"MAX_ABILITY_DRAFT_ABILITIES":        48,
	"DOTA_ABILITY_DRAFT_HEROES_PER_GAME": 10,
}

const unknownCount = 1024

// ParseType parses a type. It accepts any text: text that does not follow the grammar becomes part of the base, and the base
// is then an unknown type.
func ParseType(s string) Type {
	t := Type{Base: strings.Trim(s, " ")}
	if n := len(t.Base); n > 0 && t.Base[n-1] == ']' {
		if open := strings.LastIndexByte(t.Base, '['); open > 0 {
			name := strings.Trim(t.Base[open+1:n-1], " ")
			count, err := strconv.Atoi(name)
			if err != nil || count <= 0 || count > MaxElements {
				count = unknownCount
				if named, ok := namedCounts[name]; ok {
					count = named
				}
			}
			t.count = count
			t.Base = strings.Trim(t.Base[:open], " ")
		}
	}
	if n := len(t.Base); n > 0 && t.Base[n-1] == '*' {
		t.pointer = true
		t.Base = strings.Trim(t.Base[:n-1], " ")
	}
	if n := len(t.Base); n > 0 && t.Base[n-1] == '>' {
		for open := range n {
			if t.Base[open] == '<' {
				t.Generic = strings.Trim(t.Base[open+1:n-1], " ")
				t.Base = strings.Trim(t.Base[:open], " ")
				break
			}
		}
	}
	return t
}

// Shape is the arrangement of a field's values in the path tree (docs/formats/dem.md, Kinds of fields).
type Shape uint8

// The shapes.
const (
	ShapeValue   Shape = iota // a value
	ShapePointer              // an object that may be absent; below it, the fields of its serializer
	ShapeTable                // a list of objects; below it elements, below each the fields of the serializer
	ShapeVector               // a list of values; below it elements
	ShapeArray                // an array of values; it has no value itself
)

// pointerBases are pointer types that old schemas spell without the star.
var pointerBases = map[string]bool{
	"CBodyComponent": true, "CLightComponent": true, "CPhysicsComponent": true, "CRenderComponent": true,
	"CPlayerLocalData":               true,
	"CBodyComponentDCGBaseAnimating": true, "CBodyComponentBaseAnimating": true,
	"CBodyComponentBaseAnimatingOverlay": true, "CBodyComponentBaseModelEntity": true,
	"CBodyComponentSkeletonInstance": true, "CBodyComponentPoint": true, "CEntityIdentity": true,
	"PhysicsRagdollPose_t": true, "CDOTAGamerules": true, "CDOTAGameRules": true, "CDOTAGameManager": true,
	"CDOTASpectatorGraphManager": true, "CPlayer_CameraServices": true,
}

var vectorBases = map[string]bool{
	"CUtlVector": true, "CNetworkUtlVectorBase": true, "CUtlVectorEmbeddedNetworkVar": true,
}

// tableBases are further types that are lists of objects although they have no length. Baselines of 2015 prove the second one:
// only then do they end with their last bit.
var tableBases = map[string]bool{"m_SpeechBubbles": true, "DOTA_PlayerChallengeInfo": true}

// isTable reports whether a type with a serializer is known to be a list. An object of another type may lack its star.
func (t *Type) isTable() bool { return t.count > 0 || vectorBases[t.Base] || tableBases[t.Base] }

func (t *Type) shape(hasSerializer bool) Shape {
	switch {
	case hasSerializer && (t.pointer || pointerBases[t.Base]):
		return ShapePointer
	case hasSerializer:
		return ShapeTable
	case vectorBases[t.Base]:
		return ShapeVector
	case t.count > 0 && t.Base != "char":
		return ShapeArray
	}
	return ShapeValue
}
