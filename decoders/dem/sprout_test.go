package dem

import (
	"fmt"
	"maps"
	"testing"

	cmpgo "github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

var (
	sproutFields = []demtest.Field{
		{Name: "m_n", Type: "uint32"},
		{Name: "m_list", Type: "CUtlVector< uint32 >"},
		{Name: "m_flSimulationTime", Type: "float32"},
		{Name: "m_s", Type: "CUtlString"},
		{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
	}
	sproutBody = demtest.Serializer{Name: "CBodyComponent", Fields: []demtest.Field{
		{Name: "m_cellX", Type: "uint16"}, {Name: "m_cellY", Type: "uint16"}, {Name: "m_cellZ", Type: "uint16"},
		{Name: "m_vecX", Type: "float32"}, {Name: "m_vecY", Type: "float32"}, {Name: "m_vecZ", Type: "float32"},
	}}
	sproutTables = demtest.SendTables(sproutBody, demtest.Serializer{Name: "CA", Fields: sproutFields}, demtest.Serializer{Name: "CB", Fields: sproutFields},
		demtest.Serializer{Name: "CC"})
)

// sproutDemo is a demo of an entity of each of the first two classes, with their default states, and of later changes of them. At last the first
// class has an empty default state, and a further entity.
func sproutDemo(interval float32, classes []string, states [2][]demtest.Value, later ...demtest.Value) []byte {
	var state [2][]byte
	for i, values := range states {
		var b demtest.Bits
		b.Fields(values...)
		state[i] = b.Bytes()
	}
	var none demtest.Bits
	none.Fields(sproutNumber(99, 0))
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(
		demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, int64(len(classes))).Float(13, interval)},
		demtest.Table{}.Create("instancebaseline", false,
			demtest.Entry{Index: 0, Key: "0", HasValue: true, Value: state[0]}, demtest.Entry{Index: 1, Key: "1", HasValue: true, Value: state[1]}),
	))
	d.Record(demtest.CmdSendTables, -1, sproutTables)
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes(classes...))
	e := &demtest.Entities{ClassBits: 2}
	e.Create(1, 0, 10)
	e.Create(2, 1, 11)
	d.Packet(0, e.Message(false))
	for i, v := range later {
		e = &demtest.Entities{ClassBits: 2}
		e.Update(1+i%2, v)
		e.Update(5, v) // is not there
		d.Packet(int32(1+i), e.Message(true))
	}
	e = &demtest.Entities{ClassBits: 2}
	e.Create(6, 0, 12)
	d.Packet(9, demtest.Table{}.Update(0, demtest.Entry{Index: 0, Key: "0", HasValue: true, Value: none.Bytes()}), e.Message(true))
	d.Record(demtest.CmdStop, 9, nil)
	d.Record(demtest.CmdFileInfo, 9, nil)
	return d.Bytes()
}

func sproutNumber(n int, path ...int) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Varint(uint64(n)) }}
}

var sproutText = demtest.Value{Path: []int{3}, Write: func(w *demtest.Bits) { w.CString("text") }}

