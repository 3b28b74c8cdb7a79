package latest

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/replay/codec"
)

// Kind is the kind of samples that boards have.
const Kind = "sample_player"

// The fields that are the same in every format: the tick of an event, and the number of a player in a sample of one.
const (
	eventTick    protowire.Number = 1
	playerNumber protowire.Number = 1
)

// sampled is a format's sample of a player on the wire.
type sampled struct {
	kind    protowire.Number          // the field of the format's Event
	columns map[protowire.Number]bool // the fields that are wanted, besides the number; nil if all are
}

// sampleOf returns the field of a format's events that has samples of players, nil if it has none.
func sampleOf(c *codec.Codec) protoreflect.FieldDescriptor {
	events := c.NewEventList().ProtoReflect().Descriptor().Fields().ByNumber(protoscan.ListEvents)
	return events.Message().Fields().ByName(Kind)
}

// Columns returns the names of the fields of a format's samples of players.
func Columns(c *codec.Codec) (names []string) {
	kind := sampleOf(c)
	if kind == nil {
		return nil
	}
	fields := kind.Message().Fields()
	for i := range fields.Len() {
		names = append(names, string(fields.Get(i).Name()))
	}
	return names
}

// newSampled returns the form of a format's samples with some columns; none means all.
func newSampled(c *codec.Codec, columns []string) (s sampled, err error) {
	kind := sampleOf(c)
	if kind == nil {
		return s, fmt.Errorf("format %v has no samples of players", c.Format)
	}
	if s.kind = kind.Number(); len(columns) == 0 {
		return s, nil
	}
	s.columns = map[protowire.Number]bool{playerNumber: true}
	fields := kind.Message().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); slices.Contains(columns, string(f.Name())) {
			s.columns[f.Number()] = true
		}
	}
	return s, nil
}

var errMalformed = errors.New("a malformed sample of a player")

// append appends an event to b without its tick and without the columns that nobody wants. It returns the tick and the player's number.
func (s *sampled) append(b, event []byte) (_ []byte, tick, player int32, err error) {
	for rest := event; len(rest) > 0; {
		f, left, ok := protoscan.Next(rest)
		if !ok {
			return b, 0, 0, errMalformed
		}
		whole := rest[:len(rest)-len(left)]
		switch rest = left; f.Number {
		case eventTick:
			tick = int32(f.Value)
		case s.kind:
			if b, player, err = s.appendPlayer(b, whole, f.Bytes); err != nil {
				return b, 0, 0, err
			}
		default:
			b = append(b, whole...)
		}
	}
	return b, tick, player, nil
}

// appendPlayer appends a sample, of which whole is the field with its tag.
func (s *sampled) appendPlayer(b, whole, sample []byte) (_ []byte, player int32, err error) {
	size := 0
	for rest := sample; len(rest) > 0; {
		f, left, ok := protoscan.Next(rest)
		if !ok {
			return b, 0, errMalformed
		}
		if f.Number == playerNumber {
			player = int32(f.Value)
		}
		if s.columns[f.Number] {
			size += len(rest) - len(left)
		}
		rest = left
	}
	if s.columns == nil {
		return append(b, whole...), player, nil
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, s.kind, protowire.BytesType), uint64(size))
	for rest := sample; len(rest) > 0; {
		f, left, _ := protoscan.Next(rest)
		if s.columns[f.Number] {
			b = append(b, rest[:len(rest)-len(left)]...)
		}
		rest = left
	}
	return b, player, nil
}
