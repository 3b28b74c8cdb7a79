package dem_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// Fields of the class of script.
func number(v uint64) demtest.Value {
	return demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.Varint(v) }}
}

func name(s string) demtest.Value {
	return demtest.Value{Path: []int{1}, Write: func(w *demtest.Bits) { w.CString(s) }}
}

func length(n uint64) demtest.Value {
	return demtest.Value{Path: []int{2}, Write: func(w *demtest.Bits) { w.Varint(n) }}
}

func element(i int, v string) demtest.Value {
	return demtest.Value{Path: []int{2, i}, Write: func(w *demtest.Bits) { w.CString(v) }}
}

func object(typ int) demtest.Value {
	return demtest.Value{Path: []int{3}, Write: func(w *demtest.Bits) {
		w.Bool(typ >= 0)
		if typ >= 0 {
			w.UBitVar(uint32(typ))
		}
	}}
}

func member(v uint64) demtest.Value {
	return demtest.Value{Path: []int{3, 0}, Write: func(w *demtest.Bits) { w.Varint(v) }}
}

// unknown is a float whose type nobody knows.
func unknown(v float32) demtest.Value {
	return demtest.Value{Path: []int{4}, Write: func(w *demtest.Bits) { w.Float32(v) }}
}

// unreadable is of the same type, but has a size that no type has.
func unreadable() demtest.Value {
	return demtest.Value{Path: []int{4}, Write: func(w *demtest.Bits) { w.Bits(0x0abc, 13) }}
}

// at is a number at a path.
func at(v uint64, path ...int) demtest.Value {
	return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Varint(v) }}
}

