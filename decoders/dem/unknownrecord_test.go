package dem_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// spot is a message of a demo, in its record or in a message of its packets.
type spot struct {
	name    string
	shape   *pb.Shape
	depth   int // to which the messages in it are always read
	message []byte
	put     func(message []byte) (demo []byte) // the demo with another message there
}

// engineMessages are the messages of packets that the decoder reads for what it needs to know, by number.
var engineMessages = []uint32{4, 6, 40, 42, 44, 45, 55, 72, 76, 205, 207}

// engineRecords are the records that it reads, and how deep.
var engineRecords = map[uint32]struct {
	name  string
	depth int
}{
	demtest.CmdFileHeader: {"CDemoFileHeader", 8}, demtest.CmdFileInfo: {"CDemoFileInfo", 8}, demtest.CmdSendTables: {"CDemoSendTables", 8},
	demtest.CmdClassInfo: {"CDemoClassInfo", 8}, demtest.CmdStringTables: {"CDemoStringTables", 8}, demtest.CmdPacket: {"CDemoPacket", 8},
	demtest.CmdConsoleCmd: {"CDemoConsoleCmd", 8}, demtest.CmdUserCmd: {"CDemoUserCmd", 8},
	demtest.CmdFullPacket: {"CDemoFullPacket", 0}, // what is in it is only read behind a gap
}

