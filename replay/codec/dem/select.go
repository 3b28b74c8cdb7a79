package dem

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/protoappend"
	"github.com/replayd/replayd/replay/filter"
)

// selector implements codec.Selector. From the wire bytes of an event it reads what the reader asks of the struct: the type, or the class
// and the fields' names.
type selector struct {
	entities entityFilter
	typed    bool // the filter has conditions on types
	names    *codec.Names
	strings  stringTable
	memory   []byte // of a narrowed entry
}

// newSelector returns nil for a filter that also changes what is decoded.
func newSelector(f *filter.Filter) codec.Selector {
	if f.Samples() || f.NamesType(uint8(dem.KindFault), typeName(dem.KindFault, int32(dem.FaultKindUnknownField), nil)) {
		return nil
	}
	return &selector{entities: entityFilter{Filter: f}, typed: f.HasTypes()}
}

// references says which fields of a kind of event refer to names, by their tags, of one byte each. A field of messages has its name as its
// field 1.
type references struct {
	class    byte // not there if it is 0
	fields   byte // messages
	optional [2]byte
}

var referring = [dem.KindCount]references{
	dem.KindEntityUpdated: {class: tagClass, fields: tagFields},
	dem.KindEntityCreated: {class: tagClass, fields: 5<<3 | 2},
	dem.KindEntityEntered: {class: tagClass, fields: 5<<3 | 2},
	dem.KindEntityLeft:    {class: tagClass},
	dem.KindEntityDeleted: {class: tagClass},
	dem.KindFault:         {optional: [2]byte{6<<3 | 0, 7<<3 | 0}},
}

// typing says which fields of a kind of event have the number and the name of its type. 0 stands for none.
type typing struct{ number, name protowire.Number }

var typings = [dem.KindCount]typing{
	dem.KindCombatLog:        {number: 1},
	dem.KindGameEvent:        {number: 1, name: 2},
	dem.KindStringTableEntry: {name: 2},
	dem.KindModifier:         {name: 5},
	dem.KindOrder:            {number: 2, name: 10},
	dem.KindMessage:          {number: 1, name: 2},
	dem.KindCommand:          {number: 1, name: 2},
	dem.KindFault:            {number: 1},
	dem.KindChatEvent:        {number: 1, name: 8},
	dem.KindAbilityChange:    {number: 3},
}

// From implements codec.Selector.
func (s *selector) From(names *codec.Names) { s.names = names }

// Name returns the name with a number of the Naming.
func (s *selector) Name(number uint32) string { return s.names.Name(number) }

// Match implements codec.Selector.
func (s *selector) Match(e *filter.Event, entry []byte) ([]byte, bool) {
	f := &s.entities
	switch kind := dem.Kind(e.Kind); {
	case f.Filter == nil:
		return entry, true
	case !f.Kind(e.Kind):
		return nil, false
	case referring[kind].class > 0:
		return s.matchEntity(e, entry)
	case s.typed && typings[kind] != typing{}:
		_, body := split(entry)
		return entry, f.MatchType(e, typeOf(kind, body))
	default:
		return entry, f.Match(e)
	}
}

func (s *selector) matchEntity(e *filter.Event, entry []byte) ([]byte, bool) {
	head, body := split(entry)
	refers := &referring[e.Kind]
	n := s.entities.class(s.names.Number(classOf(body)), s.Name).Match(e)
	switch {
	case n.None():
		return nil, false
	case refers.fields == 0:
		return entry, true
	case n.All():
		return entry, true // also one without fields: nothing was removed
	}
	out := s.memory[:0]
	out = append(out, codec.EventListField, 0)
	at := len(out)
	out = append(append(out, head...), 0)
	in := len(out)
	kept, removed := false, false
	for len(body) > 0 {
		part := body[:size(body)]
		body = body[len(part):]
		if part[0] == refers.fields {
			_, value := field(part)
			if !n.Keeps(*s.entities.field(s.names.Number(value), s.Name)) {
				removed = true
				continue
			}
			kept = true
		}
		out = append(out, part...)
	}
	s.memory = protoappend.Close(protoappend.Close(out, in), at)
	return s.memory, kept || n.Empty(removed)
}