// script plays packets of entities of one class, whose default has m_n = 1, and returns what was told of them.
func script(t *testing.T, packets ...func(d *demtest.Demo, tick int32)) ([]string, dem.Stats) {
	t.Helper()
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	var base demtest.Bits
	base.Fields(number(1))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(
		demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1).Float(13, 1.0/64)},
		demtest.Table{}.Create("instancebaseline", false, demtest.Entry{Index: 0, Key: "0", HasValue: true, Value: base.Bytes()}),
	))
	d.Record(demtest.CmdSendTables, -1, demtest.SendTables(
		demtest.Serializer{Name: "A", Fields: []demtest.Field{{Name: "m_a", Type: "uint32"}}},
		demtest.Serializer{Name: "B", Fields: []demtest.Field{{Name: "m_b", Type: "uint32"}}},
		demtest.Serializer{Name: "CBodyComponent", Fields: []demtest.Field{
			{Name: "m_cellX", Type: "uint16"}, {Name: "m_vecX", Type: "float32"}, {Name: "m_cellY", Type: "uint16"}, {Name: "m_vecY", Type: "float32"},
			{Name: "m_cellZ", Type: "uint16"}, {Name: "m_vecZ", Type: "float32"}, {Name: "m_hParent", Type: "CGameSceneNodeHandle"},
		}},
		demtest.Serializer{Name: "C", Fields: []demtest.Field{
			{Name: "m_n", Type: "uint32"}, {Name: "m_s", Type: "CUtlString"}, {Name: "m_list", Type: "CUtlVector< CUtlString >"},
			{Name: "m_p", Type: "A*", Serializer: "A", Polymorphic: []string{"B"}},
			{Name: "m_new", Type: "SomeFloat_t"}, {Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_last", Type: "uint32"},
			{Name: "CBodyComponent", Type: "CBodyComponent", Serializer: "CBodyComponent"},
		}},
	))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	for i, p := range packets {
		p(d, int32(i))
	}
	d.Record(demtest.CmdStop, int32(len(packets)), nil)
	var out []string
	decoder := dem.New(bytes.NewReader(d.Bytes()), dem.Options{
		Kinds: func(k dem.Kind) bool { return isEntity(k) || k == dem.KindFault },
	})
	err := run(decoder, func(ev *dem.Event) {
		if ev.Kind == dem.KindFault {
			out = append(out, fmt.Sprintf("%d fault", ev.AtTick))
			return
		}
		s := readable(decoder, ev)
		s = strings.NewReplacer("entity_", "", "\n\t", " ", " C", "").Replace(s)
		if ev.Kind == dem.KindEntityUpdated {
			for _, f := range ev.EntityUpdated.Fields {
				s += strings.TrimRight(" "+string(f.Name), " ")
			}
		}
		out = append(out, s)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		e, ok := decoder.Entity(i)
		if !ok {
			continue
		}
		s := fmt.Sprintf("at last %d/%d active=%v", i, e.Serial, e.Active)
		for j := range e.Fields {
			s += fmt.Sprintf(" %s=%s", decoder.Name(e.Fields[j].Field), leafText(&e.Fields[j]))
		}
		out = append(out, s)
	}
	return out, decoder.Stats()
}

// packet plays one packet of entities.
func packet(delta bool, f func(e *demtest.Entities)) func(*demtest.Demo, int32) {
	return func(d *demtest.Demo, tick int32) {
		e := &demtest.Entities{ClassBits: 1}
		f(e)
		d.Packet(tick, e.Message(delta))
	}
}

func TestEntities(t *testing.T) {
	first := packet(false, func(e *demtest.Entities) {
		e.Create(1, 0, 10, name("one"))
		e.Create(3, 0, 30)
	})
	for _, test := range []struct {
		name    string
		packets []func(*demtest.Demo, int32)
		want    []string
		check   func(s dem.Stats) bool
	}{
		{"an update keeps what it does not bring", []func(*demtest.Demo, int32){first, packet(true, func(e *demtest.Entities) {
			e.Update(1, number(5))
		})}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1",
			"1 updated 1/10 m_n uint 5",
			"at last 1/10 active=true m_n=i5 m_s=s\"one\"", "at last 3/30 active=true m_n=i1",
		}, nil},
		{"a full update drops what it does not mention", []func(*demtest.Demo, int32){first, packet(false, func(e *demtest.Entities) {
			e.Create(3, 0, 30, name("again"))
			e.Create(4, 0, 40)
		})}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1",
			"1 entered full=true 3/30 m_n uint 1 m_s text \"again\"", "1 created 4/40 m_n uint 1", "1 deleted 1/10",
			"at last 3/30 active=true m_n=i1 m_s=s\"again\"", "at last 4/40 active=true m_n=i1",
		}, nil},
		{"a full update keeps what it only changes", []func(*demtest.Demo, int32){first, packet(false, func(e *demtest.Entities) {
			e.Update(1, number(5))
		})}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1",
			"1 updated 1/10 m_n uint 5", "1 deleted 3/30",
			"at last 1/10 active=true m_n=i5 m_s=s\"one\"",
		}, nil},
		{"a slot gets a new tenant", []func(*demtest.Demo, int32){first, packet(true, func(e *demtest.Entities) {
			e.Create(1, 0, 11)
			e.Update(3, number(2))
		})}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1",
			"1 deleted 1/10", "1 created 1/11 m_n uint 1", "1 updated 3/30 m_n uint 2",
			"at last 1/11 active=true m_n=i1", "at last 3/30 active=true m_n=i2",
		}, nil},
		{"what left keeps its state", []func(*demtest.Demo, int32){first, packet(true, func(e *demtest.Entities) {
			e.Leave(1)
			e.Delete(3)
			e.Leave(5)
			e.Delete(6)
		})}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1",
			"1 left 1/10", "1 deleted 3/30",
			"at last 1/10 active=false m_n=i1 m_s=s\"one\"",
		}, nil},
		{"a shorter list loses elements", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) { e.Create(1, 0, 10, length(3), element(0, "a"), element(2, "c")) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, length(1)) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, length(3), element(1, "b")) }),
		}, []string{
			"0 created 1/10 m_n uint 1 m_list uint 3 m_list.0000 text \"a\" m_list.0002 text \"c\"",
			"1 updated 1/10 m_list uint 1", "2 updated 1/10 m_list uint 3 m_list.0001 text \"b\"",
			"at last 1/10 active=true m_n=i1 m_list=i3 m_list.0000=s\"a\" m_list.0001=s\"b\"",
		}, nil},
		{"an object becomes one of another type", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) {
				e.Create(1, 0, 10, object(0), member(7))
				e.Create(2, 0, 20, object(1), member(8))
			}),
			packet(true, func(e *demtest.Entities) { e.Update(1, object(1), member(9)); e.Update(2, member(10)) }),
			packet(true, func(e *demtest.Entities) { e.Update(2, object(-1)) }),
		}, []string{
			"0 created 1/10 m_n uint 1 m_p bool true m_p.m_a uint 7", "0 created 2/20 m_n uint 1 m_p bool true m_p.m_b uint 8",
			"1 updated 1/10 m_p bool true m_p.m_b uint 9", "1 updated 2/20 m_p.m_b uint 10", "2 updated 2/20 m_p bool false",
			"at last 1/10 active=true m_n=i1 m_p=btrue m_p.m_b=i9", "at last 2/20 active=true m_n=i1 m_p=bfalse",
		}, nil},
		{"an entity has its own default", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) {
				e.Create(1, 0, 10, number(7), name("own"))
				e.Extra(demtest.Proto(nil).Varint(4, 1).Varint(5, 0))
			}),
			packet(true, func(e *demtest.Entities) { e.Delete(1) }),
			packet(true, func(e *demtest.Entities) {
				e.Create(1, 0, 11)
				e.Create(2, 0, 20)
				e.Extra(demtest.Proto(nil).Varint(5, 1))
			}),
		}, []string{
			"0 created 1/10 m_n uint 7 m_s text \"own\"", "1 deleted 1/10",
			"2 created 1/11 m_n uint 7 m_s text \"own\"", "2 created 2/20 m_n uint 1",
			"at last 1/11 active=true m_n=i7 m_s=s\"own\"", "at last 2/20 active=true m_n=i1",
		}, nil},
		{"a key frame restores what damage took", []func(*demtest.Demo, int32){first,
			func(d *demtest.Demo, tick int32) { d.Record(demtest.CmdPacket|64, tick, []byte("no snappy")) },
			packet(true, func(e *demtest.Entities) { e.Update(1, number(2)); e.Update(5, number(2)) }),
			func(d *demtest.Demo, tick int32) {
				e := &demtest.Entities{ClassBits: 1}
				e.Create(1, 0, 10, number(2))
				e.Create(5, 0, 50, number(2))
				d.Record(demtest.CmdFullPacket, tick, demtest.Proto(nil).Bytes(2, demtest.PackMessages(e.Message(false))))
			},
			func(d *demtest.Demo, tick int32) { // the next one tells nothing new
				e := &demtest.Entities{ClassBits: 1}
				d.Record(demtest.CmdFullPacket, tick, demtest.Proto(nil).Bytes(2, demtest.PackMessages(e.Message(false))))
			},
		}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1",
			"1 fault", "2 updated 1/10 m_n uint 2",
			"3 entered full=true 1/10 m_n uint 2", "3 created 5/50 m_n uint 2", "3 deleted 3/30",
			"at last 1/10 active=true m_n=i2", "at last 5/50 active=true m_n=i2",
		}, func(s dem.Stats) bool { return s.EntityUnknown == 1 && s.Faults == 1 }},
		{"what cannot be read of a creation is missing", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) {
				e.Create(1, 0, 10, number(2), unreadable(), name("one"))
				e.Create(2, 0, 20, unreadable())
			}),
			packet(true, func(e *demtest.Entities) { e.Update(1, unreadable()); e.Update(2, number(3)) }),
		}, []string{
			"0 created 1/10 m_n uint 2", "0 fault", "0 created 2/20 m_n uint 1", "0 fault",
			"1 updated 1/10 m_new ", "1 fault", "1 updated 2/20 m_n uint 3",
			"at last 1/10 active=true m_n=i2", "at last 2/20 active=true m_n=i3",
		}, func(s dem.Stats) bool { return s.EntityMismatches == 3 && s.FieldsLost == 4 }},
		{"what changed to something that cannot be read is not known any more", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) {
				e.Create(1, 0, 10, name("one"), length(2), element(1, "b"), object(1), member(8), unknown(1.5))
			}),
			packet(true, func(e *demtest.Entities) {
				e.Update(1, number(3), unreadable(), demtest.Value{Path: []int{1}, Write: name("two").Write},
					demtest.Value{Path: []int{2}, Write: length(1).Write})
			}),
			packet(true, func(e *demtest.Entities) { e.Update(1, name("three")) }),
		}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\" m_list uint 2 m_list.0001 text \"b\" m_p bool true m_p.m_b uint 8 m_new float 1.5",
			"1 updated 1/10 m_n uint 3 m_new  m_s  m_list ", "1 fault", "2 updated 1/10 m_s text \"three\"",
			"at last 1/10 active=true m_n=i3 m_s=s\"three\" m_p=btrue m_p.m_b=i8",
		}, func(s dem.Stats) bool { return s.FieldsLost == 3 }},
		{"usual fields of an update that ends elsewhere", []func(*demtest.Demo, int32){first,
			packet(true, func(e *demtest.Entities) { e.Update(1, number(2)); e.Update(3, number(2)) }),
			packet(true, func(e *demtest.Entities) {
				e.Update(1, number(3), demtest.Value{Path: []int{0}, Write: func(*demtest.Bits) {}})
				e.Update(3, demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.Varint(4); w.Bits(0, 3) }})
			}),
			packet(true, func(e *demtest.Entities) {
				e.Update(1, demtest.Value{Path: []int{0}, Write: func(*demtest.Bits) {}})
				e.Update(3, number(5))
			}),
		}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1", "1 updated 1/10 m_n uint 2", "1 updated 3/30 m_n uint 2",
			"2 updated 1/10 m_n  m_n ", "2 fault", "2 updated 3/30 m_n ", "2 fault", "3 updated 1/10 m_n ", "3 fault", "3 updated 3/30 m_n uint 5",
			"at last 1/10 active=true m_s=s\"one\"", "at last 3/30 active=true m_n=i5",
		}, func(s dem.Stats) bool {
			return s.EntityUpdates == 8 && s.EntityMismatches == 3 && s.Fields == 9 && s.FieldsLost == 4
		}},
		{"the same fields again, with names and without", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) { e.Create(1, 0, 10); e.Create(3, 0, 30) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, at(2, 5)); e.Update(3, number(2)) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, at(3, 5)); e.Update(3, number(3)) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, at(2, 5)); e.Update(3, number(4)) }),
			packet(true, func(e *demtest.Entities) { e.Update(3, at(3, 5)) }), // it has fewer cells than the other
		}, []string{
			"0 created 1/10 m_n uint 1", "0 created 3/30 m_n uint 1",
			"1 updated 1/10 m_iTeamNum uint 2 Terrorist", "1 updated 3/30 m_n uint 2",
			"2 updated 1/10 m_iTeamNum uint 3 CounterTerrorist", "2 updated 3/30 m_n uint 3",
			"3 updated 1/10 m_iTeamNum uint 2 Terrorist", "3 updated 3/30 m_n uint 4", "4 updated 3/30 m_iTeamNum uint 3 CounterTerrorist",
			"at last 1/10 active=true m_n=i1 m_iTeamNum=i2", "at last 3/30 active=true m_n=i4 m_iTeamNum=i3",
		}, nil},
		{"what is attached to another has no place", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) {
				values := []demtest.Value{{Path: []int{7}, Write: func(w *demtest.Bits) { w.Bool(true) }}}
				for i := range 3 {
					offset := demtest.Value{Path: []int{7, 2*i + 1}, Write: func(w *demtest.Bits) { w.Float32(0.5) }}
					values = append(values, at(32, 7, 2*i), offset)
				}
				e.Create(1, 0, 10, values...)
			}),
			packet(true, func(e *demtest.Entities) { e.Update(1, at(9, 7, 6)) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, at(1<<24-1, 7, 6)) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, at(8, 7, 6)) }),
		}, []string{
			"0 created 1/10 m_n uint 1 CBodyComponent bool true CBodyComponent.m_cellX uint 32 CBodyComponent.m_vecX float 0.5 " +
				"CBodyComponent.m_cellY uint 32 CBodyComponent.m_vecY float 0.5 CBodyComponent.m_cellZ uint 32 CBodyComponent.m_vecZ float 0.5 " +
				"CBodyComponent.place vector {X:0.5 Y:0.5 Z:0.5}",
			"1 updated 1/10 CBodyComponent.m_hParent handle 9 CBodyComponent.place ",
			"2 updated 1/10 CBodyComponent.m_hParent handle 16777215 CBodyComponent.place vector {X:0.5 Y:0.5 Z:0.5}",
			"3 updated 1/10 CBodyComponent.m_hParent handle 8 CBodyComponent.place ",
			"at last 1/10 active=true m_n=i1 CBodyComponent=btrue CBodyComponent.m_cellX=i32 CBodyComponent.m_vecX=f3f000000 " +
				"CBodyComponent.m_cellY=i32 CBodyComponent.m_vecY=f3f000000 CBodyComponent.m_cellZ=i32 CBodyComponent.m_vecZ=f3f000000 CBodyComponent.m_hParent=i8",
		}, nil},
		{"a type that nobody knows is read in the only way that there is", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) {
				e.Create(1, 0, 10, number(2), unknown(1.5), name("one"))
				e.Create(2, 0, 20, unknown(1.5))
			}),
			packet(true, func(e *demtest.Entities) { e.Update(1, unknown(0)); e.Update(2, number(3)) }),
		}, []string{
			"0 created 1/10 m_n uint 2 m_s text \"one\" m_new float 1.5", "0 created 2/20 m_n uint 1 m_new float 1.5",
			"1 updated 1/10 m_new float 0", "1 updated 2/20 m_n uint 3",
			"at last 1/10 active=true m_n=i2 m_s=s\"one\" m_new=f00000000", "at last 2/20 active=true m_n=i3 m_new=f3fc00000",
		}, func(s dem.Stats) bool { return s.Faults == 0 }},
		{"what comes into view with news that cannot be read", []func(*demtest.Demo, int32){first,
			packet(true, func(e *demtest.Entities) { e.Visible = true; e.Hide(1) }),
			packet(true, func(e *demtest.Entities) { e.Visible = true; e.Update(1, unreadable()) }),
		}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1", "1 left 1/10",
			"2 entered full=false 1/10 m_new ", "2 fault",
			"at last 1/10 active=true m_n=i1 m_s=s\"one\"", "at last 3/30 active=true m_n=i1",
		}, nil},
		{"a creation without a size that cannot be read", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) { e.NoSizes = true; e.Create(1, 0, 10, element(20000, "a")) }),
			packet(true, func(e *demtest.Entities) { e.Update(1, number(3)) }),
		}, []string{
			"0 created 1/10 m_n uint 1", "0 fault", "1 updated 1/10 m_n uint 3", "at last 1/10 active=true m_n=i3",
		}, nil},
		{"an unknown class takes a slot", []func(*demtest.Demo, int32){first,
			packet(true, func(e *demtest.Entities) { e.Create(1, 1, 11, number(3)); e.Update(3, number(4)) }),
			packet(true, func(e *demtest.Entities) { e.NoSizes = true; e.Create(3, 1, 31, number(3)) }),
		}, []string{
			"0 created 1/10 m_n uint 1 m_s text \"one\"", "0 created 3/30 m_n uint 1",
			"1 deleted 1/10", "1 fault", "1 updated 3/30 m_n uint 4", "2 deleted 3/30", "2 fault",
		}, nil},
		{"an unknown class is skipped by its size", []func(*demtest.Demo, int32){
			packet(false, func(e *demtest.Entities) { e.Create(1, 1, 10, number(3)); e.Create(3, 0, 30) }),
		}, []string{"0 fault", "0 created 3/30 m_n uint 1", "at last 3/30 active=true m_n=i1"}, func(s dem.Stats) bool { return s.Faults == 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, stats := script(t, test.packets...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.check != nil && !test.check(stats) {
				t.Errorf("%+v", stats)
			}
		})
	}
}

