package dem

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// held counts the memory of a decoder's states anew.
func held(t *testing.T, d *Decoder) int {
	t.Helper()
	sum, err := d.world.store.Recount()
	if err != nil {
		t.Error(err)
	}
	return sum
}

// TestHeld: what the states of all entities are counted with is what they take.
func TestHeld(t *testing.T) {
	for name, data := range map[string][]byte{"sample": demtest.Sample(), "world": demtest.World(false), "damaged": demtest.World(true)} {
		t.Run(name, func(t *testing.T) { testHeld(t, data, 1) })
	}
}

// TestCorpusHeld is TestHeld of real files, from time to time.
func TestCorpusHeld(t *testing.T) {
	for _, name := range []string{"14090.dem", "deadlock_hltv_10423.dem", "auto-20240102-2233-start-____.dem"} {
		t.Run(name, func(t *testing.T) { testHeld(t, corpusFile(t, name), 1000) })
	}
}

// testHeld decodes data and counts the memory of states anew after each so many events.
func testHeld(t *testing.T, data []byte, each int) {
	n := 0
	d := decodeAll(t, data, Options{}, func(d *Decoder, _ *Event) {
		if n++; n%each == 0 && held(t, d) != d.world.store.Held {
			t.Fatalf("after %d events: %d bytes are held, counted are %d", n, held(t, d), d.world.store.Held)
		}
	})
	if sum := held(t, d); sum != d.world.store.Held || sum == 0 {
		t.Errorf("%d bytes are held, counted are %d", sum, d.world.store.Held)
	}
}

// TestStateLimit: at the limit, an update that needs more memory is refused, and others are not.
func TestStateLimit(t *testing.T) {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1)}))
	d.Record(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{
		{Name: "m_n", Type: "uint32"}, {Name: "m_s", Type: "CUtlString"},
	}}))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
	number := func(n uint64) demtest.Value {
		return demtest.Value{Path: []int{0}, Write: func(w *demtest.Bits) { w.Varint(n) }}
	}
	text := func(n int) demtest.Value {
		return demtest.Value{Path: []int{1}, Write: func(w *demtest.Bits) { w.CString(strings.Repeat("x", n)) }}
	}
	e := &demtest.Entities{ClassBits: 1}
	e.Create(0, 0, 1, number(1))
	d.Packet(0, e.Message(false))
	e = &demtest.Entities{ClassBits: 1}
	e.Update(0, number(2), text(3))
	e.Create(1, 0, 2, number(1))
	d.Packet(1, e.Message(true))
	e = &demtest.Entities{ClassBits: 1}
	e.Update(0, number(3))
	e.Update(1, number(4))
	d.Packet(2, e.Message(true))
	d.Record(demtest.CmdStop, 3, nil)

	decoder := New(bytes.NewReader(d.Bytes()), Options{Kinds: func(k Kind) bool {
		return k == KindFault || k >= KindEntityUpdated && k <= KindEntityDeleted
	}})
	var got []string
	var ev Event
	for {
		err := decoder.Next(&ev)
		if err != nil {
			if !errors.Is(err, io.EOF) && decoder.Close() != nil {
				t.Fatal(err)
			}
			break
		}
		s := ev.Kind.String()
		if ev.Kind == KindFault {
			s += " " + string(ev.Fault.Detail)
			if ev.Fault.Kind != FaultKindLimit {
				t.Errorf("a fault of kind %d", ev.Fault.Kind)
			}
		}
		got = append(got, s)
		if len(got) == 1 {
			decoder.world.store.Held += entity.MaxState // as if others had it all
		}
	}
	want := []string{
		"entity_created", "fault too many fields of all entities together",
		"entity_created", "fault too many fields of all entities together",
		"entity_updated", "fault too many fields of all entities together",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if e, _ := decoder.Entity(0); len(e.Fields) != 1 || e.Fields[0].Uint != 3 {
		t.Errorf("at last %+v", e)
	}
	if decoder.stats.EntityMismatches != 0 {
		t.Errorf("%+v", decoder.stats)
	}
}
