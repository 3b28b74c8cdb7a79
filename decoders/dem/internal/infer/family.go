package infer

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Family is a way of reading values of an unknown type or encoder: its number among the ways of a guess. A way of an unknown type
// stands for all types that are read in this way. Like them, it follows the encoder, bits and bounds of each field.
type Family uint8

// The families that a guess begins with, and two that are never tried.
const (
	// FamilyFirst reads an unknown type like most enums, and values with an unknown encoder like values without one.
	FamilyFirst Family = 0
	// FamilySigned reads signed numbers, which are as long as unsigned ones.
	FamilySigned Family = math.MaxUint8 - 1
	// FamilyList is a list of values. It is the family of a type whose fields have other fields below them.
	FamilyList Family = math.MaxUint8
)

// Families is a set of families.
type Families uint64

// Has reports whether a family is in the set.
func (s Families) Has(f Family) bool { return s>>f&1 != 0 }

// All returns the families of the set, the first one first.
func (s Families) All() iter.Seq[Family] {
	return func(yield func(Family) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(Family(bits.TrailingZeros64(uint64(s)))) {
				return
			}
		}
	}
}

// way is a way of reading values: as a type, with an encoder. If one is empty, it is the field's own.
type way struct{ base, encoder string }

// list is the type of lists.
const list = "CUtlVector"

// typeWays are the ways of an unknown type. Each is named after a known type that is read in this way.
var typeWays = []way{
	{base: "uint64"}, {base: "bool"}, {base: "float32"}, {base: "Vector"}, {base: "QAngle"}, {base: "CUtlString"}, {base: "BloodType"},
	{base: "Vector2D"}, {base: "Vector4D"}, {base: "CTransform"}, {base: "CUtlBinaryBlock"},
}

// waysOf returns the ways to read something unknown.
func waysOf(u *schema.Unknown) []way {
	ways := []way{{}}
	switch {
	case u.List:
		return []way{{base: list}}
	case u.Type:
		ways = typeWays
	}
	if !u.Encoder {
		return ways
	}
	for _, w := range slices.Clip(ways) {
		base := w.base
		if base == "" {
			base = u.Base
		}
		for _, encoder := range schema.EncodersOf(base) {
			ways = append(slices.Clip(ways), way{w.base, encoder})
		}
	}
	return ways
}

// way returns the way of a family of the guess.
func (g *Guess) way(f Family) way {
	var w way
	switch f {
	case FamilySigned:
		w.base = "int64"
	case FamilyList:
		w.base = list
	default:
		w = g.ways[f]
	}
	if w.base == "" {
		w.base = g.Base
	}
	return w
}

// codec returns the codec of a field for a family of its guess.
func (g *Guess) codec(f *schema.Field, fam Family) value.Codec {
	w := g.way(fam)
	if w.base == list {
		return value.Codec{Op: value.OpLength}
	}
	return f.CodecAs(w.base, w.encoder)
}

// ReadAs returns a known type that is read like the guess, with its encoder in brackets, if it needs one.
func (g *Guess) ReadAs() string {
	w := g.way(g.Family)
	if w.encoder != "" {
		return w.base + "(" + w.encoder + ")"
	}
	return w.base
}
