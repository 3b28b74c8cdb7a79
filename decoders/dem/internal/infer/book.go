// Package infer infers how to read field types that the decoder does not know. It uses the announced sizes of the data with
// values of such types.
package infer

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/replayd/replayd/decoders/dem/internal/schema"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// State is the state of a guess: whether the decoder knows how to read the type.
type State uint8

// The states.
const (
	Unseen  State = iota // no value was met yet in the data that types are inferred from
	Proven               // read as its family, all data with such values has the announced size
	Refuted              // however it is read, some data with such values has another size
)

// Guess is the guess about an unknown type, or about values of a type with an unknown encoder. It is made where packets with
// entities begin, from the data that every decoder of the file reads there, and does not change. So events do not depend on the
// options of a decoder.
type Guess struct {
	// Number is its number in the Book, from 1 on. Copies of the guesses have the same numbers.
	Number int32
	schema.Unknown
	ways   []way // the ways that are tried
	Family Family
	State  State
	// Open are the families that may be right: no data with such values rules them out.
	Open Families
	// Proofs is the number of default states and creations with such values that were read to their end.
	Proofs int
	// MaybeSigned reports whether the values may be signed: most are even, or few were met. A type with many odd values is
	// unsigned, but even values prove nothing, because an unsigned type may have only even ones.
	MaybeSigned bool
}

// Sure reports whether a value that was read by the guess is certainly right. number is the value, if isNumber. Values with an
// unknown encoder are never sure, because the length does not show what the encoder does with a number. Numbers of signed
// families are never sure, except 0, which is the same either way.
func (g *Guess) Sure(number int64, isNumber bool) bool {
	switch {
	case g.Encoder:
		return false
	case !isNumber:
		return true
	case g.MayBeShifted:
		return false
	}
	return number == 0 || g.State == Proven && !g.MaybeSigned
}

// codecKey is a field, or its elements, read as a family.
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

// maxGuessedCodecs bounds the codecs that are kept for fields of unknown types.
const maxGuessedCodecs = 1 << 14

// of returns the guess about something unknown, and adds one if there is none.
func (b *Book) of(u *schema.Unknown) *Guess {
	g := b.guesses[u.Name]
	if g == nil {
		g = &Guess{Number: int32(len(b.list)), Unknown: *u, ways: waysOf(u)}
		if g.Open = 1<<len(g.ways) - 1; u.Numeric {
			g.Open = 1 << FamilyFirst
		}
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

// Refuted reports whether values cannot be read. u is nil if everything is known about them.
func (b *Book) Refuted(u *schema.Unknown) bool {
	if u == nil {
		return false
	}
	g := b.guesses[u.Name]
	return g != nil && g.State == Refuted
}

// OfField returns the guess about the values of a field, or about its elements.
func (b *Book) OfField(f *schema.Field, elem bool) *Guess {
	if elem {
		return b.of(f.UnknownElem)
	}
	return b.of(f.Unknown)
}

// Codec returns the codec that reads a field with the guess g, or its elements, as a family.
func (b *Book) Codec(f *schema.Field, elem bool, g *Guess, fam Family) *value.Codec {
	key := codecKey{f, elem, fam}
	if c := b.codecs[key]; c != nil {
		return c
	}
	c := g.codec(f, fam)
	if len(b.codecs) < maxGuessedCodecs {
		b.codecs[key] = &c
	}
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

// Append appends all that reading values depends on.
func (b *Book) Append(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(b.Len()))
	for _, g := range b.list[1:] {
		for _, text := range [...]string{g.Name, g.Base} {
			to = append(binary.AppendUvarint(to, uint64(len(text))), text...)
		}
		for _, is := range [...]bool{g.Type, g.Encoder, g.List, g.Numeric, g.MayBeShifted, g.MaybeSigned} {
			to = append(to, 0)
			if is {
				to[len(to)-1] = 1
			}
		}
		to = binary.LittleEndian.AppendUint64(append(to, byte(g.Family), byte(g.State)), uint64(g.Open))
	}
	return to
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
