package eventjson

import (
	"errors"

	"github.com/replayd/replayd/proto/protoscan"
)

var errMalformed = errors.New("malformed event")

// outline holds the parts of an event.
type outline struct {
	tick int32
	kind *field // the field of the oneof kind; nil if there is none or it is unknown
	body []byte // the kind's message
	more bool   // the event has other fields
}

func (p *Printer) scan(event []byte) (outline, error) {
	var o outline
	for len(event) > 0 {
		f, rest, ok := protoscan.Next(event)
		if !ok {
			return o, errMalformed
		}
		event = rest
		switch i := p.event.find(f.Number); {
		case i < 0:
		case i == p.tick:
			o.tick = int32(f.Value)
		case p.event.fields[i].isKind:
			o.kind, o.body = &p.event.fields[i], f.Bytes
		default:
			o.more = true
		}
	}
	return o, nil
}

// slot holds the last value of a field, and whether it was present at all.
type slot struct {
	value uint64
	bytes []byte
	set   bool
}

// scan stores the last value of each field. Repeated fields are read again when they are printed.
func (m *message) scan(slots []slot, b []byte) error {
	for len(b) > 0 {
		f, rest, ok := protoscan.Next(b)
		if !ok {
			return errMalformed
		}
		b = rest
		if i := m.find(f.Number); i >= 0 {
			slots[i] = slot{f.Value, f.Bytes, true}
		}
	}
	return nil
}
