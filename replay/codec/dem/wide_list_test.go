package dem_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/clients/go/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
	"github.com/replayd/replayd/replay/codec/codectest"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/table"
)

// TestWideLists: a * in the place of an element is a column with all elements, each where it is in the list, of the values that a client
// has that applies all events.
func TestWideLists(t *testing.T) {
	for _, test := range []struct{ game, class, field string }{
		{"csgo", "CCSPlayerPawn", "m_pWeaponServices.m_hMyWeapons.*"},
		{"dota", "CDOTA_PlayerResource", "m_vecPlayerData.*.m_iPlayerTeam"},
		{"dota", "CDOTA_PlayerResource", "m_vecPlayerTeamData.*.m_hSelectedHero"},
		{"dota", "CDOTA_Unit_Hero_*", "m_hItems.*"},
		{"citadel", "CCitadelPlayerPawn", "m_nCurrencies.*"},
	} {
		data := demtest.Players(test.game)
		var want, got []string
		before, after, _ := strings.Cut(test.field, ".*")
		fold(t, data, 1, func(tick int32, state *dem.EntityState) {
			for _, e := range state.All() {
				if !strings.HasPrefix(e.Class, strings.TrimSuffix(test.class, "*")) {
					continue
				}
				var values []any
				for i := range 64 {
					v, there := e.Fields[fmt.Sprintf("%s.%04d%s", before, i, after)]
					if h, ok := v.(dem.Handle); ok {
						v = uint32(h)
					}
					for there && len(values) < i {
						values = append(values, nil)
					}
					if there {
						values = append(values, v)
					}
				}
				if len(values) > 0 {
					want = append(want, fmt.Sprintf("%d %d %v", tick, e.Index, values))
				}
			}
		})
		in, f, format, err := wideOf(t, codectest.Input(data), test.class, 1, test.field)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows(t, in, f, format) {
			got = append(got, fmt.Sprintf("%v %v %v", row["at_tick"], row["sample_entity_index"], row[test.field]))
		}
		if len(want) < 3 || !slices.Equal(want, got) {
			t.Errorf("%s of %s: %q, want %q", test.field, test.class, got, want)
		}
	}
}

// TestWideListBeside: an element that has a column of its own is in that of the list, too.
func TestWideListBeside(t *testing.T) {
	data := demtest.Players("dota")
	in, f, format, err := wideOf(t, codectest.Input(data), "CDOTA_PlayerResource", 1, "m_vecPlayerData.*.m_iszPlayerName", "m_vecPlayerData.0001.m_iszPlayerName")
	if err != nil {
		t.Fatal(err)
	}
	if got := format.Layout(false).Fields(kindOfSamples()); got[len(got)-2].Type != table.Text || got[len(got)-3].Type != table.List || got[len(got)-3].Fields[0].Type != table.Text {
		t.Errorf("columns %+v", got)
	}
	for _, row := range rows(t, in, f, format) {
		if names := fmt.Sprintf("%q", row["m_vecPlayerData.*.m_iszPlayerName"]); names != `["somebody" "another" "watcher" ""]` || row["m_vecPlayerData.0001.m_iszPlayerName"] != "another" {
			t.Errorf("names %s of %v", names, row)
		}
	}
}

// TestWideListOfTuples: elements that are lists of numbers themselves are refused.
func TestWideListOfTuples(t *testing.T) {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2\x00"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1).Float(13, 1.0/64)}))
	d.Compressed(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "C", Fields: []demtest.Field{{Name: "m_pairs", Type: "Vector2D[3]"}}}))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("C"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	e := &demtest.Entities{ClassBits: 1}
	e.Create(1, 0, 1)
	d.Packet(0, demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 1000)}, e.Message(false))
	refused, ok := errors.AsType[*filter.FieldError](refusal(t, d.Bytes(), "C", "m_pairs.*"))
	if !ok || !strings.Contains(refused.Problem, "m_pairs.0000 has several values") {
		t.Error(refused)
	}
}

// TestWideListsRefused: what is no list, and elements that cannot be in one column, are refused by name.
func TestWideListsRefused(t *testing.T) {
	data := demtest.Players("dota")
	for field, problem := range map[string]string{
		"m_vecPlayerData.*.m_iszPlayerNam":    "no field matches",
		"m_vecPlayerData.*.*":                 "no field matches",
		"m_vecPlayerData*.m_iszPlayerName":    "no field matches",
		"m_vecPlayerDat.*.m_iszPlayerName":    "no field matches",
		"m_vecPlayerData.*m_iszPlayerName":    "no field matches",
		"m_vecPlayerData.*.m_iszPlayerName.*": "no field matches",
	} {
		refused, ok := errors.AsType[*filter.FieldError](refusal(t, data, "CDOTA_PlayerResource", field))
		if !ok || !strings.Contains(refused.Problem, problem) {
			t.Errorf("%s: %v", field, refused)
		}
	}
}
