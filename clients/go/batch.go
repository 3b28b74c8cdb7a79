package replayd

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/position"
	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// errMalformed reports bytes that are not a protobuf message of the expected type. It indicates a bug in the daemon.
var errMalformed = errors.New("replayd: malformed response")

// Batch holds the events of one response. It is immutable and may be kept and shared.
type Batch struct {
	// First is the sequence number of the first event, and Next is the sequence number after the last one. They are equal if
	// State is set.
	First, Next uint64
	// State reports that the events describe the state at the start position. Such events have no sequence numbers.
	// Complete reports that this batch is the last one of that state.
	State, Complete bool
	// Cursor resumes the stream after this batch. Store it together with the results of the events. A program that is restarted
	// there misses no event and receives none twice.
	Cursor []byte

	format  *format
	list    []byte             // the EventList message
	length  int                // number of events
	tables  []*replaydv1.Table // instead of a list
	raw     [][]byte           // the strings that events refer to by index, as bytes of list
	once    sync.Once          // of strings
	strings []string           // the same strings, once one was asked for
	places  position.Reader    // the positions of the events
}

// Len returns how many events there are.
func (b *Batch) Len() int { return b.length }

// Format returns the name of the replay's format, such as "teehistorian". The field of the response decides it.
func (b *Batch) Format() string {
	if b.format == nil { // a state without events, or tables
		return ""
	}
	return b.format.name
}

// Wire returns the bytes of the events as received: the format's EventList message, such as replayd.teehistorian.v1.EventList.
// They belong to the batch and must not be modified.
func (b *Batch) Wire() []byte { return b.list }

// Message unmarshals all events into the format's generated message, such as a *teehistorianv1.EventList. It returns nil for a
// state without events, and for tables.
func (b *Batch) Message() (proto.Message, error) {
	if b.format == nil {
		return nil, nil
	}
	m := b.format.list.New().Interface()
	if err := proto.Unmarshal(b.list, m); err != nil {
		return nil, fmt.Errorf("replayd: %w", err)
	}
	return m, nil
}

// Tables returns the tables of the batch, if the request asked for ENCODING_ARROW; otherwise it returns nil. They must not be
// modified.
func (b *Batch) Tables() []*replaydv1.Table { return b.tables }

// errTables reports that a batch has tables where events are wanted.
var errTables = errors.New("replayd: the batch has tables: see Batch.Tables")

// Events returns an iterator over all events in order. A batch of tables gives an error.
func (b *Batch) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { b.each(yield) }
}

// each calls yield for each event. It reports whether it reached the end.
func (b *Batch) each(yield func(Event, error) bool) bool {
	if len(b.tables) > 0 {
		yield(Event{}, errTables)
		return false
	}
	e := Event{Sequence: b.First, State: b.State, batch: b}
	places := b.places
	for list := b.list; len(list) > 0; {
		wire, rest, ok := nextRow(list)
		if list = rest; wire == nil && ok {
			return true
		}
		if ok && !b.State {
			e.Offset, e.Index, ok = places.Next()
		}
		if !ok || !e.parse(wire) {
			yield(Event{}, errMalformed)
			return false
		}
		if !yield(e, nil) {
			return false
		}
		if !b.State {
			e.Sequence++
		}
	}
	return true
}

// parseBatch parses a StreamEventsResponse with a batch or a part of a state. It returns nil for any other response.
func parseBatch(raw []byte) (*Batch, error) {
	b := &Batch{}
	var inner []byte
	for rest := raw; len(rest) > 0; {
		field, left, ok := protoscan.Next(rest)
		if !ok {
			return nil, errMalformed
		}
		switch rest = left; field.Number {
		case protoscan.ResponseCursor:
			b.Cursor = field.Bytes
		case protoscan.ResponseBatch:
			inner = field.Bytes
		case protoscan.ResponseState:
			err := b.state(field.Bytes, raw)
			return b, err
		}
	}
	if inner == nil {
		return nil, nil
	}
	for len(inner) > 0 {
		field, left, ok := protoscan.Next(inner)
		if !ok {
			return nil, errMalformed
		}
		switch inner = left; field.Number {
		case protoscan.BatchFirst:
			b.First = field.Value
		case protoscan.BatchNext:
			b.Next = field.Value
		case protoscan.BatchOffsets, protoscan.BatchIndexes:
			if !b.places.Field(field) {
				return nil, errMalformed
			}
		case protoscan.BatchTables:
			if err := b.table(field.Bytes); err != nil {
				return nil, err
			}
		default:
			if field.Type != protowire.BytesType {
				continue
			}
			if b.format, b.list = formats()[field.Number], field.Bytes; b.format == nil {
				return nil, &Error{
					Code: codes.Unimplemented, Message: "the events have a format that is newer than this client",
				}
			}
		}
	}
	if b.format == nil && len(b.tables) == 0 {
		return nil, errMalformed
	}
	if err := b.index(); err != nil {
		return nil, err
	}
	return b, nil
}

