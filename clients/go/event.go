package replayd

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/eventjson"
	"github.com/replayd/replayd/proto/protoscan"
)

// Event is one event of a replay.
//
// Its fields are common to all events. The rest is unmarshalled only by the methods, so skipping an event costs about ten
// nanoseconds. An Event may be kept and used by several goroutines. It keeps the bytes of its [Batch] in memory.
type Event struct { //nolint:recvcheck // only parse modifies it
	// Sequence is the event's number in its stream, from 0, counted after filtering. A resumed stream continues the count.
	Sequence uint64
	// Offset and Index are the event's position in the replay: where its record starts, in bytes of the decompressed replay, and its
	// place among the events of that record. It is the same in every stream, and no other event of the replay has it: store events by
	// it, and join events of streams with different filters. Both are 0 if State is set.
	Offset, Index int64
	// State reports that the event did not happen at its tick, but describes the state at the start position. Such an event has
	// no sequence number and no position.
	State bool
	// Tick is the time of the event in ticks of the replay's clock. It is 0 for formats without a clock.
	Tick int32
	// Kind is the name of the event's kind as used in filters, such as "player_diff". It is empty for a kind that is newer than
	// this client.
	Kind string

	at    uint32 // offset of the kind's message in wire
	size  uint32
	kind  *kind
	batch *Batch
	wire  []byte // the whole Event message
}

// parse finds an event's tick and kind. It first tries the layout of nearly all events: an optional tick, then a kind with a
// small field number, and no other field. parseAny handles all other layouts.
func (e *Event) parse(wire []byte) bool {
	f := e.batch.format
	i, tick := 0, uint64(0)
	if len(wire) > 1 && wire[0] == f.tickTag {
		if tick, i = uint64(wire[1]), 2; tick >= 0x80 {
			if tick, i = protoscan.VarintAt(wire, 1); i < 0 {
				return false
			}
		}
	}
	if i+1 < len(wire) && wire[i]&(0x80|7) == byte(protowire.BytesType) {
		size, at := uint64(wire[i+1]), i+2
		if size >= 0x80 {
			if size, at = protoscan.VarintAt(wire, i+1); at < 0 {
				return false
			}
		}
		if k := f.small[wire[i]>>3&31]; k != nil && size == uint64(len(wire)-at) {
			e.wire, e.kind, e.Kind, e.Tick, e.at, e.size = wire, k, k.name, int32(tick), uint32(at), uint32(size)
			return true
		}
	}
	return e.parseAny(wire)
}

func (e *Event) parseAny(wire []byte) bool {
	e.wire, e.kind, e.Kind, e.Tick, e.at, e.size = wire, nil, "", 0, 0, 0
	f := e.batch.format
	for b := wire; len(b) > 0; {
		field, rest, ok := protoscan.Next(b)
		if !ok {
			return false
		}
		b = rest
		if field.Number == f.tick && field.Type == protowire.VarintType {
			e.Tick = int32(field.Value)
		} else if k := f.kind(field.Number); k != nil && field.Type == protowire.BytesType {
			e.kind, e.Kind = k, k.name
			e.size = uint32(len(field.Bytes))
			e.at = uint32(len(wire)-len(rest)) - e.size
		}
	}
	return true
}

func (e Event) bytes() []byte { return e.wire[e.at : e.at+e.size] }

// Value returns the message of the event's kind, such as a *teehistorianv1.PlayerDiff if Kind is "player_diff". Each call
// returns a new message, which belongs to the caller. It returns nil for a kind that is newer than this client.
func (e Event) Value() proto.Message {
	if e.kind == nil {
		return nil
	}
	if m := fastValue(e.kind, e.bytes()); m != nil {
		return m
	}
	m := e.kind.message.New().Interface()
	if proto.Unmarshal(e.bytes(), m) != nil {
		return nil
	}
	return m
}

// Unmarshal is like [Event.Value], but stores the message in m. The caller can reuse m for the next event of the same kind.
// Unmarshal does not allocate for messages without nested ones.
func (e Event) Unmarshal(m proto.Message) error {
	if e.kind == nil {
		return errors.New("replayd: the event has a kind that is newer than this client")
	}
	done, ok := fastUnmarshal(e.kind, e.bytes(), m)
	switch {
	case done:
		return nil
	case !ok || m.ProtoReflect().Descriptor() != e.kind.message.Descriptor():
		return fmt.Errorf("replayd: %s is a %s, not a %s", e.Kind, e.kind.message.Descriptor().FullName(),
			m.ProtoReflect().Descriptor().FullName())
	}
	return proto.Unmarshal(e.bytes(), m)
}

// Message returns the whole generated message, such as a *teehistorianv1.Event. It includes fields beside the tick and the kind,
// such as warnings. Each call returns a new message.
func (e Event) Message() proto.Message {
	if e.batch == nil {
		return nil
	}
	m := e.batch.format.event.New().Interface()
	if proto.Unmarshal(e.wire, m) != nil {
		return nil
	}
	return m
}

// StringAt returns the string for the value of a field that is marked string_index in the .proto. Strings that repeat, such as
// the names of entity classes and fields, are sent once per batch. It returns "" if there is no such string.
func (e Event) StringAt(index uint32) string {
	if e.batch == nil || uint64(index) >= uint64(len(e.batch.raw)) {
		return ""
	}
	return e.batch.text(index)
}

// AppendJSON appends the event as `replayd cat` prints it, without the newline. Fields have their names in the .proto, enums are
// names, 64-bit integers are strings, bytes are base64, and string indices are replaced by the strings. Scalars are included
// even if they are zero.
func (e Event) AppendJSON(b []byte) ([]byte, error) {
	if e.batch == nil {
		return append(b, "null"...), nil
	}
	var err error
	if printer := e.batch.format.printer; e.State {
		b, err = printer.AppendState(b, e.wire, e.batch.raw)
	} else {
		b, err = printer.AppendLine(b, eventjson.Place{Sequence: e.Sequence, Offset: e.Offset, Index: e.Index}, e.wire, e.batch.raw)
	}
	if err != nil {
		return b, fmt.Errorf("replayd: %w", err)
	}
	return b[:len(b)-1], nil
}

// MarshalJSON implements [encoding/json.Marshaler] with AppendJSON.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

// String returns the event's JSON.
func (e Event) String() string {
	b, err := e.AppendJSON(nil)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
