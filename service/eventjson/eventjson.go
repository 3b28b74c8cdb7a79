// Package eventjson prints events as JSON, one object a line, straight from their wire bytes. It follows protobuf's JSON
// mapping with the names of the .proto: enums by name, 64-bit integers as strings, bytes as base64, scalars also when
// they are zero. Fields that index a batch's strings are printed as the string.
//
// The generic way, unmarshalling into messages and protojson, takes some forty times as long; a test holds this package
// to that one's output.
package eventjson

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	optionsv1 "github.com/replayd/replayd/proto/replayd/options/v1"
)

// Printer prints the events of one format. It is safe for concurrent use.
type Printer struct {
	event   *message
	tick    int // index in event.fields of at_tick, which every format has
	strings protowire.Number
}

// New returns a printer for events of an event list: a message with `repeated Event events = 1`.
func New(list protoreflect.MessageDescriptor) *Printer {
	events := list.Fields().ByNumber(1)
	p := &Printer{event: compile(events.Message(), map[protoreflect.FullName]*message{})}
	for i := range p.event.fields {
		if p.event.fields[i].name == "at_tick" {
			p.tick = i
		}
	}
	if f := list.Fields().ByName("strings"); f != nil {
		p.strings = f.Number()
	}
	return p
}

// message is a message type, compiled.
type message struct {
	fields []field       // in the order of the .proto
	index  map[int32]int // from field number to its place in fields
	small  [64]int8      // the same for small numbers; -1 where there is none
}

type field struct {
	number   protowire.Number
	name     string
	key      string // `"name":`
	kind     protoreflect.Kind
	list     bool
	packed   bool           // a list of numbers, which may travel packed
	element  protowire.Type // of such a number
	presence bool           // printed only when set
	isKind   bool           // in Event's oneof `kind`
	ref      bool           // indexes the batch's strings
	message  *message
	enum     protoreflect.EnumValueDescriptors
}

func compile(d protoreflect.MessageDescriptor, done map[protoreflect.FullName]*message) *message {
	if m := done[d.FullName()]; m != nil {
		return m
	}
	m := &message{index: map[int32]int{}}
	done[d.FullName()] = m
	for i := range m.small {
		m.small[i] = -1
	}
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		f := field{
			number: fd.Number(), name: string(fd.Name()), key: `"` + string(fd.Name()) + `":`, kind: fd.Kind(), list: fd.IsList(),
			presence: fd.HasPresence(),
		}
		f.element, f.packed = elementType(fd.Kind())
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
			f.isKind = o.Name() == "kind" && d.Name() == "Event"
		}
		if o := fd.Options(); o != nil && proto.HasExtension(o, optionsv1.E_StringIndex) {
			f.ref, _ = proto.GetExtension(o, optionsv1.E_StringIndex).(bool)
		}
		if fd.Message() != nil {
			f.message = compile(fd.Message(), done)
		}
		if fd.Enum() != nil {
			f.enum = fd.Enum().Values()
		}
		if n := fd.Number(); int(n) < len(m.small) && i < math.MaxInt8 {
			m.small[n] = int8(i)
		} else {
			m.index[int32(n)] = i
		}
		m.fields = append(m.fields, f)
	}
	return m
}

// elementType is how a number travels in a packed list; strings, bytes and messages are never packed.
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

var errMalformed = errors.New("malformed event")

// maxDepth bounds how deeply messages nest.
const maxDepth = 64

// List splits the bytes of an event list into its events and the strings that they refer to. Nothing is copied.
func (p *Printer) List(b []byte) (events, strings [][]byte, err error) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, nil, errMalformed
		}
		b = b[n:]
		if typ != protowire.BytesType {
			n = protowire.ConsumeFieldValue(num, typ, b)
			if n < 0 {
				return nil, nil, errMalformed
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return nil, nil, errMalformed
		}
		b = b[n:]
		switch num {
		case 1:
			events = append(events, v)
		case p.strings:
			strings = append(strings, v)
		}
	}
	return events, strings, nil
}