// state parses inner, the StateBatch of the response raw, into b.
func (b *Batch) state(inner, raw []byte) error {
	b.State = true
	var m replaydv1.StreamEventsResponse
	if err := proto.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	b.Cursor, b.Complete = m.GetCursor(), m.GetState().GetComplete()
	for len(inner) > 0 {
		field, left, ok := protoscan.Next(inner)
		if !ok {
			return errMalformed
		}
		inner = left
		switch {
		case field.Number == protoscan.StateTables:
			if err := b.table(field.Bytes); err != nil {
				return err
			}
		case field.Type == protowire.BytesType:
			if b.format, b.list = stateFormats()[field.Number], field.Bytes; b.format == nil {
				return errMalformed
			}
		}
	}
	if b.format == nil && len(b.tables) == 0 {
		return nil // a state without events
	}
	return b.index()
}

// table adds a table.
func (b *Batch) table(wire []byte) error {
	t := new(replaydv1.Table)
	if err := proto.Unmarshal(wire, t); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	b.tables = append(b.tables, t)
	return nil
}

// index counts the events of the event list or the tables, and finds the list's strings.
func (b *Batch) index() error {
	count := 0
	for _, t := range b.tables {
		count += int(t.GetRows())
	}
	for list := b.list; len(list) > 0; {
		if _, end := rowAt(list); end > 0 {
			count, list = count+1, list[end:]
			continue
		}
		field, rest, ok := protoscan.Next(list)
		if !ok {
			return errMalformed
		}
		switch {
		case field.Type != protowire.BytesType:
		case field.Number == protoscan.ListEvents:
			count++
		case field.Number == b.format.strings:
			b.raw = append(b.raw, field.Bytes)
		}
		list = rest
	}
	b.length = count
	if !b.State && uint64(count) != b.Next-b.First {
		return fmt.Errorf("%w: a batch of %d events has sequence numbers %d to %d", errMalformed, count, b.First, b.Next)
	}
	return nil
}

// text returns the string at an index, which must be one of raw. Many programs ask for none.
func (b *Batch) text(i uint32) string {
	b.once.Do(func() { // one allocation for the bytes of all strings
		text := string(bytes.Join(b.raw, nil))
		b.strings = make([]string, len(b.raw))
		for i, s := range b.raw {
			b.strings[i], text = text[:len(s)], text[len(s):]
		}
	})
	return b.strings[i]
}

// rowTag is the tag of EventList.events.
const rowTag = byte(protoscan.ListEvents<<3) | byte(protowire.BytesType)

// rowAt returns the offsets of the begin and end of the first event of an event list. The end is 0 if the list does not begin
// with an event.
func rowAt(list []byte) (at, end int) {
	if len(list) < 2 || list[0] != rowTag {
		return 0, 0
	}
	size, at := uint64(list[1]), 2
	if size >= 0x80 {
		if size, at = protoscan.VarintAt(list, 1); at < 0 {
			return 0, 0
		}
	}
	if size > uint64(len(list)-at) {
		return 0, 0
	}
	return at, at + int(size)
}

// nextRow returns the next event of an event list and the rest of the list. It skips other fields. The event is nil at the end.
func nextRow(list []byte) (wire, rest []byte, ok bool) {
	for len(list) > 0 {
		if at, end := rowAt(list); end > 0 {
			return list[at:end:end], list[end:], true
		}
		_, rest, ok := protoscan.Next(list)
		if !ok {
			return nil, nil, false
		}
		list = rest
	}
	return nil, nil, true
}
