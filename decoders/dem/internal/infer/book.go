// Package infer infers how to read field types that the decoder does not know. It uses the announced sizes of the data with
// values of such types.
package infer

import (
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Family is a way of reading that an unknown type may have. It stands for all types that are read in this way. Like them, it
// follows the encoder, bits and bounds of each field.
type Family uint8

// The families.
const (
	FamilyUnsigned Family = iota // as most enums: the first guess for an unknown type
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

// FamilyList is a list of values. It is the family of a type whose fields have other fields below them.
const FamilyList = FamilyCount

// familyTypes are the types that the families are named after.
var familyTypes = [FamilyCount + 1]string{
	"uint64", "int64", "bool", "float32", "Vector", "QAngle", "CUtlString", "BloodType", "Vector2D", "Vector4D", "CTransform",
	"CUtlBinaryBlock", "CUtlVector",
}

// String returns a known type that is read in the same way as the family.
func (f Family) String() string { return familyTypes[f] }

// State is the state of a guess: whether the decoder knows how to read the type.
type State uint8

// The states.
const (
	Unseen  State = iota // no value of it was met yet in the data that types are inferred from
	Proven               // read as its family, everything that has values of it has the size that the file announces
	Refuted              // however it is read, something that has values of it has another size
)

// Guess is the guess about an unknown type. It is made where packets with entities begin, from the data that every decoder of
// the file reads there, and does not change. So events do not depend on the options of a decoder.
type Guess struct {
	// Number is its number in the Book, from 1 on. Copies of the guesses have the same numbers.
	Number int32
	Name   string
	Family Family
	State  State
	// Proofs is how many default states and creations with values of it were read to their end.
	Proofs int
	// MaybeSigned reports whether it is open if its values are signed: most are even, or few were met. Values that are odd often
	// are unsigned, but even ones prove nothing: an unsigned type may have only even values.
	MaybeSigned bool
}

// Sure reports whether the type is proven, and its numbers are certainly unsigned or not numbers at all. Numbers that are read
// as signed are never certain.
func (g *Guess) Sure() bool { return g.State == Proven && !g.MaybeSigned }

// codecKey is a field, or its elements, when read as a family.
type codecKey struct {
	field  *schema.Field
	elem   bool
	family Family
}

// Book holds the guesses of a decoder. It is not safe for concurrent use.
type Book struct {
	guesses map[string]*Guess
	list    []*Guess // by number
	codecs  map[codecKey]*value.Codec
}

// NewBook returns an empty book.
func NewBook() Book {
	return Book{guesses: map[string]*Guess{}, list: []*Guess{nil}, codecs: map[codecKey]*value.Codec{}}
}

// maxGuessedCodecs bounds the codecs that are made for fields of unknown types.
const maxGuessedCodecs = 1 << 14

// of returns the guess about a type. It adds one for a new type.
func (b *Book) of(name string) *Guess {
	g := b.guesses[name]
	if g == nil {
		g = &Guess{Number: int32(len(b.list)), Name: name}
		b.add(g)
	}
	return g
}

func (b *Book) add(g *Guess) {
	b.guesses[g.Name] = g
	b.list = append(b.list, g)
}

// At returns the guess with a number, or nil for 0.
func (b *Book) At(number int32) *Guess { return b.list[number] }

// Len returns how many guesses there are.
func (b *Book) Len() int { return len(b.list) - 1 }

// Refuted reports whether a type cannot be read.
func (b *Book) Refuted(name string) bool {
	g := b.guesses[name]
	return g != nil && g.State == Refuted
}

// OfField returns the guess about the type of a field, or of its elements.
func (b *Book) OfField(f *schema.Field, elem bool) *Guess {
	if elem {
		return b.of(f.UnknownElem)
	}
	return b.of(f.Unknown)
}

// Codec returns the codec that reads a field of an unknown type, or its elements, as a family.
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

// Copy returns copies of all guesses, in the order of their numbers.
func (b *Book) Copy() []Guess {
	out := make([]Guess, 0, b.Len())
	for _, g := range b.list[1:] {
		out = append(out, *g)
	}
	return out
}

// Put adds copies of guesses, as Copy returned them, to an empty book.
func (b *Book) Put(guesses []Guess) {
	for _, g := range guesses {
		b.add(&g)
	}
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