// TestNewTenants: a creation in a slot that another entity had comes right behind the deletion, whatever its bits would mean as an
// entry, and the entries behind it follow.
func TestNewTenants(t *testing.T) {
	const slots, tenants = 40, 300
	packets := []func(*demtest.Demo, int32){packet(false, func(e *demtest.Entities) {
		for i := range slots {
			e.Create(i, 0, 10+i)
		}
	})}
	var want []string
	for i := range slots {
		want = append(want, fmt.Sprintf("0 created %d/%d m_n uint 1", i, 10+i))
	}
	for n := 1; n <= tenants; n++ {
		packets = append(packets, packet(true, func(e *demtest.Entities) {
			e.Create(0, 0, 10+n, number(uint64(n*n)))
			e.Update(slots-1, number(uint64(n)))
		}))
		want = append(want, fmt.Sprintf("%d deleted 0/%d", n, 9+n), fmt.Sprintf("%d created 0/%d m_n uint %d", n, 10+n, n*n),
			fmt.Sprintf("%d updated %d/%d m_n uint %d", n, slots-1, 9+slots, n))
	}
	got, _ := script(t, packets...)
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
}

// TestSchemasAreShared: decoders of the same file share its schema, at the same time too.
func TestSchemasAreShared(t *testing.T) {
	var schemas dem.Schemas
	data := demtest.Sample()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			d := dem.New(bytes.NewReader(data), dem.Options{Schemas: &schemas})
			if err := run(d, func(*dem.Event) {}); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := schemas.Len(); n != 1 {
		t.Errorf("%d schemas", n)
	}
}

