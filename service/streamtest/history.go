package streamtest

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/eventjson"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Session holds the responses that one call of StreamEvents received.
type Session struct {
	// Responses holds the responses' wire bytes, in the order of arrival.
	Responses [][]byte
	// Err is the error of the call, nil for status OK.
	Err error
	// Cut reports whether the call was cut: the client left, the network failed, or the server was killed. Its end is then
	// not checked.
	Cut bool
}

// History holds all sessions of one logical subscription, in order. Each session except the first was resumed with the last
// cursor received before it.
type History []Session

// Cursor returns the last cursor that was received, or nil.
func (h History) Cursor() []byte {
	for _, s := range slices.Backward(h) {
		for _, raw := range slices.Backward(s.Responses) {
			if r, err := parse(raw); err == nil && len(r.cursor) > 0 {
				return r.cursor
			}
		}
	}
	return nil
}

// Events returns all events that were received, in the form that Offline returns.
func (h History) Events() ([]string, error) {
	var all []string
	var c canon
	for _, s := range h {
		for _, raw := range s.Responses {
			r, err := parse(raw)
			if err != nil {
				return nil, err
			}
			if r.batch == nil {
				c.tables.learn(r.message)
				continue
			}
			events, err := c.events(r.batch)
			if err != nil {
				return nil, err
			}
			all = append(all, events...)
		}
	}
	return all, nil
}

// End returns the StreamEnd of the history, or nil if it has none.
func (h History) End() *replaydv1.StreamEnd {
	if len(h) == 0 || len(h[len(h)-1].Responses) == 0 {
		return nil
	}
	last := h[len(h)-1].Responses
	r, err := parse(last[len(last)-1])
	if err != nil || r.batch != nil {
		return nil
	}
	return r.message.GetEnd()
}

// response is a response, parsed as far as Check needs it. Batches are not unmarshalled.
type response struct {
	cursor  []byte
	batch   *batch
	message *replaydv1.StreamEventsResponse // nil for a batch
}

// batch is an EventBatch.
type batch struct {
	first, next      uint64
	field            protowire.Number // the field of the message that holds the events
	list             []byte
	offsets, indexes []int64            // the positions of the events
	tables           []*replaydv1.Table // in place of a list
}

var errWire = errors.New("not a protobuf message")

// fields calls each for every field of a message.
func fields(b []byte, each func(protoscan.Field)) error {
	for len(b) > 0 {
		f, rest, ok := protoscan.Next(b)
		if !ok {
			return errWire
		}
		b = rest
		each(f)
	}
	return nil
}

func parse(raw []byte) (*response, error) {
	r := &response{}
	var inner []byte
	count := 0 // fields other than the cursor
	err := fields(raw, func(f protoscan.Field) {
		if f.Number == protoscan.ResponseCursor {
			r.cursor = f.Bytes
			return
		}
		if count++; f.Number == protoscan.ResponseBatch {
			inner = f.Bytes
		}
	})
	if err != nil {
		return nil, err
	}
	if count != 1 {
		return nil, fmt.Errorf("%d fields beside the cursor", count)
	}
	if inner == nil {
		r.message = new(replaydv1.StreamEventsResponse)
		return r, proto.Unmarshal(raw, r.message)
	}
	r.batch = &batch{}
	lists := 0
	var bad error
	var offsets, indexes []int64 // as differences
	err = fields(inner, func(f protoscan.Field) {
		switch f.Number {
		case protoscan.BatchFirst:
			r.batch.first = f.Value
		case protoscan.BatchNext:
			r.batch.next = f.Value
		case protoscan.BatchOffsets:
			offsets = numbers(f.Bytes)
		case protoscan.BatchIndexes:
			indexes = numbers(f.Bytes)
		case protoscan.BatchTables:
			t := new(replaydv1.Table)
			bad = errors.Join(bad, proto.Unmarshal(f.Bytes, t))
			r.batch.tables = append(r.batch.tables, t)
		default:
			lists++
			r.batch.field, r.batch.list = f.Number, f.Bytes
		}
	})
	if err = errors.Join(err, bad); err == nil && lists+min(len(r.batch.tables), 1) != 1 {
		err = fmt.Errorf("a batch with %d event lists", lists)
	}
	if err == nil {
		err = r.batch.place(offsets, indexes)
	}
	return r, err
}