// spots returns the first spot of each kind of messages in a demo.
func spots(t *testing.T, game lexicon.Game, demo []byte) (all []spot) {
	t.Helper()
	rewrite := func(at int, with func(payload []byte) []byte) []byte {
		n := 0
		out, err := demtest.Rewrite(demo, func(_ uint32, payload []byte) []byte {
			if n++; n == at {
				return append([]byte{}, with(payload)...) // never nil, which means that nothing changes
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	seen := map[string]bool{}
	add := func(s spot) {
		if s.shape != nil && !seen[s.name] {
			seen[s.name] = true
			all = append(all, s)
		}
	}
	record := 0
	if _, err := demtest.Rewrite(demo, func(command uint32, payload []byte) []byte {
		record++
		at := record
		if r, ok := engineRecords[command]; ok {
			add(spot{r.name, lexicon.Type(r.name), r.depth, payload, func(message []byte) []byte {
				return rewrite(at, func([]byte) []byte { return message })
			}})
		}
		if command == demtest.CmdSendTables {
			var data []byte
			for m := pb.NewReader(payload); m.Next(); {
				data = m.Raw
			}
			n, used := binary.Uvarint(data)
			add(spot{"schema", lexicon.Shape(game, 41), 8, data[used : used+int(n)], func(message []byte) []byte {
				return rewrite(at, func([]byte) []byte {
					return demtest.Proto(nil).Bytes(1, append(binary.AppendUvarint(nil, uint64(len(message))), message...))
				})
			}})
		}
		if command != demtest.CmdPacket && command != demtest.CmdSignonPacket {
			return nil
		}
		for i, m := range demtest.Messages(payload) {
			if !slices.Contains(engineMessages, m.ID) {
				continue
			}
			add(spot{fmt.Sprint(m.ID), lexicon.Shape(game, m.ID), 8, m.Data, func(message []byte) []byte {
				return rewrite(at, func(payload []byte) []byte {
					messages := demtest.Messages(payload)
					messages[i].Data = message
					return demtest.PackMessages(messages...)
				})
			}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// told is what a demo tells.
type told struct {
	events  []string // without faults about unknown fields
	changed int      // faults about fields of another wire type
	unknown int      // faults about unknown fields
	fields  []dem.UnknownField
}

func tell(t *testing.T, demo []byte) (out told) {
	t.Helper()
	d := dem.New(bytes.NewReader(demo), dem.Options{UnknownFields: true})
	last := d.Position()
	_ = run(d, func(ev *dem.Event) {
		if at := d.EventPosition(); at.Before(last) {
			t.Errorf("%v at %v is not behind %v", ev.Kind, at, last)
		}
		last = d.Position()
		switch f := &ev.Fault; {
		case ev.Kind == dem.KindFault && f.Kind == dem.FaultKindUnknownField:
			out.unknown++
			return
		case ev.Kind == dem.KindFault && strings.Contains(string(f.Detail), "another wire type"):
			out.changed++
			return
		}
		// Places move, and some events have the message as it is.
		ev.KeyFrame.Offset, ev.Modifier.Raw, ev.MatchSummary.Raw, ev.UserCmd.Data, ev.UserCmd.DeltaData = 0, nil, nil, nil, nil
		out.events = append(out.events, readable(d, ev))
	})
	out.fields = d.Health().Unknown
	return out
}

// compare compares what a demo with a changed field tells with what one without the field does.
func (s *spot) compare(t *testing.T, v variant, got, want told) {
	t.Helper()
	_, changed := shapeNamed(s.shape, v.of).Field(v.number)
	field := dem.UnknownField{Message: v.of, Number: v.number, WireType: v.typ, Changed: changed, Count: 1}
	if !slices.Contains(got.fields, field) {
		t.Errorf("%s: %+v is not in %+v", s.name, field, got.fields)
	}
	if !slices.Equal(got.events, want.events) {
		for i := range got.events {
			if i >= len(want.events) || got.events[i] != want.events[i] {
				t.Errorf("%s: with the unknown %+v\n%s, not\n%s", s.name, field, got.events[i], slices.Concat(want.events, make([]string, i+1))[i])
				break
			}
		}
		if len(got.events) < len(want.events) {
			t.Errorf("%s: with the unknown %+v\n%d events, not %d", s.name, field, len(got.events), len(want.events))
		}
	}
	if changed != (got.changed > 0) || changed == (got.unknown > 0) {
		t.Errorf("%s: %d and %d faults for %+v", s.name, got.changed, got.unknown, field)
	}
}

// TestUnknownFieldsOfTheEngine is TestUnknownFields for records, for messages that tell the decoder how to read others, and for
// messages in them.
func TestUnknownFieldsOfTheEngine(t *testing.T) {
	demo := demtest.Sample()
	if told := tell(t, demo); len(told.fields) > 0 || told.changed > 0 || told.unknown > 0 {
		t.Fatalf("the sample has unknown fields: %+v", told.fields)
	}
	all := spots(t, lexicon.Dota, demo)
	if len(all) != len(engineMessages)+len(engineRecords) { // one for each but 42, and the schema
		t.Errorf("%d kinds of messages", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			var without []byte
			var want told
			tried := 0
			variants(s.message, s.shape, fewNumbers, s.depth, func(v variant) {
				if tried++; without == nil || !bytes.Equal(without, v.without) {
					without, want = v.without, tell(t, s.put(v.without))
				}
				s.compare(t, v, tell(t, s.put(v.changed)), want)
			})
			if tried == 0 {
				t.Error("nothing was tried")
			}
		})
	}
}

// TestUnknownFieldsOfEntries is TestUnknownFields for the entries of string tables that are messages.
func TestUnknownFieldsOfEntries(t *testing.T) {
	table := demtest.Table{}
	for _, entry := range []struct {
		table, shape string
		message      demtest.Proto
	}{
		{"userinfo", "CMsgPlayerInfo", demtest.Proto(nil).Text(1, "somebody").Fixed64(2, 76561197960265729).Varint(3, 3).Varint(5, 1).Varint(6, 1)},
		{"ActiveModifiers", "CDOTAModifierBuffTableEntry", demtest.Proto(nil).Varint(1, 1).Varint(2, 9).Varint(3, 1).Varint(4, 8).Varint(5, 33).
			Varint(6, 2).Varint(7, 3).Float(8, 4).Float(9, 5).Varint(10, 0).Varint(11, 1).Varint(14, 1).Varint(23, 1).Text(32, "named").Varint(34, 0)},
	} {
		s := spot{name: entry.table, shape: lexicon.Type(entry.shape), put: func(message []byte) []byte {
			demo := demtest.New()
			demo.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
			demo.Packet(1, table.Create(entry.table, false, demtest.Entry{Key: "0", HasValue: true, Value: message}))
			return demo.Bytes()
		}}
		tried := 0
		variants(entry.message, s.shape, manyNumbers, 8, func(v variant) {
			tried++
			got, want := tell(t, s.put(v.changed)), tell(t, s.put(v.without))
			for _, events := range [][]string{got.events, want.events} {
				events[2] = "" // the entry as it is
			}
			s.compare(t, v, got, want)
		})
		if tried < 200 {
			t.Errorf("%s: %d variants", entry.table, tried)
		}
	}
}

// TestUnknownFieldsOfCommands is TestUnknownFields for user commands of Counter-Strike 2: a whole one, on which another is built, and
// differences. A field of another wire type leaves nothing that could be trusted.
func TestUnknownFieldsOfCommands(t *testing.T) {
	move := demtest.Proto(nil).Varint(1, 8).Varint(2, 1).Float(3, 0.5)
	angles := demtest.Proto(nil).Float(1, 1).Float(2, 2)
	whole := demtest.Proto(nil).Bytes(1, demtest.Proto(nil).Bytes(3, demtest.Proto(nil).Varint(1, 5)).Bytes(4, angles).Float(5, 1).Varint(14, 7).Bytes(18, move)).
		Bytes(2, demtest.Proto(nil).Bytes(2, angles).Varint(4, 6).Float(5, 0.25)).Varint(6, 4)
	delta := demtest.Proto(nil).Bytes(1, demtest.Proto(nil).Bytes(3, demtest.Proto(nil).Varint(1, 6).Varint(2, 3)).Bytes(4, angles).Varint(11, 9)).Varint(7, 2)
	command := func(tick int64, data, delta []byte) demtest.Message {
		c := demtest.Proto(nil).Varint(2, tick).Varint(3, 1).Varint(4, tick)
		if data != nil {
			c = c.Bytes(1, data)
		} else {
			c = c.Bytes(6, delta)
		}
		return demtest.Message{ID: 76, Data: demtest.Proto(nil).Bytes(1, c)}
	}
	demo := func(whole, delta []byte) []byte {
		demo := demtest.New()
		demo.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
		demo.Packet(1, command(1, whole, nil), command(2, nil, delta), command(3, nil, nil))
		return demo.Bytes()
	}
	for _, s := range []spot{
		{name: "whole", message: whole, put: func(m []byte) []byte { return demo(m, delta) }},
		{name: "differences", message: delta, put: func(m []byte) []byte { return demo(whole, m) }},
	} {
		s.shape = lexicon.Type("CSGOUserCmdPB")
		variants(s.message, s.shape, fewNumbers, 8, func(v variant) {
			got, want := tell(t, s.put(v.changed)), tell(t, s.put(v.without))
			if _, known := shapeNamed(s.shape, v.of).Field(v.number); known {
				lost := 0
				for _, e := range got.events {
					if strings.Contains(e, "user_cmd") && !strings.Contains(e, "HasInput:true") {
						lost++
					}
				}
				if lost == 0 || got.changed == 0 {
					t.Errorf("%s: %+v: %d commands have no input, %d faults", s.name, v, lost, got.changed)
				}
				return
			}
			s.compare(t, v, got, want)
		})
	}
}

// TestUnknownFieldsApart: a fault about unknown fields and one about a field of another wire type have positions of their own, so that a
// stream that starts between them goes on with the second one.
func TestUnknownFieldsApart(t *testing.T) {
	demo := demtest.New()
	demo.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "citadel"))
	demo.Packet(1, demtest.Message{ID: 319, Data: demtest.Proto(nil).Fixed64(1, 5).Varint(99, 1).Varint(98, 1)})
	opts := dem.Options{UnknownFields: true, Kinds: func(k dem.Kind) bool { return k == dem.KindFault }}
	var kinds []dem.FaultKind
	var between decoders.Position
	d := dem.New(bytes.NewReader(demo.Bytes()), opts)
	_ = run(d, func(ev *dem.Event) {
		if kinds = append(kinds, ev.Fault.Kind); len(kinds) == 1 {
			between = d.Position()
		}
	})
	if !slices.Equal(kinds, []dem.FaultKind{dem.FaultKindUnknownField, dem.FaultKindMessage}) {
		t.Fatalf("faults %v", kinds)
	}
	d, kinds = dem.New(bytes.NewReader(demo.Bytes()), opts), nil
	if err := d.Seek(between); err != nil {
		t.Fatal(err)
	}
	_ = run(d, func(ev *dem.Event) { kinds = append(kinds, ev.Fault.Kind) })
	if !slices.Equal(kinds, []dem.FaultKind{dem.FaultKindMessage}) {
		t.Errorf("from between them: %v", kinds)
	}
}