// typed plays updates of an entity whose fields m_0, m_1 and so on have the given types, and returns the values that were
// told of each update, and the faults.
func typed(t *testing.T, types []demtest.Field, updates ...func(w *demtest.Bits)) (told, faults []string) {
	t.Helper()
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1)}))
	for i := range types {
		types[i].Name = fmt.Sprintf("m_%d", i)
	}
	d.Record(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "C", Fields: types}))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
	for tick, write := range updates {
		values := make([]demtest.Value, len(types))
		for i := range values {
			values[i] = demtest.Value{Path: []int{i}, Write: func(*demtest.Bits) {}}
		}
		values[0].Write = write
		e := &demtest.Entities{ClassBits: 1}
		if tick == 0 {
			e.Create(0, 0, 1, values...)
		} else {
			e.Update(0, values...)
		}
		d.Packet(int32(tick), e.Message(tick > 0))
	}
	d.Record(demtest.CmdStop, int32(len(updates)), nil)
	err := run(dem.New(bytes.NewReader(d.Bytes()), dem.Options{}), func(ev *dem.Event) {
		switch ev.Kind {
		case dem.KindEntityCreated, dem.KindEntityUpdated:
		case dem.KindFault:
			faults = append(faults, string(ev.Fault.Detail))
			return
		default:
			return
		}
		fields := fieldsOf(ev)
		var texts []string
		for i := range fields {
			texts = append(texts, leafText(&fields[i]))
		}
		told = append(told, strings.Join(texts, " "))
	})
	if err != nil {
		t.Fatal(err)
	}
	return told, faults
}

