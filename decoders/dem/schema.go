package dem

import "bytes"

// schema is what the send tables of a file say: serializers, which are lists of fields. It is immutable, and shared by
// all decoders that meet the same bytes.
type schema struct {
	serializers []*serializer
	byKey       map[serializerKey]*serializer
	byName      map[string]*serializer // the last one of each name
	// guesses: there are fields of types that nobody knows.
	guesses bool
	// held is about how much memory it takes, in bytes.
	held int
}

type serializerKey struct {
	name    string
	version int32
}

// serializer is a list of fields. A path index is a position in it.
type serializer struct {
	name     string
	version  int32
	fields   []*field
	nameTold []byte
}

// field is one field of a serializer, ready to be decoded.
type field struct {
	name string
	// symbol is the number of the name in the schema.
	symbol int32
	typ    string
	shape  shape
	// own reads the field's own value, elem the values of the elements of a vector or an array.
	own, elem codec
	// types are the serializers of what is below: more than one for a polymorphic pointer.
	types []*serializer
	count int // length of an array

	bitCount        int32
	low, high       float32
	hasLow, hasHigh bool
	flags           int32
	encoder         string
	// minusOne: numbers are sent plus one, so that -1 takes a byte.
	minusOne bool

	// unknown is the type of the field's value, unknownElem that of its elements, when nobody knows it.
	unknown, unknownElem string

	// told is the field as the file describes it.
	told SerializerField
	// long is the same with a longer name, for serializers that have others of its name.
	long *field
}

// symbol is a name of the schema.
type symbol struct {
	text string
	raw  []byte
}

// lookup finds a serializer by name and version, and falls back on the last one of that name.
func (s *schema) lookup(name string, version int32) *serializer {
	if ser, ok := s.byKey[serializerKey{name, version}]; ok {
		return ser
	}
	return s.byName[name]
}

// Limits of a schema: ten times what the largest game has.
const (
	maxSymbols     = 1 << 17
	maxSerializers = 1 << 15
	maxFields      = 1 << 16
	maxFieldRefs   = 1 << 21 // fields of all serializers together
)

// parseSendTables reads CDemoSendTables.data: a length and a CSVCMsg_FlattenedSerializer. ok is false when the bytes
// are no such thing.
func parseSendTables(data []byte, build int, game game) (*schema, bool) {
	n, used := uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, false
	}
	return parseFlattenedSerializer(data[used:used+int(n)], build, game)
}

// parseFlattenedSerializer reads a CSVCMsg_FlattenedSerializer.
func parseFlattenedSerializer(data []byte, build int, game game) (*schema, bool) {
	data = bytes.Clone(data) // names stay parts of it
	c := compiler{build: build, game: game}
	var serializers [][]byte
	m := wire{buf: data}
	for m.next() {
		if len(c.symbols) > maxSymbols || len(serializers) > maxSerializers || len(c.raw) > maxFields {
			return nil, false
		}
		switch m.num {
		case 1:
			serializers = append(serializers, m.raw)
		case 2:
			c.symbols = append(c.symbols, symbol{string(m.raw), m.raw})
		case 3:
			c.raw = append(c.raw, m.raw)
		}
	}
	if m.bad {
		return nil, false
	}
	return c.compile(serializers)
}
