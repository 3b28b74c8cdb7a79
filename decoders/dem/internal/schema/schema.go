// Package schema compiles the send tables of a demo: which fields classes of entities have, and how their values are read.
package schema

import (
	"bytes"

	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/value"
)

// Schema holds the compiled send tables of a file: a list of serializers. It does not change, and all decoders of files with the
// same send tables share it.
type Schema struct {
	Serializers []*Serializer
	byKey       map[key]*Serializer
	ByName      map[string]*Serializer // the last serializer of each name
	// Guesses reports whether any field has an unknown type or encoder.
	Guesses bool
	// Unknown counts the unknown fields of the send tables.
	Unknown pb.Log
	// Sum identifies the contents of a schema that a Cache returned.
	Sum Key
	// Held is the approximate memory that it takes, in bytes, without Kept.
	Held int
	// Kept is what decoders share besides.
	Kept Kept
}

type key struct {
	name    string
	version int32
}

// Serializer is a list of fields. A path index is a position in it.
type Serializer struct {
	Name    string
	Version int32
	Fields  []*Field
	RawName []byte // the name as bytes, for events
}

// Field is one field of a serializer, ready to be decoded.
type Field struct {
	Name string
	// symbol is the number of the name in the schema.
	symbol int32
	Type   string
	Shape  Shape
	// Own reads the field's own value. Elem reads the elements of a vector or an array.
	Own, Elem value.Codec
	// Types are the serializers of the objects below the field. A polymorphic pointer has more than one.
	Types []*Serializer
	Count int // length of an array

	bitCount        int32
	low, high       float32
	hasLow, hasHigh bool
	flags           int32
	encoder         string
	// minusOne: numbers are sent plus one, so that -1 takes a byte.
	minusOne bool

	// Unknown says what is unknown about reading the field's own value, and UnknownElem about its elements. Both are nil if
	// everything is known.
	Unknown, UnknownElem *Unknown

	// Described is the field's description in the file.
	Described Description
	// long is the field with a longer name, for serializers with another field of its name.
	long *Field
}

// Description is the description of a field in the file. It has the fields of dem.SerializerField, to which it is converted.
type Description struct {
	Name, Type        []byte
	BitCount          int32
	Low               float32
	HasLow            bool
	High              float32
	HasHigh           bool
	EncodeFlags       int32
	Encoder           []byte
	Serializer        []byte
	SerializerVersion int32
	SendNode          []byte
	Polymorphic       [][]byte
}

// symbol is a name of the schema.
type symbol struct {
	text string
	raw  []byte
}

// Lookup returns the serializer with a name and version. If the version does not exist, it returns the last serializer with
// the name. If the name does not exist, it returns nil.
func (s *Schema) Lookup(name string, version int32) *Serializer {
	if ser, ok := s.byKey[key{name, version}]; ok {
		return ser
	}
	return s.ByName[name]
}

// MaxElements is the limit of the length of lists.
const MaxElements = 1 << 14

// Limits of a schema: ten times the largest game's values.
const (
	maxSymbols     = 1 << 17
	maxSerializers = 1 << 15
	maxFields      = 1 << 16
	maxFieldRefs   = 1 << 21 // fields of all serializers together
)

// Parse reads CDemoSendTables.data: a length and a CSVCMsg_FlattenedSerializer. dotaBuild is the build of Dota 2 that
// recorded the file, or 0 for another game or an unknown build. ok is false when the bytes are malformed; a schema that is not nil then has only
// Unknown.
func Parse(data []byte, dotaBuild int) (s *Schema, ok bool) {
	n, used := pb.Uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, false
	}
	return ParseFlattened(data[used:used+int(n)], dotaBuild)
}

// ParseFlattened reads a CSVCMsg_FlattenedSerializer. It is otherwise like Parse.
func ParseFlattened(data []byte, dotaBuild int) (s *Schema, ok bool) {
	data = bytes.Clone(data) // the names keep referring to it
	c := compiler{dotaBuild: dotaBuild, schema: &Schema{}}
	m := pb.Read(data, lexicon.Type("CSVCMsg_FlattenedSerializer"), &c.schema.Unknown)
	for m.Next() {
		if len(c.symbols) > maxSymbols || len(c.serializers) > maxSerializers || len(c.raw) > maxFields {
			return c.schema, false
		}
		switch m.Num {
		case 1:
			c.serializers = append(c.serializers, m.Raw)
		case 2:
			c.symbols = append(c.symbols, symbol{string(m.Raw), m.Raw})
			c.deadlock = c.deadlock || bytes.HasPrefix(m.Raw, []byte("CCitadel"))
		case 3:
			c.raw = append(c.raw, m.Raw)
			own := survey(m.Message())
			c.saysShifted = c.saysShifted || own
		}
	}
	if m.Bad {
		return c.schema, false
	}
	return c.compile()
}