// TestLargeNumbers: numbers beyond 32 and 35 bits keep their value, and what follows them is in step.
func TestLargeNumbers(t *testing.T) {
	for _, typ := range []string{"uint64", "MatchID_t", "itemid_t", "SomeNewID_t"} {
		t.Run(typ, func(t *testing.T) {
			numbers := []uint64{7518690009, 28_000_000_000, 36_000_000_000, 1<<64 - 1}
			var updates []func(w *demtest.Bits)
			var want []string
			for _, n := range numbers {
				updates = append(updates, func(w *demtest.Bits) { w.Varint(n); w.Zigzag(-5) })
				want = append(want, fmt.Sprintf("i%d i-5", n))
			}
			got, faults := typed(t, []demtest.Field{{Type: typ}, {Type: "int32"}}, updates...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(faults) > 0 {
				t.Errorf("faults: %q", faults)
			}
		})
	}
}

// TestPreciseAngles: angles that are not sent are 0, those that are begin at −180.
func TestPreciseAngles(t *testing.T) {
	got, _ := typed(t, []demtest.Field{{Type: "QAngle", Encoder: "qangle_precise"}}, func(w *demtest.Bits) {
		w.Code("110")
		w.Bits(1<<18, 20)
		w.Bits(1<<19, 20)
	})
	want := fmt.Sprintf("v%08x%08x%08x", math.Float32bits(-90), 0, 0)
	if len(got) != 1 || got[0] != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestAlternates: an entry that a packet names for many entities is read once, and again when it has changed.
func TestAlternates(t *testing.T) {
	var table demtest.Table
	entry := func(i int, key string, values ...demtest.Value) demtest.Entry {
		var w demtest.Bits
		w.Fields(values...)
		return demtest.Entry{Index: i, Key: key, HasValue: true, Value: w.Bytes()}
	}
	// The elements are out of range, so that each time the entry is read a fault is told.
	broken := entry(2, "0:2", element(1<<20, "a"))
	create := func(entries map[int]int) func(*demtest.Demo, int32) {
		return packet(false, func(e *demtest.Entities) {
			for i := range 4 {
				e.Create(i, 0, i+1)
			}
			var extra demtest.Proto
			for i := 3; i >= 0; i-- { // in any order
				if entry, ok := entries[i]; ok {
					extra = extra.Bytes(15, demtest.Proto(nil).Varint(1, int64(i)).Varint(2, int64(entry)))
				}
			}
			// A second one for the same entity does not count.
			e.Extra(extra.Bytes(15, demtest.Proto(nil).Varint(1, 1).Varint(2, 0)))
		})
	}
	got, stats := script(t,
		func(d *demtest.Demo, tick int32) {
			d.Packet(tick, table.Update(0, entry(1, "0:1", number(7)), broken))
		},
		create(map[int]int{1: 1, 2: 1}),
		create(map[int]int{1: 2, 2: 2, 3: 2}),
		func(d *demtest.Demo, tick int32) { d.Packet(tick, table.Update(0, entry(1, "0:1", number(8)))) },
		create(map[int]int{1: 1, 3: 2}),
	)
	want := []string{
		"1 created 0/1 m_n uint 1", "1 created 1/2 m_n uint 7", "1 created 2/3 m_n uint 7", "1 created 3/4 m_n uint 1",
		"2 entered full=true 0/1 m_n uint 1", "2 entered full=true 1/2", "2 fault", "2 entered full=true 2/3", "2 entered full=true 3/4",
		"4 entered full=true 0/1 m_n uint 1", "4 entered full=true 1/2 m_n uint 8", "4 entered full=true 2/3 m_n uint 1",
		"4 entered full=true 3/4", "4 fault",
		"at last 0/1 active=true m_n=i1", "at last 1/2 active=true m_n=i8", "at last 2/3 active=true m_n=i1", "at last 3/4 active=true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if stats.Faults != 2 {
		t.Errorf("%+v", stats)
	}
}
