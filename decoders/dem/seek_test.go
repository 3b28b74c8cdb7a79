package dem_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// keyFrames is a demo of 100 ticks with a key frame every 10: entities come, change and go, and so do the names of the
// combat log. The records of its sign-on part have the given tick.
func keyFrames(signOn int32) []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, signOn, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	names := demtest.Table{}
	d.Record(demtest.CmdSignonPacket, signOn, demtest.PackMessages(
		demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1).Float(13, 1.0/30)},
		demtest.Table{}.Create("instancebaseline", false),
		names.Create("CombatLogNames", false, demtest.Entry{Index: 0, Key: "dota_unknown"}),
	))
	d.Record(demtest.CmdSendTables, signOn, demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{
		{Name: "m_n", Type: "uint32"}, {Name: "m_s", Type: "CUtlString"}, {Name: "m_list", Type: "CUtlVector< CUtlString >"},
	}}))
	d.Record(demtest.CmdClassInfo, signOn, demtest.Classes("C"))
	d.Record(demtest.CmdSyncTick, signOn, nil)
	all := []demtest.Entry{{Index: 0, Key: "dota_unknown"}}
	type state struct {
		n      uint64
		serial int
	}
	live := map[int]state{}
	for tick := range int32(100) {
		e := &demtest.Entities{ClassBits: 1}
		for i := range 8 {
			s, ok := live[i]
			switch {
			case !ok && (int(tick)+i)%7 == 0:
				live[i] = state{uint64(tick), int(tick) + 1}
				e.Create(i, 0, int(tick)+1, number(uint64(tick)), length(uint64(i)), element(i/2, fmt.Sprint(tick)))
			case ok && (int(tick)+i)%23 == 0:
				delete(live, i)
				e.Delete(i)
			case ok:
				s.n += uint64(i)
				live[i] = s
				e.Update(i, number(s.n), name(fmt.Sprint(s.n)))
			}
		}
		all = append(all, demtest.Entry{Index: len(all), Key: fmt.Sprintf("name of tick %d", tick)})
		d.Packet(tick,
			demtest.Message{ID: 554, Data: demtest.Proto(nil).Varint(2, int64(len(all)-1)).Varint(4, int64(len(all)/2))},
			demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, int64(tick))},
			names.Update(1, all[len(all)-1]),
			e.Message(tick > 0),
		)
		if tick%10 != 0 {
			continue
		}
		full := &demtest.Entities{ClassBits: 1}
		for i := range 8 {
			if s, ok := live[i]; ok {
				full.Create(i, 0, s.serial, number(s.n), name(fmt.Sprint(s.n)), length(uint64(i)))
			}
		}
		d.Record(demtest.CmdFullPacket, tick, demtest.Proto(nil).Bytes(1, demtest.Dump("CombatLogNames", all...)).
			Bytes(2, demtest.PackMessages(demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, int64(tick))}, full.Message(false))))
	}
	d.Record(demtest.CmdStop, 99, nil)
	d.Record(demtest.CmdFileInfo, 99, demtest.Proto(nil).Varint(2, 99))
	return d.Bytes()
}

// textsFrom returns the texts of the events behind the place to which seek goes.
func textsFrom(t *testing.T, data []byte, opts dem.Options, seek func(*dem.Decoder) error) (out []string) {
	t.Helper()
	d := dem.New(bytes.NewReader(data), opts)
	if err := seek(d); err != nil {
		t.Fatalf("seeking ended with %v", err)
	}
	if err := run(d, func(ev *dem.Event) { out = append(out, eventText(d, ev)) }); !errors.Is(err, io.EOF) {
		t.Fatalf("decoding ended with %v", err)
	}
	return out
}

// TestKeyFrames starts at every tick: what is told from there on does not depend on where decoding began.
func TestKeyFrames(t *testing.T) {
	// In recordings of clients the sign-on part has the server's tick.
	for _, signOn := range []int32{-1, 53211} {
		t.Run(fmt.Sprint(signOn), func(t *testing.T) { testKeyFrames(t, keyFrames(signOn)) })
	}
}

func testKeyFrames(t *testing.T, data []byte) {
	x, frames := indexOf(t, data)
	if len(frames) != 10 || x.LastTick != 99 {
		t.Fatalf("%d key frames, index %+v", len(frames), x)
	}
	all, _ := texts(t, data, dem.Options{}, nil)
	if len(all) < 500 {
		t.Fatalf("%d events", len(all))
	}
	if !strings.HasPrefix(all[0], "-1 file_header") {
		t.Errorf("the first event is %s", all[0])
	}
	for tick := int32(-1); tick < 100; tick++ {
		want, _ := texts(t, data, dem.Options{}, func(ev *dem.Event) bool { return ev.AtTick >= tick })
		got := textsFrom(t, data, dem.Options{}, func(d *dem.Decoder) error { return d.SeekTick(tick) })
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("from tick %d: %d events, want %d", tick, len(got), len(want))
		}
	}
}
