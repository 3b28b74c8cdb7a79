package dem

import (
	"strconv"
	"strings"
)

// fieldType is the type of a field as the schema spells it (docs/formats/dem.md, Types):
//
//	type = base [ "< " type " >" ] [ "*" ] [ "[" count "]" ]
type fieldType struct {
	base    string
	generic string // what stands between the angle brackets, empty for none
	pointer bool
	count   int // of an array; 0 for none
}

// namedCounts are the array lengths that the schema gives by name. They only bound an index.
var namedCounts = map[string]int{
	"MAX_ITEM_STOCKS":                    8,
	"MAX_ABILITY_DRAFT_ABILITIES":        48,
	"DOTA_ABILITY_DRAFT_HEROES_PER_GAME": 10,
}

const unknownCount = 1024

// parseFieldType takes a type apart. It accepts anything: what does not follow the grammar becomes part of the base,
// which then is a type that nobody knows.
func parseFieldType(s string) fieldType {
	t := fieldType{base: strings.Trim(s, " ")}
	if n := len(t.base); n > 0 && t.base[n-1] == ']' {
		if open := strings.LastIndexByte(t.base, '['); open > 0 {
			name := strings.Trim(t.base[open+1:n-1], " ")
			count, err := strconv.Atoi(name)
			if err != nil || count <= 0 || count > maxElements {
				count = unknownCount
				if named, ok := namedCounts[name]; ok {
					count = named
				}
			}
			t.count = count
			t.base = strings.Trim(t.base[:open], " ")
		}
	}
	if n := len(t.base); n > 0 && t.base[n-1] == '*' {
		t.pointer = true
		t.base = strings.Trim(t.base[:n-1], " ")
	}
	if n := len(t.base); n > 0 && t.base[n-1] == '>' {
		for open := range n {
			if t.base[open] == '<' {
				t.generic = strings.Trim(t.base[open+1:n-1], " ")
				t.base = strings.Trim(t.base[:open], " ")
				break
			}
		}
	}
	return t
}

// shape is how a field's values lie in the path tree (docs/formats/dem.md, Kinds of fields).
type shape uint8

const (
	shapeValue   shape = iota // a value
	shapePointer              // an object that may be absent; below it, the fields of its serializer
	shapeTable                // a list of objects; below it elements, below each the fields of the serializer
	shapeVector               // a list of values; below it elements
	shapeArray                // an array of values; it has no value itself
)

// pointerBases are types that are pointers although old schemas do not spell the star.
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

func (t *fieldType) shape(hasSerializer bool) shape {
	switch {
	case hasSerializer && (t.pointer || pointerBases[t.base]):
		return shapePointer
	case hasSerializer:
		return shapeTable
	case vectorBases[t.base]:
		return shapeVector
	case t.count > 0 && t.base != "char":
		return shapeArray
	}
	return shapeValue
}
