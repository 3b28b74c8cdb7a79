package eventjson

import (
	"encoding/base64"
	"encoding/binary"
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
	start := len(dst)
	dst, ordered, err := m.appendOrdered(dst, b, strings, depth)
	if !ordered && err == nil {
		dst, err = m.appendAny(dst[:start], b, strings, depth)
	}
	if len(dst) == start {
		dst = append(dst, '{')
	}
	dst[start] = '{' // instead of the comma before the first field
	return append(dst, '}'), err
}

// appendOrdered appends the fields of a message in one pass. It returns false if they are not written in the order in which they are
// printed, each once: every protobuf library writes them so.
func (m *message) appendOrdered(dst, b []byte, strings [][]byte, depth int) (_ []byte, ordered bool, err error) {
	if !m.ascending {
		return dst, false, nil
	}
	next := 0 // of the fields, to be printed
	for len(b) > 0 {
		number, _, value, from, to := protoscan.First(b)
		if to < 0 {
			return dst, false, errMalformed
		}
		i := m.find(number)
		if i < next {
			if i >= 0 && (i < next-1 || !m.fields[i].list) {
				return dst, false, nil
			}
			b = b[to:] // an unknown field, or an element of a list, which was printed
			continue
		}
		if next < i {
			if dst, err = m.appendUnset(dst, next, i, strings); err != nil {
				return dst, false, err
			}
		}
		f := &m.fields[i]
		next = i + 1
		switch {
		case f.short && value < 1<<31: // as most are
			dst = f.appendShort(dst, int64(value>>f.signed)^-int64(value&uint64(f.signed)))
		case f.list:
			dst, err = f.appendList(append(dst, f.key...), b, strings, depth)
		default:
			dst, err = f.appendValue(append(dst, f.key...), value, b[from:to], strings, depth)
		}
		if err != nil {
			return dst, false, err
		}
		b = b[to:]
	}
	dst, err = m.appendUnset(dst, next, len(m.fields), strings)
	return dst, err == nil, err
}

// appendAny appends the fields of a message, which may come in any order.
func (m *message) appendAny(dst, b []byte, strings [][]byte, depth int) ([]byte, error) {
	slots := make([]slot, len(m.fields))
	if err := m.scan(slots, b); err != nil {
		return dst, err
	}
	for i := range m.fields {
		var err error
		if f := &m.fields[i]; slots[i].set {
			dst, err = f.append(append(dst, f.key...), b, &slots[i], strings, depth)
		} else {
			dst, err = m.appendUnset(dst, i, i+1, strings)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendUnset appends the fields from one to before another, none of which is set, if they are printed then.
func (m *message) appendUnset(dst []byte, from, to int, strings [][]byte) (_ []byte, err error) {
	if from == to {
		return dst, nil
	}
	start := 0
	if from > 0 {
		start = m.fields[from-1].unset
	}
	if !m.refs {
		return append(dst, m.unset[start:m.fields[to-1].unset]...), nil
	}
	for i := from; i < to && err == nil; i++ {
		f := &m.fields[i]
		if f.ref && !f.list && !f.presence {
			dst, err = f.appendValue(append(dst, f.key...), 0, nil, strings, maxDepth)
		}
		dst = append(dst, m.unset[start:f.unset]...)
		start = f.unset
	}
	return dst, err
}

// keyBytes is more than nearly all keys have.
const keyBytes = 32

// appendShort appends the key of a field, and its value, a number. It writes constant numbers of bytes, which takes less time than calls.
func (f *field) appendShort(dst []byte, v int64) []byte {
	n := len(dst)
	if len(f.key) > keyBytes || cap(dst)-n < keyBytes+8 || v <= -1000 || v >= 1000 {
		return appendInt(append(dst, f.key...), v)
	}
	b := (*[keyBytes + 8]byte)(dst[n : n+keyBytes+8])
	*(*[keyBytes]byte)(b[:]) = f.padded
	k := len(f.key) & (2*keyBytes - 1)
	sign := v >> 63
	b[k] = '-'
	k -= int(sign)
	d := thousand[v^sign-sign]
	zeros := d >> 24
	binary.LittleEndian.PutUint32(b[k:], d>>(8*zeros))
	return dst[:n+k+3-int(zeros)]
}

// append appends a field's value. b is the message that contains the field.
func (f *field) append(dst, b []byte, s *slot, strings [][]byte, depth int) ([]byte, error) {
	switch {
	case !f.list:
		return f.appendValue(dst, s.value, s.bytes, strings, depth)
	case s.set:
		return f.appendList(dst, b, strings, depth)
	}
	return append(dst, "[]"...), nil
}

func (f *field) appendList(dst, b []byte, strings [][]byte, depth int) ([]byte, error) {
	dst = append(dst, '[')
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
		return appendInt(dst, int64(int32(v))), nil
	case protoreflect.Sint32Kind:
		return appendInt(dst, protowire.DecodeZigZag(v&math.MaxUint32)), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return appendInt(dst, int64(v&math.MaxUint32)), nil
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
