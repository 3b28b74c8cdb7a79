package dem_test

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestSkippedUpdates: of updates that change nothing that is asked for, nothing is missing. With faults, all of them are decoded.
func TestSkippedUpdates(t *testing.T) {
	t.Run("match", func(t *testing.T) { skipsUpdates(t, demtest.Match()) })
	t.Run("updates without a field", func(t *testing.T) {
		value := demtest.Value{Path: []int{1}, Write: func(w *demtest.Bits) { w.Varint(7) }}
		skipsUpdates(t, twoFields(
			func(e *demtest.Entities) { e.Create(1, 0, 10); e.Create(2, 0, 20) },
			func(e *demtest.Entities) { e.Update(1); e.Update(2, value) },
			func(e *demtest.Entities) { e.Update(1); e.Update(2) },
			func(e *demtest.Entities) { e.Update(1, value); e.Update(2) },
		))
	})
	for name, data := range someSource2(t) {
		t.Run(name, func(t *testing.T) { skipsUpdates(t, data) })
	}
}

func skipsUpdates(t *testing.T, data []byte) {
	t.Helper()
	skips := int64(0)
	for name, fields := range map[string]func(class, field string) bool{
		"of the place":  func(_, field string) bool { return strings.HasSuffix(field, ".place") },
		"of the body":   func(_, field string) bool { return strings.Contains(field, ".m_cell") },
		"health":        func(_, field string) bool { return field == "m_iHealth" },
		"none":          func(_, _ string) bool { return false },
		"of each third": func(class, field string) bool { return crc32.ChecksumIEEE([]byte(class+field))%3 == 0 },
		"of a few":      func(class, field string) bool { return crc32.ChecksumIEEE([]byte(class+field))%40 == 0 },
	} {
		read := func(kinds func(dem.Kind) bool) ([]string, dem.Stats) {
			var out []string
			d := decode(t, data, dem.Options{Kinds: kinds, Fields: fields}, func(d *dem.Decoder, ev *dem.Event) {
				if ev.Kind != dem.KindFault {
					out = append(out, fmt.Sprint(eventText(d, ev), " ", isEntity(ev.Kind) && d.Narrowed()))
				}
			})
			var ev dem.Event
			for slot := range dem.MaxEntities { // what is left of all updates
				if d.Present(slot, &ev) {
					out = append(out, fmt.Sprint(eventText(d, &ev), " ", d.Narrowed()))
				}
				if e, ok := d.Entity(slot); ok {
					out = append(out, fmt.Sprint(e))
				}
			}
			return out, d.Stats()
		}
		clock := func(k dem.Kind) bool { return isEntity(k) || k == dem.KindCombatLog || k == dem.KindChat }
		got, stats := read(clock)
		skips += stats.EntitySkips
		want, whole := read(func(k dem.Kind) bool { return clock(k) || k == dem.KindFault })
		if whole.EntitySkips != 0 {
			t.Errorf("%s: %d updates are skipped where faults are asked for", name, whole.EntitySkips)
		}
		if !slices.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Errorf("%s: %d events, want %d; from %d on: %.300s, want %.300s", name, len(got), len(want), at,
				strings.Join(got[at:min(at+1, len(got))], ""), strings.Join(want[at:min(at+1, len(want))], ""))
		}
	}
	if skips == 0 {
		t.Error("no update was skipped")
	}
}

// twoFields returns a demo whose entities have m_a and m_b, with a packet for each function.
func twoFields(plays ...func(e *demtest.Entities)) []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "csgo"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1)}))
	d.Record(demtest.CmdSendTables, -1, demtest.SendTables(
		demtest.Serializer{Name: "A", Fields: []demtest.Field{{Name: "m_a", Type: "uint32"}, {Name: "m_b", Type: "uint32"}}},
	))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("A"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	for tick, play := range plays {
		e := &demtest.Entities{ClassBits: 1}
		play(e)
		d.Packet(int32(tick), demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, int64(tick))}, e.Message(tick > 0))
	}
	d.Record(demtest.CmdStop, int32(len(plays)), nil)
	d.Record(demtest.CmdFileInfo, int32(len(plays)), nil)
	return d.Bytes()
}

// TestNarrowed: an entity whose only updates were skipped has fields that are left out. One that takes its slot has none.
func TestNarrowed(t *testing.T) {
	value := demtest.Value{Path: []int{1}, Write: func(w *demtest.Bits) { w.Varint(7) }}
	data := twoFields(
		func(e *demtest.Entities) { e.Create(1, 0, 10); e.Create(2, 0, 20) },
		func(e *demtest.Entities) { e.Update(1, value) }, // read, to learn its list of paths
		func(e *demtest.Entities) { e.Update(2, value) },
		func(e *demtest.Entities) { e.Delete(2) },
		func(e *demtest.Entities) { e.Create(2, 0, 21) },
		func(*demtest.Entities) {},
	)
	var got []string
	decode(t, data, dem.Options{
		Kinds:  func(k dem.Kind) bool { return isEntity(k) || k == dem.KindTick },
		Fields: func(_, field string) bool { return field == "m_a" },
	}, func(decoder *dem.Decoder, ev *dem.Event) {
		if ev.Kind == dem.KindTick { // the entity in slot 2 behind the packets before
			var present dem.Event
			got = append(got, fmt.Sprint(ev.AtTick, " ", decoder.Present(2, &present), " ", decoder.Stats().EntitySkips))
		}
	})
	if want := []string{"0 false 0", "1 true 0", "2 true 0", "3 false 1", "4 false 1", "5 true 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
