package dem

import "bytes"

// schema is what the send tables of a file say: serializers, which are lists of fields. It is immutable, and shared by
// all decoders that meet the same bytes.
type schema struct {
	serializers []*serializer
	byKey       map[serializerKey]*serializer
	byName      map[string]*serializer // the last one of each name
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
	name  string
	typ   string
	shape shape
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

	// told is the field as the file describes it.
	told SerializerField
}

// symbol is a name of the schema.
type symbol struct {
	text string
	raw  []byte
}

func (s symbol) get() (text string, raw []byte) { return s.text, s.raw }

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

func parseFlattenedSerializer(data []byte, build int, game game) (*schema, bool) {
	data = bytes.Clone(data) // names stay parts of it
	var symbols []symbol
	var fieldData, serializerData [][]byte
	msg := wire{buf: data}
	for msg.next() {
		if len(symbols) > maxSymbols || len(serializerData) > maxSerializers || len(fieldData) > maxFields {
			return nil, false
		}
		switch msg.num {
		case 1:
			serializerData = append(serializerData, msg.raw)
		case 2:
			symbols = append(symbols, symbol{string(msg.raw), msg.raw})
		case 3:
			fieldData = append(fieldData, msg.raw)
		}
	}
	if msg.bad {
		return nil, false
	}
	sym := func(i int32) symbol {
		if uint32(i) < uint32(len(symbols)) {
			return symbols[i]
		}
		return symbol{}
	}
	s := &schema{
		serializers: make([]*serializer, 0, len(serializerData)),
		byKey:       make(map[serializerKey]*serializer, len(serializerData)),
		byName:      make(map[string]*serializer, len(serializerData)),
	}
	c := compiler{schema: s, raw: fieldData, sym: sym, fields: make([]*field, len(fieldData)), build: build, game: game}
	refs := 0
	var indices []int32
	for _, b := range serializerData {
		ser := &serializer{}
		indices = indices[:0]
		m := wire{buf: b}
		for m.next() {
			switch m.num {
			case 1:
				ser.name, ser.nameTold = sym(m.int32()).get()
			case 2:
				ser.version = m.int32()
			case 3:
				indices = m.appendInt32s(indices)
			}
		}
		if refs += len(indices); m.bad || refs > maxFieldRefs || len(indices) > maxIndex+1 {
			return nil, false
		}
		ser.fields = make([]*field, len(indices))
		for i, index := range indices {
			f := c.field(index, ser)
			if f == nil {
				return nil, false
			}
			ser.fields[i] = f
		}
		s.serializers = append(s.serializers, ser)
		// A name can occur twice: the last one counts, from there on.
		s.byKey[serializerKey{ser.name, ser.version}] = ser
		s.byName[ser.name] = ser
	}
	return s, true
}
