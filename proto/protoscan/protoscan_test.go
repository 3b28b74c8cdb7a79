package protoscan_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/replayd/replayd/proto/protoscan"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestNumbers: the numbers are those of the .proto.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		message proto.Message
		numbers map[protoreflect.Name]protowire.Number
	}{
		{&replaydv1.StreamEventsResponse{}, map[protoreflect.Name]protowire.Number{
			"cursor": protoscan.ResponseCursor, "state": protoscan.ResponseState, "batch": protoscan.ResponseBatch,
		}},
		{&replaydv1.EventBatch{}, map[protoreflect.Name]protowire.Number{
			"first_sequence": protoscan.BatchFirst, "next_sequence": protoscan.BatchNext,
			"offsets": protoscan.BatchOffsets, "indexes": protoscan.BatchIndexes,
		}},
		{&replaydv1.StateBatch{}, map[protoreflect.Name]protowire.Number{"complete": protoscan.StateComplete}},
	} {
		of := test.message.ProtoReflect().Descriptor()
		for name, number := range test.numbers {
			if f := of.Fields().ByName(name); f == nil || f.Number() != number {
				t.Errorf("%s.%s is not %d: %v", of.Name(), name, number, f)
			}
		}
	}
	lists := (*replaydv1.EventBatch)(nil).ProtoReflect().Descriptor().Oneofs().ByName("events").Fields()
	for i := range lists.Len() {
		if f := lists.Get(i).Message().Fields().ByName("events"); f == nil || f.Number() != protoscan.ListEvents {
			t.Errorf("%s: events is not %d", lists.Get(i).Name(), protoscan.ListEvents)
		}
	}
}

// FuzzNext: the fields of a message are those that protowire reads.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0x08, 0x96, 0x01, 0x12, 2, 'a', 'b', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8, 0x2b, 0x08, 1, 0x2c})
	f.Add([]byte{0x80, 0x01, 0x05})
	f.Add([]byte{0x0a, 0x05, 'c', 'u', 't'})
	f.Add([]byte{0x00, 0x00})
	f.Add(bytes.Repeat([]byte{0xff}, 11))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			number, typ, head := protowire.ConsumeTag(b)
			n := head
			if number > protowire.MaxValidNumber {
				n = -1 // as proto.Unmarshal has it
			} else if head >= 0 {
				n = protowire.ConsumeFieldValue(number, typ, b[head:])
			}
			field, rest, ok := protoscan.Next(b)
			if ok != (n >= 0) {
				t.Fatalf("%x: ok is %v; protowire returns %d", b, ok, n)
			}
			if !ok {
				return
			}
			value := b[head : head+n]
			if field.Number != number || field.Type != typ || !bytes.Equal(rest, b[head+n:]) {
				t.Fatalf("%x: %v, rest %x; want field %d of type %d", b, field, rest, number, typ)
			}
			var want uint64
			var body []byte
			switch typ {
			case protowire.VarintType:
				want, _ = protowire.ConsumeVarint(value)
			case protowire.Fixed32Type:
				v, _ := protowire.ConsumeFixed32(value)
				want = uint64(v)
			case protowire.Fixed64Type:
				want, _ = protowire.ConsumeFixed64(value)
			case protowire.BytesType:
				body, _ = protowire.ConsumeBytes(value)
			}
			if _, _, _, from, to := protoscan.First(b); typ != protowire.BytesType && from != to {
				t.Fatalf("%x: bytes from %d to %d", b, from, to)
			}
			if field.Value != want || !bytes.Equal(field.Bytes, body) {
				t.Fatalf("%x: %v; want %d and %x", b, field, want, body)
			}
			b = rest
		}
	})
}
