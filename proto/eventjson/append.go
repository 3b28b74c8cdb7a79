package eventjson

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/protoscan"
)

// maxDepth bounds the nesting of messages.
const maxDepth = 64

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

// append appends a field's value. b is the message that contains the field.
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
		field, rest, ok := protoscan.Next(b)
		if !ok {
			return dst, errMalformed
		}
		b = rest
		if field.Number != f.number {
			continue
		}
		if field.Type != protowire.BytesType || !f.packed {
			one(field.Value, field.Bytes)
			continue
		}
		for elements := field.Bytes; len(elements) > 0 && err == nil; {
			value, rest, ok := protoscan.Number(f.element, elements)
			if !ok {
				return dst, errMalformed
			}
			elements = rest
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
		return AppendString(dst, strings[v]), nil
	}
	switch f.kind {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if f.time {
			return appendTimestamp(dst, bytes)
		}
		return f.message.append(dst, bytes, strings, depth-1)
	case protoreflect.StringKind:
		return AppendString(dst, bytes), nil
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
		return AppendFloat(dst, float64(math.Float32frombits(uint32(v))), 32), nil
	case protoreflect.DoubleKind:
		return AppendFloat(dst, math.Float64frombits(v), 64), nil
	}
	return dst, errMalformed
}
