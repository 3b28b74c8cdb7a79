package dem

import (
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// family is a way of reading that a type which the decoder does not know may turn out to have. It stands for all types
// that are read so, and follows the encoder, bits and bounds of each field as they do.
type family uint8

const (
	familyUnsigned family = iota // as most enums: what an unknown type is until it is known better
	familySigned
	familyBool
	familyFloat
	familyVector
	familyAngles
	familyText
	familyByte
	familyVector2
	familyVector4
	familyTransform
	familyBlob
	familyCount
)

// familyList is a list of values: of a type whose fields have others below them.
const familyList = familyCount

// familyTypes are the types that the families are named after.
var familyTypes = [familyCount + 1]string{
	"uint64", "int64", "bool", "float32", "Vector", "QAngle", "CUtlString", "BloodType", "Vector2D", "Vector4D", "CTransform",
	"CUtlBinaryBlock", "CUtlVector",
}

func (f family) String() string { return familyTypes[f] }

// typeState is what is known of how to read a type.
type typeState uint8

const (
	typeUnseen  typeState = iota // no value of it was met where the decoder learns types
	typeProven                   // read so, everything that has values of it has the size that the file tells
	typeRefuted                  // however it is read, something that has values of it does not have its size
)

// guess is what is believed of a type that the decoder does not know. It is made where entities begin, of what every
// decoder of the file meets there, and does not change: what is told of a file does not depend on what is asked for.
type guess struct {
	name   string
	family family
	state  typeState
	// proofs is how many default states and creations with values of it were read to their end.
	proofs int
	// maybeSigned: its values are read as unsigned numbers, but may be signed ones, for they are even or few.
	maybeSigned bool
}

// codecKey is a field, or the elements of it, read as of a family.
type codecKey struct {
	field  *schema.Field
	elem   bool
	family family
}

// typeBook keeps what is believed of types that the decoder does not know.
type typeBook struct {
	guesses map[string]*guess
	codecs  map[codecKey]*value.Codec
}

func newTypeBook() typeBook {
	return typeBook{guesses: map[string]*guess{}, codecs: map[codecKey]*value.Codec{}}
}

// maxGuessedCodecs bounds the codecs that are made for fields of unknown types.
const maxGuessedCodecs = 1 << 14

// of returns what is believed of a type.
func (b *typeBook) of(name string) *guess {
	g := b.guesses[name]
	if g == nil {
		g = &guess{name: name}
		b.guesses[name] = g
	}
	return g
}

// refuted reports whether nobody knows how to read a type.
func (b *typeBook) refuted(name string) bool {
	g := b.guesses[name]
	return g != nil && g.state == typeRefuted
}

// ofField returns what is believed of the type of a field, or of its elements.
func (b *typeBook) ofField(f *schema.Field, elem bool) *guess {
	if elem {
		return b.of(f.UnknownElem)
	}
	return b.of(f.Unknown)
}

// codec returns how a field of an unknown type, or its elements, are read when the type is of a family.
func (b *typeBook) codec(f *schema.Field, elem bool, fam family) *value.Codec {
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
	if fam != familyList {
		c = f.Codec(schema.Type{Base: familyTypes[fam]})
	}
	b.codecs[key] = &c
	return &c
}

// sorted returns all guesses by name.
func (b *typeBook) sorted() []*guess {
	out := make([]*guess, 0, len(b.guesses))
	for _, g := range b.guesses {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, o *guess) int { return strings.Compare(a.name, o.name) })
	return out
}
