package dem_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// enumDemo returns a demo of a game with one entity and some messages.
func enumDemo(game string, messages ...demtest.Message) []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2\x00").Text(14, game))
	d.Compressed(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "CThing", Fields: []demtest.Field{
		{Name: "m_iTeamNum", Type: "uint8"}, {Name: "m_lifeState", Type: "uint8"}, {Name: "m_iRuneType", Type: "int32"},
		{Name: "m_eRoundWinReason", Type: "int32"}, {Name: "m_nGameState", Type: "uint32"}, {Name: "m_iHealth", Type: "int32"},
	}}))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("CThing"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	unsigned := func(field int, v uint64) demtest.Value {
		return demtest.Value{Path: []int{field}, Write: func(w *demtest.Bits) { w.Varint(v) }}
	}
	signed := func(field int, v int64) demtest.Value {
		return demtest.Value{Path: []int{field}, Write: func(w *demtest.Bits) { w.Zigzag(v) }}
	}
	e := &demtest.Entities{ClassBits: 1}
	e.Create(1, 0, 1, unsigned(0, 3), unsigned(1, 2), signed(2, 1), signed(3, 7), unsigned(4, 2), signed(5, 2))
	d.Packet(0, append([]demtest.Message{{ID: 4, Data: demtest.Proto(nil).Varint(1, 1000)}, e.Message(false)}, messages...)...)
	e = &demtest.Entities{ClassBits: 1}
	e.Update(1, unsigned(0, 200), unsigned(1, 77), signed(2, -7)) // numbers that are in no table
	d.Packet(1, demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 1001)}, e.Message(true))
	d.Record(demtest.CmdStop, 1, nil)
	d.Record(demtest.CmdFileInfo, 1, nil)
	return d.Bytes()
}

