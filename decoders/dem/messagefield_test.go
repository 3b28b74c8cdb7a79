package dem_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// fieldsIn decodes a demo of Counter-Strike 2 with one message, and returns the event that has it.
func fieldsIn(t *testing.T, id uint32, message []byte) dem.Message {
	t.Helper()
	demo := demtest.New()
	demo.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	demo.Packet(1, demtest.Message{ID: 9998, Data: demtest.Proto(nil).Varint(9, 9)}, demtest.Message{ID: id, Data: message})
	var found dem.Message
	d := dem.New(bytes.NewReader(demo.Bytes()), dem.Options{Kinds: func(k dem.Kind) bool { return k == dem.KindMessage }})
	_ = run(d, func(ev *dem.Event) {
		if found = ev.Message; found.Id == id && found.Offset == 0 && int(found.Size) != len(message) {
			t.Errorf("message %d has %d bytes, not %d", id, found.Size, len(message))
		}
	})
	return found
}

// TestMessageFields: a message without a kind of its own has its fields, with names where a definition of it is published.
func TestMessageFields(t *testing.T) {
	inner := demtest.Proto(nil).Varint(1, 2)
	message := demtest.Proto(nil).Varint(1, -1).Fixed64(2, 1<<63).Float(3, 1).Bytes(4, inner).Text(5, "text").Text(6, "").Varint(1000, 7)
	want := []dem.MessageField{
		{Number: 1, Value: 1<<64 - 1}, {Number: 2, WireType: 1, Value: 1 << 63}, {Number: 3, WireType: 5, Value: 0x3f800000},
		{Number: 4, WireType: 2, Data: inner, MaybeMessage: true}, {Number: 5, WireType: 2, Data: []byte("text")},
		{Number: 6, WireType: 2, Data: []byte{}}, {Number: 1000, Value: 7},
	}
	if got := fieldsIn(t, 9999, message); !reflect.DeepEqual(got.Fields, want) || got.MoreFields != 0 || got.Malformed {
		t.Errorf("%+v, not %+v", got.Fields, want)
	}
	// CUserMessageTextMsg: dest, and a list of param. Another wire type has no name, and text that is none is bytes.
	got := fieldsIn(t, 124, demtest.Proto(nil).Varint(1, 3).Text(2, "#hello").Bytes(2, []byte{0xff}).Varint(2, 1))
	want = []dem.MessageField{
		{Number: 1, Name: []byte("dest"), Value: 3}, {Number: 2, Name: []byte("param"), WireType: 2, Text: []byte("#hello")},
		{Number: 2, Name: []byte("param"), WireType: 2, Data: []byte{0xff}}, {Number: 2, Value: 1},
	}
	if !reflect.DeepEqual(got.Fields, want) || string(got.Name) != "CUserMessageTextMsg" {
		t.Errorf("%+v, not %+v", got.Fields, want)
	}
}

// TestMessageFieldsBounded: what is torn, has very many fields, or is delivered in pieces says so.
func TestMessageFieldsBounded(t *testing.T) {
	if got := fieldsIn(t, 9999, append(demtest.Proto(nil).Varint(1, 1), 0x80)); len(got.Fields) != 1 || !got.Malformed {
		t.Errorf("torn: %+v", got)
	}
	many := bytes.Repeat(demtest.Proto(nil).Varint(1, 1), 1030)
	if got := fieldsIn(t, 9999, many); len(got.Fields) != 1024 || got.MoreFields != 6 || got.Malformed || len(got.Data) != len(many) {
		t.Errorf("many: %d fields, and %d", len(got.Fields), got.MoreFields)
	}
	large := demtest.Proto(nil).Bytes(1, make([]byte, 300<<10))
	if got := fieldsIn(t, 9999, large); len(got.Fields) != 0 || got.MoreFields != 0 || got.Malformed || got.Offset == 0 {
		t.Errorf("in pieces: %d fields", len(got.Fields))
	}
}

// TestCommandFields: a record without a kind of its own has its fields, too.
func TestCommandFields(t *testing.T) {
	demo := demtest.New()
	demo.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	demo.Record(18, 1, demtest.Proto(nil).Bytes(1, demtest.Proto(nil).Varint(1, 2)).Bytes(2, []byte("x")))
	var found dem.Command
	d := dem.New(bytes.NewReader(demo.Bytes()), dem.Options{Kinds: func(k dem.Kind) bool { return k == dem.KindCommand }})
	_ = run(d, func(ev *dem.Event) { found = ev.Command })
	want := []dem.MessageField{
		{Number: 1, Name: []byte("initial_spawn_group"), WireType: 2, Data: demtest.Proto(nil).Varint(1, 2), MaybeMessage: true},
		{Number: 2, Name: []byte("spawn_group_message"), WireType: 2, Data: []byte("x")},
	}
	if !reflect.DeepEqual(found.Fields, want) || string(found.Name) != "DEM_Recovery" {
		t.Errorf("%s %+v, not %+v", found.Name, found.Fields, want)
	}
}
