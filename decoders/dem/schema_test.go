package dem_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// created plays a demo of one entity of the last of the serializers, and returns its fields as they are told.
func created(t *testing.T, serializers []demtest.Serializer, values ...demtest.Value) []string {
	t.Helper()
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(
		demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1).Float(13, 1.0/64)},
		demtest.Table{}.Create("instancebaseline", false, demtest.Entry{Index: 0, Key: "0"}),
	))
	d.Record(demtest.CmdSendTables, -1, demtest.SendTables(serializers...))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes(serializers[len(serializers)-1].Name))
	d.Record(demtest.CmdSyncTick, -1, nil)
	packet(false, func(e *demtest.Entities) { e.Create(1, 0, 10, values...) })(d, 0)
	d.Record(demtest.CmdStop, 1, nil)
	var out []string
	decoder := dem.New(bytes.NewReader(d.Bytes()), dem.Options{})
	err := run(decoder, func(ev *dem.Event) {
		fields := fieldsOf(ev)
		for i := range fields {
			out = append(out, decoder.Name(fields[i].Field)+"="+leafText(&fields[i]))
		}
		if ev.Kind == dem.KindFault {
			t.Errorf("fault: %s", ev.Fault.Detail)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMinusOne: what the schema says is sent plus one is told as it is, like the rounds in a weapon.
func TestMinusOne(t *testing.T) {
	varint := func(field int, v uint64) demtest.Value {
		return demtest.Value{Path: []int{field}, Write: func(w *demtest.Bits) { w.Varint(v) }}
	}
	got := created(t, []demtest.Serializer{{Name: "CWeapon", Fields: []demtest.Field{
		{Name: "m_iClip", Type: "int32", VarSerializer: "minusone"},
		{Name: "m_iBonusClip", Type: "int32", VarSerializer: "minusone"},
		{Name: "m_hOwner", Type: "CHandle< CBaseEntity >", VarSerializer: "ehandle"},
		{Name: "m_iClip1", Type: "int32"},
		{Name: "m_iClip2", Type: "int32"},
		{Name: "m_iRounds", Type: "int32"},
	}}}, varint(0, 31), varint(1, 0), varint(2, 5), varint(3, 21), varint(4, 0), varint(5, 21))
	want := []string{"m_iClip=i30", "m_iBonusClip=i-1", "m_hOwner=i5", "m_iClip1=i20", "m_iClip2=i-1", "m_iRounds=i-11"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestClips: no weapon has fewer rounds than none, -1 is where there is no clip, and some have rounds.
func TestClips(t *testing.T) {
	full := 0
	for _, data := range source2(t) {
		eachField(t, data, func(v *dem.FieldValue) {
			if v.Int < -1 || v.Int > 1000 {
				t.Errorf("a weapon has %d rounds", v.Int)
			}
			if v.Int > 0 {
				full++
			}
		}, "m_iClip", "m_iBonusClip", "m_iClip1", "m_iClip2")
	}
	if full == 0 {
		t.Error("no weapon has rounds")
	}
}

// TestNamesApart: fields of one object that share a name are told apart by the structure that they stem from; others keep
// their short name, also one that shares it in another object.
func TestNamesApart(t *testing.T) {
	velocity := demtest.Field{Name: "m_vecX", Type: "float32", SendNode: "m_vecVelocity"}
	eyes := demtest.Field{Name: "m_vecX", Type: "float32", SendNode: "m_vecViewOffset"}
	own := demtest.Field{Name: "m_list", Type: "CUtlVector< uint32 >", SendNode: "(root)"}
	other := demtest.Field{Name: "m_list", Type: "CUtlVector< uint32 >", SendNode: "m_Item.m_Attributes"}
	long := demtest.Field{Name: "m_vecX", Type: "float32", SendNode: strings.Repeat("m_far", 50)}
	height := demtest.Field{Name: "m_flHeight", Type: "float32", SendNode: "m_vecViewOffset"}
	float := func(v float32, path ...int) demtest.Value {
		return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Float32(v) }}
	}
	number := func(v uint64, path ...int) demtest.Value {
		return demtest.Value{Path: path, Write: func(w *demtest.Bits) { w.Varint(v) }}
	}
	got := created(t, []demtest.Serializer{
		{Name: "CEyes", Fields: []demtest.Field{eyes}},
		{Name: "CPawn", Fields: []demtest.Field{
			velocity, eyes, own, other, height, {Name: "m_pEyes", Type: "CEyes*", Serializer: "CEyes"}, long,
		}},
	},
		float(1, 0), float(2, 1), number(1, 2), number(5, 2, 0), number(1, 3), number(6, 3, 0), float(3, 4),
		demtest.Value{Path: []int{5}, Write: func(w *demtest.Bits) { w.Bool(true) }}, float(4, 5, 0), float(5, 6))
	want := []string{
		"m_vecVelocity.m_vecX=f3f800000", "m_vecViewOffset.m_vecX=f40000000",
		"m_list=i1", "m_list.0000=i5", "m_Item.m_Attributes.m_list=i1", "m_Item.m_Attributes.m_list.0000=i6",
		"m_flHeight=f40400000", "m_pEyes=btrue", "m_pEyes.m_vecX=f40800000",
		"m_vecX=f40a00000", // a name that is no game's is not made longer
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestSecondSchema: a schema that comes when there are entities makes them unknown until the next key frame.
func TestSecondSchema(t *testing.T) {
	tables := func(typ string) demtest.Proto {
		return demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_v", Type: typ}}})
	}
	// The third number is what marks memory that can be used again.
	vector := demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) {
		w.Float32(1)
		w.Float32(2)
		w.Float32(math.Float32frombits(1))
	}}
	text := demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.CString("hello") }}
	for name, second := range map[string]func(d *demtest.Demo){
		"record": func(d *demtest.Demo) { d.Record(demtest.CmdSendTables, 1, tables("CUtlString")) },
		"message": func(d *demtest.Demo) {
			var raw []byte
			_, raw = cutVarint(tables("CUtlString")[1:])
			_, raw = cutVarint(raw)
			d.Packet(1, demtest.Message{ID: 41, Data: raw})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := demtest.New()
			d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
			d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1)}))
			d.Record(demtest.CmdSendTables, -1, tables("Vector"))
			d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
			packet(false, func(e *demtest.Entities) {
				e.Create(0, 0, 1, vector)
				e.Create(1, 0, 2, vector)
				e.Extra(demtest.Proto(nil).Varint(4, 1).Varint(5, 0))
			})(d, 0)
			second(d)
			packet(true, func(e *demtest.Entities) {
				e.Update(0, text)
				e.Create(1, 0, 3)
				e.Extra(demtest.Proto(nil).Varint(5, 1))
			})(d, 2)
			e := &demtest.Entities{ClassBits: 1}
			e.Create(0, 0, 1, text)
			d.Record(demtest.CmdFullPacket, 3, demtest.Proto(nil).Bytes(2, demtest.PackMessages(e.Message(false))))
			d.Record(demtest.CmdStop, 4, nil)
			var got []string
			decoder := dem.New(bytes.NewReader(d.Bytes()), dem.Options{Kinds: func(k dem.Kind) bool { return isEntity(k) || k == dem.KindFault }})
			if err := run(decoder, func(ev *dem.Event) { got = append(got, eventText(decoder, ev)) }); err != nil {
				t.Fatal(err)
			}
			v := fmt.Sprintf("v%08x%08x%08x", math.Float32bits(1), math.Float32bits(2), 1)
			want := []string{
				"0 entity_created 0 1 C m_v=" + v, "0 entity_created 1 2 C m_v=" + v,
				fmt.Sprintf("1 fault %v another schema: all entities are forgotten until the next key frame 0   0/0", dem.FaultKindSchema),
				"2 entity_created 1 3 C", "3 entity_created 0 1 C m_v=s\"hello\"", "3 entity_deleted 1 C",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := decoder.Stats().EntityUnknown; n != 1 {
				t.Errorf("%d updates of unknown entities", n)
			}
		})
	}
}

// cutVarint takes a varint off the beginning.
func cutVarint(b []byte) (uint64, []byte) {
	v, n := binary.Uvarint(b)
	return v, b[n:]
}