// AppendLine appends an event as one line: its sequence number, its tick where it has one, its kind, the event under
// its kind's name, and what else the event has. The number `tick` is always the event's tick: of an event whose kind is
// itself named tick, the fields stand beside it.
func (p *Printer) AppendLine(dst []byte, sequence uint64, event []byte, strings [][]byte) ([]byte, error) {
	top, err := p.scan(event)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `{"sequence":`...)
	dst = strconv.AppendUint(dst, sequence, 10)
	dst = append(dst, `,"tick":`...)
	dst = strconv.AppendInt(dst, int64(top.tick), 10)
	if top.kind != nil {
		if dst, err = p.appendKind(dst, &top, strings); err != nil {
			return dst, err
		}
	}
	if top.more {
		if dst, err = p.appendRest(dst, event, strings); err != nil {
			return dst, err
		}
	}
	return append(dst, "}\n"...), nil
}

// appendKind appends the name of the kind and the event under that name.
func (p *Printer) appendKind(dst []byte, top *outline, strings [][]byte) ([]byte, error) {
	f := top.kind
	dst = append(dst, `,"kind":"`...)
	dst = append(dst, f.name...)
	dst = append(dst, '"', ',')
	if f.name != "tick" {
		dst = append(dst, f.key...)
		return f.message.append(dst, top.body, strings, maxDepth)
	}
	at := len(dst)
	dst, err := f.message.append(dst, top.body, strings, maxDepth)
	if err != nil {
		return dst, err
	}
	if len(dst) == at+len("{}") {
		return dst[:at-1], nil // without the comma
	}
	n := copy(dst[at:], dst[at+1:len(dst)-1]) // the fields without the braces
	return dst[:at+n], nil
}

