package dem_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// TestDumpedModifiers: a modifier that a dump of the tables brings is told like one of an update, and none is told twice.
func TestDumpedModifiers(t *testing.T) {
	modifier := func(serial int64) []byte { return demtest.Proto(nil).Varint(1, 1).Varint(2, 77).Varint(4, serial) }
	entry := func(i int, serial int64) demtest.Entry {
		return demtest.Entry{Index: i, Key: string(rune('0' + i)), HasValue: true, Value: modifier(serial)}
	}
	table := demtest.Table{Varint: true}
	write := func() *demtest.Demo {
		d := demtest.New()
		d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
		d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(table.Create("ActiveModifiers", false, entry(0, 5))))
		return d
	}
	key := demtest.Proto(nil).Bytes(1, demtest.Dump("ActiveModifiers", entry(0, 5), entry(1, 6)))
	for _, test := range []struct {
		name   string
		fill   func(d *demtest.Demo)
		want   []int32
		faults [2]int64 // with all kinds, and with modifiers alone
	}{
		{"string tables", func(d *demtest.Demo) {
			d.Record(demtest.CmdStringTables, -1, demtest.Dump("ActiveModifiers", entry(0, 5), entry(1, 6), entry(2, 7)))
		}, []int32{5, 6, 7}, [2]int64{}},
		{"a key frame after damage", func(d *demtest.Demo) {
			d.Record(demtest.CmdPacket|64, 1, []byte("no snappy"))
			d.Compressed(demtest.CmdFullPacket, 2, key)
		}, []int32{5, 6}, [2]int64{1, 1}},
		{"a key frame", func(d *demtest.Demo) { d.Compressed(demtest.CmdFullPacket, 2, key) }, []int32{5}, [2]int64{}},
		{"a key frame after damage of what nothing depends on", func(d *demtest.Demo) {
			d.Record(demtest.CmdSpawnGroups|64, 1, []byte("no snappy"))
			d.Record(demtest.CmdFullPacket|64, 1, []byte("no snappy"))
			d.Compressed(demtest.CmdFullPacket, 2, key)
		}, []int32{5}, [2]int64{2, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := write()
			test.fill(d)
			d.Record(demtest.CmdStop, 3, nil)
			for name, kinds := range map[string]func(dem.Kind) bool{
				"all": nil, "modifiers": func(k dem.Kind) bool { return k == dem.KindModifier },
			} {
				var got []int32
				entries := 0
				decoder := dem.New(bytes.NewReader(d.Bytes()), dem.Options{Kinds: kinds})
				if err := run(decoder, func(ev *dem.Event) {
					switch ev.Kind {
					case dem.KindModifier:
						got = append(got, ev.Modifier.Serial)
					case dem.KindStringTableEntry:
						entries++
					}
				}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				want := test.faults[0]
				if kinds != nil {
					want = test.faults[1]
				}
				if n := decoder.Stats().Faults; n != want {
					t.Errorf("%s: %d faults, want %d", name, n, want)
				}
				if kinds == nil && entries != len(test.want) {
					t.Errorf("%d entries, want %d", entries, len(test.want))
				}
			}
		})
	}
}

// TestBrokenEntry: what a table misses after an entry that cannot be read, the next key frame brings.
func TestBrokenEntry(t *testing.T) {
	name := func(i int) demtest.Entry { return demtest.Entry{Index: i, Key: "name " + string(rune('0'+i))} }
	table := demtest.Table{Varint: true}
	log := func(i int64) demtest.Message { return demtest.Message{ID: 554, Data: demtest.Proto(nil).Varint(2, i)} }
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2").Text(14, "dota"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(table.Create("CombatLogNames", false, name(0))))
	d.Packet(1, table.Update(0, name(1), name(9), name(2)), log(1), log(2)) // 9 is beyond the end
	d.Compressed(demtest.CmdFullPacket, 2, demtest.Proto(nil).Bytes(1, demtest.Dump("CombatLogNames", name(0), name(1), name(2))))
	d.Packet(3, log(1), log(2))
	d.Record(demtest.CmdStop, 3, nil)
	for _, all := range []bool{true, false} {
		var got []string
		faults := 0
		opts := dem.Options{Kinds: func(k dem.Kind) bool { return k == dem.KindCombatLog || all }}
		if err := run(dem.New(bytes.NewReader(d.Bytes()), opts), func(ev *dem.Event) {
			switch ev.Kind {
			case dem.KindCombatLog:
				got = append(got, string(ev.CombatLog.TargetName))
			case dem.KindFault:
				faults++
			}
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"name 1", "", "name 1", "name 2"}, got); diff != "" || faults > 0 != all {
			t.Errorf("all %v: %d faults, names (-want +got):\n%s", all, faults, diff)
		}
	}
}
