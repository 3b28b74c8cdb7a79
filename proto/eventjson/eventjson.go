package eventjson

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/protoscan"
)

// Printer prints the events of one format. It is safe for concurrent use.
type Printer struct {
	event   *message
	tick    int // index in event.fields of at_tick, which every format has
	strings protowire.Number
}

// New returns a printer for the events of an event list: a message with `repeated Event events = 1`.
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

// List splits the bytes of an event list into its events and the strings that they refer to. It copies nothing, and appends to
// the two lists, which may be those of another batch.
func (p *Printer) List(b []byte, events, strings [][]byte) (_, _ [][]byte, err error) {
	for len(b) > 0 {
		number, typ, _, from, to := protoscan.First(b)
		switch {
		case to < 0:
			return events, strings, errMalformed
		case typ != protowire.BytesType: // a newer list may have more fields
		case number == protoscan.ListEvents:
			events = append(events, b[from:to:to])
		case number == p.strings:
			strings = append(strings, b[from:to:to])
		}
		b = b[to:]
	}
	return events, strings, nil
}

// Kind returns the name of an event's kind, and its tick, or 0 if it has none.
func (p *Printer) Kind(event []byte) (kind string, tick int32, err error) {
	tick, f, _, _, err := p.scan(event)
	if f != nil {
		kind = f.name
	}
	return kind, tick, err
}

// Place is where an event is: in its stream, and in its replay.
type Place struct {
	// Sequence is the event's number in the stream.
	Sequence uint64
	// Offset and Index are its position in the replay.
	Offset, Index int64
}

// AppendLine appends an event as one line: its sequence number, its position, its tick, its kind, the event under its kind's
// name, and its other fields.
func (p *Printer) AppendLine(dst []byte, at Place, event []byte, strings [][]byte) ([]byte, error) {
	dst = append(dst, `{"sequence":"`...)
	dst = appendUint(dst, at.Sequence)
	dst = append(dst, `","offset":"`...)
	dst = appendInt(dst, at.Offset)
	dst = append(dst, `","index":"`...)
	dst = appendInt(dst, at.Index)
	return p.appendEvent(append(dst, '"'), event, strings)
}

// AppendState appends an event of a state as one line. It has no sequence number and no position.
func (p *Printer) AppendState(dst, event []byte, strings [][]byte) ([]byte, error) {
	return p.appendEvent(append(dst, `{"state":true`...), event, strings)
}

func (p *Printer) appendEvent(dst, event []byte, strings [][]byte) ([]byte, error) {
	tick, kind, body, more, err := p.scan(event)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"at_tick":`...)
	dst = appendInt(dst, int64(tick))
	if kind != nil {
		dst = append(dst, kind.start...)
		if dst, err = kind.message.append(dst, body, strings, maxDepth); err != nil {
			return dst, err
		}
	}
	if more {
		if dst, err = p.appendRest(dst, event, strings); err != nil {
			return dst, err
		}
	}
	return append(dst, "}\n"...), nil
}

// appendRest appends the fields of an event other than its tick and its kind.
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
		dst = append(dst, f.key...)
		var err error
		if dst, err = f.append(dst, event, &slots[i], strings, maxDepth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