// TestSharedFields: decoders that take over the fields and default states of classes from others, at the same time too, tell the same as those that
// read them, whatever differs between demos with one schema, and whatever fields come later.
func TestSharedFields(t *testing.T) {
	ab := []string{"CA", "CB"}
	states := func(first ...demtest.Value) [2][]demtest.Value {
		second := []demtest.Value{sproutNumber(7, 0), sproutNumber(3, 1), sproutNumber(10, 1, 0), sproutNumber(12, 1, 2), sproutNumber(640, 2),
			{Path: []int{4}, Write: func(w *demtest.Bits) { w.Bool(true) }}}
		for i := range 3 {
			second = append(second, sproutNumber(30+i, 4, i))
		}
		for i := range 3 {
			second = append(second, demtest.Value{Path: []int{4, 3 + i}, Write: func(w *demtest.Bits) { w.Float32(float32(i)) }})
		}
		return [2][]demtest.Value{first, second}
	}
	state := states(states()[1]...)
	var schemas Schemas
	for what, demo := range map[string][]byte{
		"a demo":              sproutDemo(1, ab, state),
		"further fields":      sproutDemo(1, ab, state, sproutNumber(1, 1, 1), sproutNumber(2, 1, 3), sproutNumber(3, 1, 4), sproutText),
		"in another order":    sproutDemo(1, ab, state, sproutText, sproutNumber(5, 1, 4), sproutNumber(6, 1, 3), sproutNumber(7, 1, 1), sproutNumber(8, 1, 3)),
		"another tick":        sproutDemo(0.5, ab, state),
		"other names":         sproutDemo(1, []string{"CB", "CA", "CC"}, state),
		"another state":       sproutDemo(1, ab, states(sproutNumber(7, 1, 4), sproutNumber(8, 1, 5), sproutText), sproutNumber(9, 1, 1)),
		"one like it":         sproutDemo(1, ab, states(sproutNumber(7, 1, 6), sproutNumber(8, 1, 7), sproutText), sproutNumber(9, 1, 1)),
		"a state of no field": sproutDemo(1, ab, states(), sproutNumber(9, 1, 1)),
		"a damaged state":     sproutDemo(1, ab, states(sproutNumber(7, 0), sproutNumber(3, 7))),
	} {
		for options, o := range map[string]Options{
			"all": {}, "a field": {Fields: func(_, field string) bool { return field == "m_list.0001" || field == "CBodyComponent.place" }},
			"a class": {Classes: func(c string) bool { return c == "CB" }, Fields: func(_, field string) bool { return field != "m_n" }},
		} {
			want := tell(t, demo, o)
			o.Schemas = &schemas
			for i := range 4 {
				t.Run(fmt.Sprint(what, options, i), func(t *testing.T) {
					if i > 1 { // together with those of other demos
						t.Parallel()
					}
					got := tell(t, demo, o)
					if !maps.EqualFunc(want.events, got.events, maps.Equal) || !maps.Equal(want.last, got.last) || want.faults != got.faults {
						t.Errorf("(-want +got):\n%s", cmpgo.Diff(want.events, got.events))
					}
					if diff := cmpgo.Diff(want.d.Stats(), got.d.Stats()); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	}
}

// TestFieldsOnce: the fields of a class, and its default state, are made once for all decoders with its schema.
func TestFieldsOnce(t *testing.T) {
	state := []demtest.Value{sproutNumber(1000, 1)}
	for i := range 1000 {
		state = append(state, sproutNumber(i, 1, i))
	}
	demo := sproutDemo(1, []string{"CA", "CB"}, [2][]demtest.Value{state, state})
	var schemas Schemas
	decode := func() { decodeAll(t, demo, Options{Schemas: &schemas}, func(*Decoder, *Event) {}) }
	if n := testing.AllocsPerRun(10, decode); n > 300 {
		t.Errorf("%g allocations for 2000 fields", n)
	}
}

// TestListedClasses: decoders that take over the names of classes from others tell the same as those that read them, whatever happens to the
// classes before they are met.
func TestListedClasses(t *testing.T) {
	add := func(d *demtest.Demo) { d.Record(demtest.CmdClassInfo, 3, demtest.Classes("CB", "CA")) }
	class := func(id int64, field int, name string) demtest.Proto {
		return demtest.Proto(nil).Varint(1, id).Text(field, name)
	}
	list := demtest.Classes("CA", "CB", "CDOTAGamerulesProxy", "", "CA", "CC")
	var schemas Schemas
	for _, test := range []struct {
		what   string
		list   []byte
		before func(*demtest.Demo) // the list
		behind func(*demtest.Demo)
	}{
		{what: "a demo", list: list},
		{what: "the same", list: list},
		{what: "a known list behind one without names", list: demtest.Classes("", "", "", "", "", "", ""), behind: func(d *demtest.Demo) {
			d.Record(demtest.CmdClassInfo, 3, list)
		}},
		{what: "another list", list: demtest.Classes("CC", "CB", "CA", "CB")},
		{what: "an unknown field", list: list.Varint(9, 1)},
		{what: "another unknown field", list: list.Varint(9, 2)},
		{what: "a list with a gap", list: demtest.Proto(nil).Bytes(1, class(0, 2, "CA")).Bytes(1, class(4, 2, "CB"))},
		{what: "a damaged list", list: list[:len(list)-2]},
		{what: "a second list", list: list, behind: add},
		{what: "a first list", list: list, before: add},
		{what: "a class of the server's", list: list, behind: func(d *demtest.Demo) {
			d.Packet(3, demtest.Message{ID: 42, Data: demtest.Proto(nil).Bytes(2, class(1, 3, "CA")).Bytes(2, class(6, 3, "CB"))})
		}},
		{what: "an empty list of the server's", list: list, behind: func(d *demtest.Demo) { d.Packet(3, demtest.Message{ID: 42}) }},
		{what: "another schema", list: list, behind: func(d *demtest.Demo) {
			d.Record(demtest.CmdSendTables, 3, demtest.SendTables(demtest.Serializer{Name: "CB", Fields: sproutFields[:1]}))
		}},
		{what: "another game", list: list, behind: func(d *demtest.Demo) {
			d.Record(demtest.CmdFileHeader, 3, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
		}},
	} {
		d := demtest.New()
		d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
		d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil)},
			demtest.Table{}.Create("instancebaseline", false, demtest.Entry{Index: 0, Key: "0"}, demtest.Entry{Index: 1, Key: "1"})))
		d.Record(demtest.CmdSendTables, -1, sproutTables)
		create := func(tick, slot, class int) {
			e := &demtest.Entities{ClassBits: 3}
			e.Create(slot, class, 10+slot, sproutNumber(7, 0))
			d.Packet(int32(tick), e.Message(tick > 2))
		}
		if test.before != nil {
			test.before(d)
		}
		d.Record(demtest.CmdClassInfo, -1, test.list)
		create(2, 1, 0)
		if test.behind != nil {
			test.behind(d)
		}
		for i, class := range []int{1, 0, 2, 3, 4, 6} {
			create(4, 2+i, class)
		}
		create(5, 1, 0)
		d.Record(demtest.CmdStop, 9, nil)
		d.Record(demtest.CmdFileInfo, 9, nil)
		for _, o := range []Options{
			{Kinds: entityKinds.has}, {Kinds: func(k Kind) bool { return entityKinds.has(k) || k == KindFault }},
			{Kinds: func(k Kind) bool { return entityKinds.has(k) || clockKinds.has(k) }, Classes: func(c string) bool { return c == "CB" }}, {},
		} {
			want := tell(t, d.Bytes(), o)
			o.Schemas = &schemas
			for range 3 {
				got := tell(t, d.Bytes(), o)
				if !maps.EqualFunc(want.events, got.events, maps.Equal) || !maps.Equal(want.last, got.last) || want.faults != got.faults {
					t.Errorf("%s (-want +got):\n%s%s", test.what, cmpgo.Diff(want.events, got.events), cmpgo.Diff(want.last, got.last))
				}
				if diff := cmpgo.Diff(want.d.Stats(), got.d.Stats()) + cmpgo.Diff(want.d.Health(), got.d.Health()); diff != "" {
					t.Error(test.what, diff)
				}
				if diff := cmpgo.Diff(want.d.Schema().Classes(), got.d.Schema().Classes()); diff != "" {
					t.Error(test.what, diff)
				}
			}
		}
	}
}

// TestClassesOnce: classes that no entity is of are made once for all decoders with a schema.
func TestClassesOnce(t *testing.T) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprint("C", i)
	}
	demo := sproutDemo(1, names, [2][]demtest.Value{})
	var schemas Schemas
	decode := func() {
		decodeAll(t, demo, Options{Schemas: &schemas, Kinds: func(k Kind) bool { return k == KindEntityCreated }}, func(*Decoder, *Event) {})
	}
	if n := testing.AllocsPerRun(10, decode); n > 300 {
		t.Errorf("%g allocations for 2000 classes", n)
	}
}