// Append implements codec.Selector.
func (s *selector) Append(b *codec.Batch, e *filter.Event, entry []byte) {
	if b.Count == 0 {
		s.strings.begin()
	}
	b.Count++
	refers := referring[e.Kind]
	if refers == (references{}) {
		b.Events = append(b.Events, entry...)
		return
	}
	head, body := split(entry)
	out := b.Events
	out = append(out, codec.EventListField, 0)
	at := len(out)
	out = append(append(out, head...), 0)
	in := len(out)
	classed := refers.class == 0
	for len(body) > 0 {
		part := body[:size(body)]
		switch tag := part[0]; {
		case !classed && tag >= refers.class: // fields are in the order of their numbers
			classed = true
			out = s.class(b, out, refers.class, classOf(body))
			if tag != refers.class {
				continue
			}
		case tag == refers.fields:
			out = s.field(b, out, part)
		case tag == refers.optional[0] || tag == refers.optional[1]:
			index, _ := binary.Uvarint(part[1:])
			out = protoappend.Varint(append(out, tag), uint64(s.refer(b, uint32(index))))
		default:
			out = append(out, part...)
		}
		body = body[len(part):]
	}
	if !classed {
		out = s.class(b, out, refers.class, 0)
	}
	b.Events = protoappend.Close(protoappend.Close(out, in), at)
}

// class appends a reference that is left out if it is 0.
func (s *selector) class(b *codec.Batch, out []byte, tag byte, index uint32) []byte {
	if index = s.refer(b, index); index == 0 {
		return out
	}
	return protoappend.Varint(append(out, tag), uint64(index))
}

// field appends an entry of a field of messages with a name.
func (s *selector) field(b *codec.Batch, out, part []byte) []byte {
	rest, index := field(part)
	out = append(out, part[0], 0)
	at := len(out)
	return protoappend.Close(append(s.class(b, out, tagField, index), rest...), at)
}

// refer returns the index in a batch's names of what has an index in the names of the batch from which it comes.
func (s *selector) refer(b *codec.Batch, index uint32) uint32 {
	return s.strings.add(b, s, s.names.Number(index))
}

// split returns the fields of an event's entry up to the tag of its kind, and the message of the kind.
func split(entry []byte) (head, body []byte) {
	_, n := binary.Uvarint(entry[1:])
	head = entry[1+n:]
	n = 0
	if head[0] == tagAtTick {
		n = size(head)
	}
	_, tag := binary.Uvarint(head[n:])
	_, length := binary.Uvarint(head[n+tag:])
	return head[:n+tag], head[n+tag+length:]
}

// size returns the size of the field at the front of a message, whose tag has one byte.
func size(message []byte) int {
	switch message[0] & 7 {
	case byte(protowire.VarintType):
		_, n := binary.Uvarint(message[1:])
		return 1 + n
	case byte(protowire.BytesType):
		length, n := binary.Uvarint(message[1:])
		return 1 + n + int(length)
	case byte(protowire.Fixed64Type):
		return 1 + 8
	default:
		return 1 + 4
	}
}

// classOf returns the reference to the class in an event of an entity, or in the rest of one.
func classOf(body []byte) uint32 {
	for len(body) > 0 && body[0] < tagClass {
		body = body[size(body):]
	}
	if len(body) == 0 || body[0] != tagClass {
		return 0
	}
	index, _ := binary.Uvarint(body[1:])
	return uint32(index)
}

// field returns the reference in an entry of a field of messages, and the rest of the message.
func field(part []byte) (rest []byte, index uint32) {
	_, n := binary.Uvarint(part[1:])
	rest = part[1+n:]
	if len(rest) == 0 || rest[0] != tagField {
		return rest, 0
	}
	number, n := binary.Uvarint(rest[1:])
	return rest[1+n:], uint32(number)
}

// typeOf returns what typeName does for the message of an event of a kind that has types.
func typeOf(kind dem.Kind, body []byte) []byte {
	of := typings[kind]
	var number int32
	var name []byte
	for len(body) > 0 {
		field, wire, n := protowire.ConsumeTag(body)
		value := body[n:]
		switch field {
		case of.number:
			v, _ := protowire.ConsumeVarint(value)
			number = int32(v)
		case of.name:
			name, _ = protowire.ConsumeBytes(value)
		default:
		}
		body = value[protowire.ConsumeFieldValue(field, wire, value):]
	}
	if of.number == 0 {
		return name
	}
	return typeName(kind, number, name)
}
