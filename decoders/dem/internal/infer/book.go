// Package infer finds out how to read types of fields that the decoder does not know, from how long what has them is.
package infer

import (
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Family is a way of reading that a type which the decoder does not know may turn out to have. It stands for all types
// that are read so, and follows the encoder, bits and bounds of each field as they do.
type Family uint8

// The families.
const (
	FamilyUnsigned Family = iota // as most enums: what an unknown type is until it is known better
	FamilySigned
	FamilyBool
	FamilyFloat
	FamilyVector
	FamilyAngles
	FamilyText
	FamilyByte
	FamilyVector2
	FamilyVector4
	FamilyTransform
	FamilyBlob
	FamilyCount
)

// FamilyList is a list of values, which a type is whose fields have others below them.
const FamilyList = FamilyCount

// familyTypes are the types that the families are named after.
var familyTypes = [FamilyCount + 1]string{
	"uint64", "int64", "bool", "float32", "Vector", "QAngle", "CUtlString", "BloodType", "Vector2D", "Vector4D", "CTransform",
	"CUtlBinaryBlock", "CUtlVector",
}

// String returns a known type that is read as the family is.
func (f Family) String() string { return familyTypes[f] }

// State says whether it is known how to read a type.
type State uint8

// The states.
const (
	Unseen  State = iota // no value of it was met where types are learnt
	Proven               // read as its family, everything that has values of it has the size that the file announces
	Refuted              // however it is read, something that has values of it has another size
)

// Guess is what is believed of an unknown type. It is made where packets with entities begin, from what every decoder of
// the file reads there, and does not change: so events do not depend on which of them are wanted.
type Guess struct {
	Name   string
	Family Family
	State  State
	// Proofs is how many default states and creations with values of it were read to their end.
	Proofs int
	// MaybeSigned says that its values, which are read as unsigned numbers, may be signed ones: they are even or few.
	MaybeSigned bool
}

// Sure reports whether numbers of the type are what they are read as: values were met that are odd too often for signed ones, or
// even too often for others.
func (g *Guess) Sure() bool { return g.State == Proven && !g.MaybeSigned }

// codecKey is a field, or the elements of it, read as of a family.
type codecKey struct {
	field  *schema.Field
	elem   bool
	family Family
}

// Book has the guesses of a decoder. It is not safe for concurrent use.
type Book struct {
	guesses map[string]*Guess
	codecs  map[codecKey]*value.Codec
}

// NewBook returns an empty book.
func NewBook() Book {
	return Book{guesses: map[string]*Guess{}, codecs: map[codecKey]*value.Codec{}}
}

// maxGuessedCodecs bounds the codecs that are made for fields of unknown types.
const maxGuessedCodecs = 1 << 14

// of returns what is believed of a type.
func (b *Book) of(name string) *Guess {
	g := b.guesses[name]
	if g == nil {
		g = &Guess{Name: name}
		b.guesses[name] = g
	}
	return g
}

// Refuted reports whether a type cannot be read.
func (b *Book) Refuted(name string) bool {
	g := b.guesses[name]
	return g != nil && g.State == Refuted
}

// OfField returns what is believed of the type of a field, or of its elements.
func (b *Book) OfField(f *schema.Field, elem bool) *Guess {
	if elem {
		return b.of(f.UnknownElem)
	}
	return b.of(f.Unknown)
}

// Codec returns how a field of an unknown type, or its elements, are read when the type is of a family.
func (b *Book) Codec(f *schema.Field, elem bool, fam Family) *value.Codec {
	key := codecKey{f, elem, fam}
	if c := b.codecs[key]; c != nil {
		return c
	}
	if len(b.codecs) >= maxGuessedCodecs {
		if elem {
			return &f.Elem
		}
		return &f.Own
	}
	c := value.Codec{Op: value.OpLength}
	if fam != FamilyList {
		c = f.Codec(schema.Type{Base: familyTypes[fam]})
	}
	b.codecs[key] = &c
	return &c
}

// Sorted returns all guesses by name.
func (b *Book) Sorted() []*Guess {
	out := make([]*Guess, 0, len(b.guesses))
	for _, g := range b.guesses {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, o *Guess) int { return strings.Compare(a.Name, o.Name) })
	return out
}