// numbers reads a packed field of signed numbers.
func numbers(b []byte) (all []int64) {
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil
		}
		all, b = append(all, protowire.DecodeZigZag(v)), b[n:]
	}
	return all
}

// readPlaces sets the positions of a batch by fields of an EventBatch.
func (b *batch) readPlaces(wire []byte) error {
	var m replaydv1.EventBatch
	if err := proto.Unmarshal(wire, &m); err != nil {
		return err
	}
	return b.place(m.GetOffsets(), m.GetIndexes())
}

// place sets the positions of a batch as documented at EventBatch.offsets.
func (b *batch) place(offsets, indexes []int64) error {
	var offset, index int64
	for i, n := range offsets {
		switch {
		case n > 0:
			offset, index = offset+n, 0
		case n == 0:
			index += 128
		case len(indexes) == 0:
			return fmt.Errorf("the index of event %d is missing", i)
		default:
			offset, index, indexes = offset-1-n, index+indexes[0], indexes[1:]
		}
		if offset < 0 || index <= -1<<53 {
			return fmt.Errorf("event %d is at %d, %d", i, offset, index)
		}
		b.offsets, b.indexes = append(b.offsets, offset), append(b.indexes, index)
	}
	if len(indexes) > 0 {
		return fmt.Errorf("%d indexes of no event", len(indexes))
	}
	return nil
}

// canon converts events to a form that does not depend on their batch, so that they can be compared.
type canon struct {
	lists  map[protowire.Number]list
	tables tables
}

// list is a type of event lists.
type list struct {
	printer *eventjson.Printer
	strings bool // its events refer to strings of their batch
}

// list returns the type of event lists of a field of EventBatch.
func (c *canon) list(field protowire.Number) (list, error) {
	if l, ok := c.lists[field]; ok {
		return l, nil
	}
	fd := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields().ByNumber(field)
	if fd == nil || fd.Message() == nil {
		return list{}, fmt.Errorf("EventBatch has no event list number %d", field)
	}
	l := list{eventjson.New(fd.Message()), fd.Message().Fields().ByName("strings") != nil}
	if c.lists == nil {
		c.lists = map[protowire.Number]list{}
	}
	c.lists[field] = l
	return l, nil
}

// eventsOfTables returns the events of a batch of tables, and sets its positions.
func (c *canon) eventsOfTables(b *batch) ([]string, error) {
	rows, field, err := c.tables.read(b.tables)
	if err != nil {
		return nil, err
	}
	l, err := c.list(field)
	if err != nil {
		return nil, err
	}
	b.field, b.offsets, b.indexes = field, nil, nil
	events := make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		events[i] = string(r.event)
		if l.strings {
			line, err := l.printer.AppendLine(nil, eventjson.Place{}, r.event, r.strings)
			if err != nil {
				return nil, err
			}
			events[i] = string(line)
		}
		if r.placed {
			b.offsets, b.indexes = append(b.offsets, r.at.Offset), append(b.indexes, r.at.Index)
		}
	}
	return events, nil
}

// events returns a batch's events. If events refer to strings of their batch, it returns a form with the strings inserted, and
// otherwise the wire bytes.
func (c *canon) events(b *batch) ([]string, error) {
	if len(b.tables) > 0 {
		return c.eventsOfTables(b)
	}
	l, err := c.list(b.field)
	if err != nil {
		return nil, err
	}
	all, strings, err := l.printer.List(b.list, nil, nil)
	if err != nil {
		return nil, err
	}
	events := make([]string, len(all))
	for i, event := range all {
		if !l.strings {
			events[i] = string(event)
			continue
		}
		line, err := l.printer.AppendLine(nil, eventjson.Place{}, event, strings)
		if err != nil {
			return nil, err
		}
		events[i] = string(line)
	}
	return events, nil
}
