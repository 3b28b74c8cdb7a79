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

// Session is what one call of StreamEvents received.
type Session struct {
	// Responses holds the responses' wire bytes, in the order in which they came.
	Responses [][]byte
	// Err is how the call ended: nil for status OK.
	Err error
	// Cut says that the end of the call says nothing about the server: the client left, the network failed, the server
	// was killed.
	Cut bool
}

// History is all the sessions of one logical subscription, in order. Each but the first was resumed by the last cursor
// that was received before it.
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

// Events returns all events that were received, as Offline gives them.
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

// End returns the end of the history, or nil when it has none.
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

// response is a response, taken apart as far as Check wants it. Batches are not unmarshalled.
type response struct {
	cursor  []byte
	batch   *batch
	message *replaydv1.StreamEventsResponse // when it is no batch
}

// batch is an EventBatch.
type batch struct {
	first, next uint64
	field       protowire.Number // where in the message the events are
	list        []byte
	// The positions of the events, where they were asked for.
	offsets, indexes []int64
}

var errWire = errors.New("not a protobuf message")

// fields calls each for the fields of a message.
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
	count := 0 // fields beside the cursor
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
	err = fields(inner, func(f protoscan.Field) {
		switch f.Number {
		case protoscan.BatchFirst:
			r.batch.first = f.Value
		case protoscan.BatchNext:
			r.batch.next = f.Value
		case protoscan.BatchOffsets:
			r.batch.offsets = numbers(f.Bytes)
		case protoscan.BatchIndexes:
			r.batch.indexes = numbers(f.Bytes)
		default:
			lists++
			r.batch.field, r.batch.list = f.Number, f.Bytes
		}
	})
	if err == nil && lists != 1 {
		err = fmt.Errorf("a batch with %d event lists", lists)
	}
	return r, err
}

// numbers reads a packed field.
func numbers(b []byte) (all []int64) {
	for len(b) > 0 {
		v, rest, ok := protoscan.Varint(b)
		if !ok {
			return nil
		}
		all, b = append(all, int64(v)), rest
	}
	return all
}

// canon makes events comparable whatever batch they travelled in.
type canon struct {
	lists map[protowire.Number]list
}

// list is a type of event lists.
type list struct {
	printer *eventjson.Printer
	strings bool // its events refer to strings of their batch
	columns *columns
}

// events returns a batch's events: their wire bytes, or, where events refer to strings of their batch, what they say.
func (c *canon) events(b *batch) ([]string, error) {
	l, ok := c.lists[b.field]
	if !ok {
		fd := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Fields().ByNumber(b.field)
		if fd == nil || fd.Message() == nil {
			return nil, fmt.Errorf("EventBatch has no event list number %d", b.field)
		}
		columns, err := columnsOf(fd.Message())
		if err != nil {
			return nil, err
		}
		l = list{eventjson.New(fd.Message()), fd.Message().Fields().ByName("strings") != nil, columns}
		if c.lists == nil {
			c.lists = map[protowire.Number]list{}
		}
		c.lists[b.field] = l
	}
	all, strings, err := l.printer.List(b.list)
	if err != nil {
		return nil, err
	}
	events := make([]string, len(all))
	for i, event := range all {
		if !l.strings {
			events[i] = string(event)
			continue
		}
		line, err := l.printer.AppendLine(nil, 0, event, strings)
		if err != nil {
			return nil, err
		}
		events[i] = string(line)
	}
	if l.columns != nil {
		return l.columns.interleave(b.list, events)
	}
	return events, nil
}