// appendRest appends the fields of an event besides its tick and its kind.
func (p *Printer) appendRest(dst, event []byte, strings [][]byte) ([]byte, error) {
	slots := make([]slot, len(p.event.fields))
	if err := p.event.scan(slots, event); err != nil {
		return dst, err
	}
	for i := range p.event.fields {
		f := &p.event.fields[i]
		if f.isKind || i == p.tick || !slots[i].set {
			continue
		}
		dst = append(dst, ',')
		dst = append(dst, f.key...)
		var err error
		if dst, err = f.append(dst, event, &slots[i], strings, maxDepth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// outline is what an event consists of.
type outline struct {
	tick int32
	kind *field // of the oneof kind; nil when there is none that is known
	body []byte // the kind's message
	more bool   // there are other fields
}

func (p *Printer) scan(event []byte) (outline, error) {
	var o outline
	for len(event) > 0 {
		num, typ, n := protowire.ConsumeTag(event)
		if n < 0 {
			return o, errMalformed
		}
		event = event[n:]
		value, body, n := consume(num, typ, event)
		if n < 0 {
			return o, errMalformed
		}
		event = event[n:]
		switch i := p.event.find(num); {
		case i < 0:
		case i == p.tick:
			o.tick = int32(value)
		case p.event.fields[i].isKind:
			o.kind, o.body = &p.event.fields[i], body
		default:
			o.more = true
		}
	}
	return o, nil
}

// Kind returns the name of an event's kind and its tick, 0 where it has none.
func (p *Printer) Kind(event []byte) (kind string, tick int32, err error) {
	o, err := p.scan(event)
	if o.kind != nil {
		kind = o.kind.name
	}
	return kind, o.tick, err
}

// slot is what a scan found of a field: the last value, and how often it came.
type slot struct {
	value uint64
	bytes []byte
	set   bool
}

// scan finds the last value of each field. Repeated fields are read again when they are printed.
func (m *message) scan(slots []slot, b []byte) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		value, bytes, n := consume(num, typ, b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		if i := m.find(num); i >= 0 {
			slots[i] = slot{value, bytes, true}
		}
	}
	return nil
}

func consume(num protowire.Number, typ protowire.Type, b []byte) (value uint64, bytes []byte, n int) {
	switch typ {
	case protowire.VarintType:
		value, n = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		value = uint64(v)
	case protowire.Fixed64Type:
		value, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		bytes, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	return value, bytes, n
}

// append appends a message as a JSON object.
func (m *message) append(dst, b []byte, strings [][]byte, depth int) ([]byte, error) {
	if depth == 0 {
		return dst, fmt.Errorf("%w: nested too deeply", errMalformed)
	}
	var few [16]slot
	slots := few[:]
	if len(m.fields) > len(few) {
		slots = make([]slot, len(m.fields))
	}
	slots = slots[:len(m.fields)]
	if err := m.scan(slots, b); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	comma := false
	for i := range m.fields {
		f, s := &m.fields[i], &slots[i]
		if !s.set && f.presence {
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = append(dst, f.key...)
		var err error
		if dst, err = f.append(dst, b, s, strings, depth); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// append appends a field's value; b is the message that holds the field.
func (f *field) append(dst, b []byte, s *slot, strings [][]byte, depth int) ([]byte, error) {
	if f.list {
		return f.appendList(dst, b, s, strings, depth)
	}
	return f.appendValue(dst, s.value, s.bytes, strings, depth)
}

func (f *field) appendList(dst, b []byte, s *slot, strings [][]byte, depth int) ([]byte, error) {
	dst = append(dst, '[')
	if !s.set {
		return append(dst, ']'), nil
	}
	comma := false
	var err error
	one := func(value uint64, bytes []byte) {
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		if err == nil {
			dst, err = f.appendValue(dst, value, bytes, strings, depth)
		}
	}
	for len(b) > 0 && err == nil {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return dst, errMalformed
		}
		b = b[n:]
		value, bytes, n := consume(num, typ, b)
		if n < 0 {
			return dst, errMalformed
		}
		b = b[n:]
		if num != f.number {
			continue
		}
		if typ != protowire.BytesType || !f.packed {
			one(value, bytes)
			continue
		}
		for len(bytes) > 0 && err == nil {
			value, _, n := consume(num, f.element, bytes)
			if n <= 0 {
				return dst, errMalformed
			}
			bytes = bytes[n:]
			one(value, nil)
		}
	}
	return append(dst, ']'), err
}

func (f *field) appendValue(dst []byte, v uint64, bytes []byte, strings [][]byte, depth int) ([]byte, error) {
	if f.ref {
		if v >= uint64(len(strings)) {
			return dst, fmt.Errorf("%w: string %d of %d", errMalformed, v, len(strings))
		}
		return appendString(dst, strings[v]), nil
	}
	switch f.kind {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return f.message.append(dst, bytes, strings, depth-1)
	case protoreflect.StringKind:
		return appendString(dst, bytes), nil
	case protoreflect.BytesKind:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, bytes)
		return append(dst, '"'), nil
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v != 0), nil
	case protoreflect.EnumKind:
		if d := f.enum.ByNumber(protoreflect.EnumNumber(int32(v))); d != nil {
			dst = append(dst, '"')
			dst = append(dst, d.Name()...)
			return append(dst, '"'), nil
		}
		return strconv.AppendInt(dst, int64(int32(v)), 10), nil
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind:
		return strconv.AppendInt(dst, int64(int32(v)), 10), nil
	case protoreflect.Sint32Kind:
		return strconv.AppendInt(dst, protowire.DecodeZigZag(v&math.MaxUint32), 10), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return strconv.AppendUint(dst, v&math.MaxUint32, 10), nil
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return quoted(dst, func(b []byte) []byte { return strconv.AppendInt(b, int64(v), 10) }), nil
	case protoreflect.Sint64Kind:
		return quoted(dst, func(b []byte) []byte { return strconv.AppendInt(b, protowire.DecodeZigZag(v), 10) }), nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return quoted(dst, func(b []byte) []byte { return strconv.AppendUint(b, v, 10) }), nil
	case protoreflect.FloatKind:
		return appendFloat(dst, float64(math.Float32frombits(uint32(v))), 32), nil
	case protoreflect.DoubleKind:
		return appendFloat(dst, math.Float64frombits(v), 64), nil
	}
	return dst, errMalformed
}

func quoted(dst []byte, f func([]byte) []byte) []byte { return append(f(append(dst, '"')), '"') }

// appendFloat formats a number as protojson and encoding/json do.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) || bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, v, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 becomes e-9
		dst = dst[:n-1]
	}
	return dst
}

const hex = "0123456789abcdef"

// appendString quotes a string as protojson does.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRune(s[i:])
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
