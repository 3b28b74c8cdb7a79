package eventjson

import (
	"errors"

	"github.com/replayd/replayd/proto/protoscan"
)

var errMalformed = errors.New("malformed event")

// scan returns the parts of an event: its tick; its kind, nil if there is none or it is unknown, with the kind's message; and whether it has
// other fields.
func (p *Printer) scan(event []byte) (tick int32, kind *field, body []byte, more bool, err error) {
	for len(event) > 0 {
		number, _, value, from, to := protoscan.First(event)
		if to < 0 {
			return 0, nil, nil, false, errMalformed
		}
		switch i := p.event.find(number); {
		case i < 0:
		case i == p.tick:
			tick = int32(value)
		case p.event.fields[i].isKind:
			kind, body = &p.event.fields[i], event[from:to]
		default:
			more = true
		}
		event = event[to:]
	}
	return tick, kind, body, more, nil
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