// TestEnumNames tests the names of values of enums. They are those of the demo's game, and unknown numbers have none.
func TestEnumNames(t *testing.T) {
	log := func(typ, field int, value int64) demtest.Message {
		return demtest.Message{ID: 554, Data: demtest.Proto(nil).Varint(1, int64(typ-1)).Varint(field, value)}
	}
	entries := []demtest.Message{
		log(int(dem.CombatLogTypeGameState), 13, 4), log(int(dem.CombatLogTypeGameState), 13, 40),
		log(int(dem.CombatLogTypeGold), 23, 12), log(int(dem.CombatLogTypeGold), 23, 14), log(int(dem.CombatLogTypeXp), 26, 2),
		log(int(dem.CombatLogTypePickupRune), 39, 5), log(int(dem.CombatLogTypeDamage), 13, 4),
	}
	key := func(typ int, field int, v int64) demtest.Proto {
		return demtest.Proto(nil).Varint(1, int64(typ)).Varint(field, v)
	}
	described := func(typ int, name string) demtest.Proto {
		return demtest.Proto(nil).Varint(1, int64(typ)).Text(2, name)
	}
	event := func(id int64, keys ...demtest.Proto) demtest.Message {
		p := demtest.Proto(nil).Varint(2, id)
		for _, k := range keys {
			p = p.Bytes(3, k)
		}
		return demtest.Message{ID: 207, Data: p}
	}
	rounds := []demtest.Message{
		{ID: 205, Data: demtest.Proto(nil).
			Bytes(1, demtest.Proto(nil).Varint(1, 1).Text(2, "round_end").Bytes(3, described(5, "winner")).Bytes(3, described(5, "reason")).Bytes(3, described(5, "other"))).
			Bytes(1, demtest.Proto(nil).Varint(1, 2).Text(2, "player_disconnect").Bytes(3, described(5, "reason")))},
		event(1, key(5, 6, 3), key(5, 6, 7), key(5, 6, 1)), event(1, key(5, 6, 0), key(5, 6, 99)), event(2, key(5, 6, 7)),
	}
	none := []string{"", "", ""}
	for game, test := range map[string]struct {
		created, updated []string
		messages         []demtest.Message
		want             []string
	}{
		"dota": {
			[]string{"DOTA_TEAM_BADGUYS", "LIFE_DEAD", "DOTA_RUNE_HASTE", "", "DOTA_GAMERULES_STATE_HERO_SELECTION", ""}, none, entries,
			[]string{"DOTA_GAMERULES_STATE_PRE_GAME", "", "DOTA_ModifyGold_HeroKill", "", "DOTA_ModifyXP_CreepKill", "DOTA_RUNE_BOUNTY", ""},
		},
		"csgo": {
			[]string{"CounterTerrorist", "LIFE_DEAD", "", "BombDefused", "", ""}, none, rounds,
			[]string{"winner=CounterTerrorist reason=BombDefused other= ", "winner= reason= ", "reason= "},
		},
		"citadel": {[]string{"", "LIFE_DEAD", "", "", "", ""}, none, rounds, []string{"winner= reason= other= ", "winner= reason= ", "reason= "}},
		"another": {[]string{"", "", "", "", "", ""}, none, nil, nil},
	} {
		t.Run(game, func(t *testing.T) {
			var created, updated, got []string
			names := func(fields []dem.FieldValue) (out []string) {
				for _, f := range fields {
					if out = append(out, string(f.Name)); f.HasName != (len(f.Name) > 0) {
						t.Errorf("has a name: %v, but it is %q", f.HasName, f.Name)
					}
				}
				return out
			}
			decode(t, enumDemo(game, test.messages...), dem.Options{}, func(_ *dem.Decoder, ev *dem.Event) {
				switch ev.Kind {
				case dem.KindEntityCreated:
					created = names(ev.EntityCreated.Fields)
				case dem.KindEntityUpdated:
					updated = names(ev.EntityUpdated.Fields)
				case dem.KindCombatLog:
					c := &ev.CombatLog
					got = append(got, string(c.ValueName)+string(c.GoldReasonName)+string(c.XpReasonName)+string(c.RuneName))
				case dem.KindGameEvent:
					line := ""
					for _, k := range ev.GameEvent.Keys {
						line += fmt.Sprintf("%s=%s ", k.Name, k.ValueName)
						if k.HasValueName != (len(k.ValueName) > 0) {
							t.Errorf("key %s has a name: %v, but it is %q", k.Name, k.HasValueName, k.ValueName)
						}
					}
					got = append(got, line)
				case dem.KindFault:
					t.Errorf("%s", ev.Fault.Detail)
				}
			})
			if diff := cmp.Diff([][]string{test.created, test.updated, test.want}, [][]string{created, updated, got}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTypes tests that Options.Types leaves out events by their type, and nothing else. It also gets the types that have no name.
func TestTypes(t *testing.T) {
	messages := []demtest.Message{
		{ID: 554, Data: demtest.Proto(nil).Varint(1, 4).Varint(13, 1)}, {ID: 554, Data: demtest.Proto(nil).Varint(1, 11).Varint(13, 2)},
		{ID: 554, Data: demtest.Proto(nil).Varint(1, 4).Bytes(13, []byte("not a number"))[:4]}, // cut: reported whatever its type is
		{ID: 466, Data: demtest.Proto(nil).Varint(1, 9)}, {ID: 466, Data: demtest.Proto(nil).Varint(1, 5000)}, {ID: 466, Data: demtest.Proto(nil).Varint(2, 1)},
		{ID: 547, Data: demtest.Proto(nil).Varint(2, 1)}, {ID: 547, Data: demtest.Proto(nil).Varint(2, 3)},
		{ID: 205, Data: demtest.Proto(nil).Bytes(1, demtest.Proto(nil).Varint(1, 1).Text(2, "player_death"))},
		{ID: 207, Data: demtest.Proto(nil).Varint(2, 1)}, {ID: 207, Data: demtest.Proto(nil).Varint(2, 8)},
	}
	data := enumDemo("dota", messages...)
	line := func(ev *dem.Event) string {
		switch ev.Kind {
		case dem.KindCombatLog:
			return fmt.Sprintf("combat_log %d ", ev.CombatLog.Type)
		case dem.KindChatEvent:
			return fmt.Sprintf("chat_event %d %s", ev.ChatEvent.Type, ev.ChatEvent.TypeName)
		case dem.KindOrder:
			return fmt.Sprintf("order %d %s", ev.Order.Type, ev.Order.TypeName)
		case dem.KindGameEvent:
			return fmt.Sprintf("game_event %d %s", ev.GameEvent.Id, ev.GameEvent.Name)
		}
		return ""
	}
	read := func(types func(dem.Kind, int32, []byte) bool) (events []string, faults int64) {
		d := decode(t, data, dem.Options{Types: types}, func(d *dem.Decoder, ev *dem.Event) {
			events = append(events, fmt.Sprintf("%v %v%s", d.EventPosition(), ev.Kind, line(ev)))
		})
		return events, d.Stats().Faults
	}
	all, faults := read(nil)
	if faults != 1 {
		t.Fatalf("%d faults", faults)
	}
	var asked []string
	if same, n := read(func(k dem.Kind, number int32, name []byte) bool {
		asked = append(asked, fmt.Sprintf("%v %d %s", k, number, name))
		return true
	}); n != faults || !cmp.Equal(all, same) {
		t.Errorf("with all types: %d faults, %s", n, cmp.Diff(all, same))
	}
	want := []string{
		"combat_log 5 ", "combat_log 12 ", "chat_event 9 CHAT_MESSAGE_ROSHAN_KILL", "chat_event 5000 ", "chat_event -1 ",
		"order 1 DOTA_UNIT_ORDER_MOVE_TO_POSITION", "order 3 DOTA_UNIT_ORDER_ATTACK_MOVE", "game_event 1 player_death", "game_event 8 ",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Fatalf("asked for -want +got:\n%s", diff)
	}
	for _, only := range want {
		got, n := read(func(k dem.Kind, number int32, name []byte) bool {
			return fmt.Sprintf("%v %d %s", k, number, name) != only
		})
		var left []string
		for _, e := range all {
			if len(e) < len(only) || e[len(e)-len(only):] != only {
				left = append(left, e)
			}
		}
		if len(left) != len(all)-1 || n != faults {
			t.Fatalf("%s: %d of %d events, %d faults", only, len(left), len(all), n)
		}
		if diff := cmp.Diff(left, got); diff != "" {
			t.Errorf("without %s: -want +got:\n%s", only, diff)
		}
	}
}
