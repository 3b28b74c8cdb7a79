package dem_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// variant is a message in which a field, or one of a message in it, has another number or type.
type variant struct {
	changed, without []byte // with the field changed, and without the field
	of               string // the message that has the field
	number           int    // of the field now
	typ              int
}

// variants calls f with a message in which each field in turn is renumbered to each of the given numbers that the message does not use,
// and has another wire type. It goes into messages of the message as deep as told.
func variants(message []byte, shape *pb.Shape, numbers []int, depth int, f func(variant)) {
	rest := message
	for m := pb.NewReader(message); m.Next(); {
		start, end := len(message)-len(rest), len(message)-len(m.Rest())
		rest = m.Rest()
		field, known := shape.Field(m.Num)
		if !known {
			continue
		}
		_, tag := binary.Uvarint(message[start:])
		put := func(with []byte) []byte { return slices.Concat(message[:start], with, message[end:]) }
		for _, number := range numbers {
			if _, used := shape.Field(number); !used {
				head := binary.AppendUvarint(nil, uint64(number)<<3|uint64(m.Type))
				f(variant{put(append(head, message[start+tag:end]...)), put(nil), shape.Name, number, int(m.Type)})
			}
		}
		other := demtest.Proto(nil).Fixed64(m.Num, 0x4141414141414141)
		if m.Type == pb.Fixed64 {
			other = demtest.Proto(nil).Varint(m.Num, 5)
		}
		f(variant{put(other), put(nil), shape.Name, m.Num, int(other[0] & 7)})
		if field.Of != nil && depth > 0 {
			variants(m.Raw, field.Of, numbers, depth-1, func(v variant) {
				v.changed, v.without = put(demtest.Proto(nil).Bytes(m.Num, v.changed)), put(demtest.Proto(nil).Bytes(m.Num, v.without))
				f(v)
			})
		}
	}
}

// manyNumbers are all that a field of a message might have; fewNumbers is for messages that take longer.
var (
	manyNumbers = slices.Concat(upTo(100), []int{250, 251, 252, 253, 254, 255})
	fewNumbers  = slices.Concat(upTo(9), []int{12, 15, 16, 17, 200, 1 << 20})
)

func upTo(n int) (numbers []int) {
	for i := 1; i < n; i++ {
		numbers = append(numbers, i)
	}
	return numbers
}

// TestUnknownFields: a field with a number or a wire type that is not known is counted, and changes nothing but that its value is
// not there. So it is with each field of each message that becomes an event of a kind of its own.
func TestUnknownFields(t *testing.T) {
	for i, game := range []struct {
		name string
		demo []byte
		ids  []uint32
	}{
		{"dota", demtest.Sample(), []uint32{47, 117, 118, 208, 466, 468, 470, 477, 478, 501, 547, 554, 558, 612}},
		{"csgo", demtest.Round(), []uint32{118, 321, 452, 453}},
		{"citadel", demtest.Fight(), []uint32{47, 300, 303, 309, 312, 314, 316, 317, 319, 322, 331, 351, 450, 461}},
	} {
		messages := messagesOf(t, game.demo)
		for _, id := range game.ids {
			shape, tried := lexicon.Shape(lexicon.Game(i), id), 0
			if len(messages[id]) == 0 || shape == nil {
				t.Fatalf("%s: no message %d, or no shape", game.name, id)
			}
			for _, message := range messages[id][:1] {
				variants(message, shape, manyNumbers, 8, func(v variant) {
					tried++
					want, _, _ := eventsOf(game.name, id, v.without)
					got, faults, unknown := eventsOf(game.name, id, v.changed)
					_, changed := shapeNamed(shape, v.of).Field(v.number)
					field := dem.UnknownField{Message: v.of, Number: v.number, WireType: v.typ, Changed: changed, Count: 1}
					if !slices.Contains(unknown, field) {
						t.Errorf("%s %d: %+v is not in %+v", game.name, id, field, unknown)
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s %d: with the unknown %+v\n%q, not\n%q", game.name, id, field, got, want)
					}
					if (faults > 0) != changed {
						t.Errorf("%s %d: %d faults for %+v", game.name, id, faults, field)
					}
				})
			}
			if tried < 50 {
				t.Errorf("%s %d: %d variants", game.name, id, tried)
			}
		}
	}
}

// shapeNamed returns a shape, or one inside it.
func shapeNamed(s *pb.Shape, name string) *pb.Shape {
	if s == nil || s.Name == name {
		return s
	}
	for number := range 128 {
		if f, ok := s.Field(number); ok && f.Of != nil && f.Of != s {
			if found := shapeNamed(f.Of, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// eventsOf decodes a demo with one message. It returns the message's events, and how many faults and which unknown fields there are.
func eventsOf(game string, id uint32, message []byte) (events []string, faults int, unknown []dem.UnknownField) {
	demo := demtest.New()
	demo.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, game))
	demo.Packet(1, demtest.Message{ID: id, Data: message})
	d := dem.New(bytes.NewReader(demo.Bytes()), dem.Options{})
	_ = run(d, func(ev *dem.Event) {
		switch ev.Kind {
		case dem.KindFileHeader:
		case dem.KindFault:
			faults++
		default:
			ev.MatchSummary.Raw, ev.MatchSummary.RawSize = nil, 0 // the message as it is
			events = append(events, readable(d, ev))
		}
	})
	return events, faults, d.Health().Unknown
}

// messagesOf returns the messages of a demo's packets, by their numbers.
func messagesOf(t *testing.T, demo []byte) map[uint32][][]byte {
	t.Helper()
	messages := map[uint32][][]byte{}
	if _, err := demtest.Rewrite(demo, func(command uint32, payload []byte) []byte {
		if command == demtest.CmdPacket {
			for _, m := range demtest.Messages(payload) {
				messages[m.ID] = append(messages[m.ID], m.Data)
			}
		}
		return nil
	}); err != nil && len(messages) == 0 {
		t.Fatal(err)
	}
	return messages
}
