package eventjson

import (
	"errors"

	"github.com/replayd/replayd/proto/protoscan"
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

// slot is what a scan found of a field: the last value, and whether it came at all.
type slot struct {
	value uint64
	bytes []byte
	set   bool
}

// scan finds the last value of each field. Repeated fields are read again when they are printed.
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
