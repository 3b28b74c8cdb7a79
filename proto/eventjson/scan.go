package eventjson

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMalformed = errors.New("malformed event")

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
		num, _, value, body, n := next(event)
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

// slot is what a scan found of a field: the last value, and whether it came at all.
type slot struct {
	value uint64
	bytes []byte
	set   bool
}

// scan finds the last value of each field. Repeated fields are read again when they are printed.
func (m *message) scan(slots []slot, b []byte) error {
	for len(b) > 0 {
		num, _, value, bytes, n := next(b)
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

// next reads the first field of b. n is how many bytes it takes, negative when it is malformed. value is that of a number,
// bytes are those of anything with a length.
func next(b []byte) (num protowire.Number, typ protowire.Type, value uint64, bytes []byte, n int) {
	num, typ, head := protowire.ConsumeTag(b)
	if head < 0 {
		return num, typ, 0, nil, head
	}
	value, bytes, n = consume(num, typ, b[head:])
	if n < 0 {
		return num, typ, 0, nil, n
	}
	return num, typ, value, bytes, head + n
}

// consume reads the value of a field.
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
