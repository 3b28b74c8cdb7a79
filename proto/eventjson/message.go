package eventjson

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
)

// message is a compiled message type.
type message struct {
	fields []field       // in the order of the .proto
	index  map[int32]int // from field number to index in fields
	small  [64]int8      // index in fields by small field number; -1 if there is none

	ascending bool   // fields are in the order of their numbers, in which messages are written
	unset     string // keys and values of all fields when they are not set, but for those that are not printed then
	refs      bool   // there are others, whose values depend on the batch
}

type field struct {
	number   protowire.Number
	name     string
	key      string         // `,"name":`
	padded   [keyBytes]byte // key, if it is not longer
	start    string         // what a line of this kind has before the value
	unset    int            // where the field's part of the message's unset ends
	kind     protoreflect.Kind
	list     bool
	packed   bool           // a list of numbers, which may be packed
	element  protowire.Type // wire type of such a number
	presence bool           // printed only when set
	isKind   bool           // in Event's oneof `kind`
	short    bool           // an integer of 32 bits, and no list
	signed   uint8          // 1 if it is written as zigzag
	ref      bool           // is an index into the batch's strings
	message  *message
	time     bool // is a google.protobuf.Timestamp
	enum     protoreflect.EnumValueDescriptors
}

func compile(d protoreflect.MessageDescriptor, done map[protoreflect.FullName]*message) *message {
	if m := done[d.FullName()]; m != nil {
		return m
	}
	m := &message{index: map[int32]int{}, ascending: true}
	done[d.FullName()] = m
	for i := range m.small {
		m.small[i] = -1
	}
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		f := field{
			number: fd.Number(), name: string(fd.Name()), key: `,"` + string(fd.Name()) + `":`, kind: fd.Kind(), list: fd.IsList(),
			presence: fd.HasPresence(),
		}
		f.start = `,"kind":"` + f.name + `"` + f.key
		copy(f.padded[:], f.key)
		f.element, f.packed = elementType(fd.Kind())
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
			f.isKind = o.Name() == "kind" && d.Name() == "Event"
		}
		switch fd.Kind() {
		case protoreflect.Sint32Kind:
			f.signed = 1
			fallthrough
		case protoreflect.Int32Kind, protoreflect.Uint32Kind:
			f.short = !f.list
		default:
		}
		if o := fd.Options(); o != nil && proto.HasExtension(o, optionsv1.E_StringIndex) {
			f.ref, _ = proto.GetExtension(o, optionsv1.E_StringIndex).(bool)
			f.short = f.short && !f.ref
		}
		if fd.Message() != nil {
			f.message = compile(fd.Message(), done)
			f.time = fd.Message().FullName() == "google.protobuf.Timestamp"
		}
		if fd.Enum() != nil {
			f.enum = fd.Enum().Values()
		}
		if n := fd.Number(); int(n) < len(m.small) && i < math.MaxInt8 {
			m.small[n] = int8(i)
		} else {
			m.index[int32(n)] = i
		}
		if !f.presence && (f.list || !f.ref) {
			unset, _ := f.append([]byte(f.key), nil, &slot{}, nil, maxDepth) // no bytes are malformed
			m.unset += string(unset)
		}
		f.unset = len(m.unset)
		m.refs = m.refs || f.ref && !f.presence && !f.list
		m.ascending = m.ascending && (i == 0 || m.fields[i-1].number < f.number)
		m.fields = append(m.fields, f)
	}
	return m
}

// elementType returns the wire type of a number in a packed list. It returns false for strings, bytes and messages,
// which are never packed.
func elementType(k protoreflect.Kind) (protowire.Type, bool) {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		return protowire.BytesType, false
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type, true
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type, true
	default:
		return protowire.VarintType, true
	}
}

func (m *message) find(n protowire.Number) int {
	if n >= 0 && int(n) < len(m.small) {
		if i := m.small[n]; i >= 0 {
			return int(i)
		}
	}
	if i, ok := m.index[int32(n)]; ok {
		return i
	}
	return -1
}
