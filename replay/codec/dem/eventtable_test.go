package dem_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/codectest"
	encoder "github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/replay/table"
)

// eventsOf returns the table of the game events with a name, or why there is none.
func eventsOf(t *testing.T, data []byte, name string) ([]map[string]any, *table.Kind, error) {
	t.Helper()
	of := &replaydv1.DemFilter{Types: []string{name}}
	f, err := filter.Compile(&encoder.Codec.Filters, []*replaydv1.EventFilter{{Kinds: []string{"game_event"}, Dem: of}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, format, err := encoder.Codec.Widen(codectest.Input(data), f, of)
	if (format == nil) != (err != nil) {
		t.Fatalf("a format and %v", err)
	}
	if err != nil {
		return nil, nil, err
	}
	kind := uint8(slices.IndexFunc(encoder.Tables.Kinds, func(k table.Kind) bool { return k.Name == "game_event" }))
	names := map[string]bool{}
	for _, c := range format.Layout(false).Fields(kind) {
		if names[c.Name] {
			t.Errorf("%s: two columns are called %s", name, c.Name)
		}
		names[c.Name] = true
	}
	return rowsOf(t, in, f, format, kind), &format.Kinds[kind], nil
}

// valueOf returns the value of a key as cell has it.
func valueOf(k *demv1.GameEventKey) any {
	switch v := k.GetValue().(type) {
	case *demv1.GameEventKey_Text:
		return v.Text
	case *demv1.GameEventKey_Float:
		return v.Float
	case *demv1.GameEventKey_Int:
		return v.Int
	case *demv1.GameEventKey_Bool:
		return v.Bool
	case *demv1.GameEventKey_Uint:
		return v.Uint
	case *demv1.GameEventKey_Handle:
		return v.Handle
	case *demv1.GameEventKey_Player:
		return int64(v.Player)
	}
	return nil
}

// TestEventTables: the table of each game event has the keys of game_event in its columns, with names and Steam ids, at the same ticks.
func TestEventTables(t *testing.T) {
	for _, name := range []string{"sample.dem", "cs2.dem", "round.dem"} {
		t.Run(name, func(t *testing.T) { checkEvents(t, decodertest.Sample(t, "dem", name), 6) })
	}
}

// TestEventTablesCorpus is TestEventTables for a recording.
func TestEventTablesCorpus(t *testing.T) {
	checkEvents(t, decodertest.Read(t, "corpus", "dem", "demofile-net/14090.dem"), 100)
}

func checkEvents(t *testing.T, data []byte, least int) {
	t.Helper()
	events, _ := read(t, open(t, data, codec.Options{}), 4096)
	want := map[string][]map[string]any{}
	cells := 0
	for _, ev := range events.list {
		e := ev.GetGameEvent()
		if d := ev.GetGameEventType(); d != nil && want[d.GetName()] == nil && len(want) < 2 { // these may not happen
			want[d.GetName()] = []map[string]any{}
		}
		if e == nil {
			continue
		}
		row := map[string]any{"at_tick": int64(ev.GetAtTick())}
		for _, k := range e.GetKeys() {
			name := k.GetName()
			if name == "time" || name == "index" {
				name = e.GetName() + "_" + name
			}
			row[name] = valueOf(k)
			if k.PlayerName != nil {
				row[name+"_name"], row[name+"_steam_id"] = k.GetPlayerName(), k.GetSteamId()
			}
			if k.ValueName != nil {
				row[name+"_name"] = k.GetValueName()
			}
			cells += len(row) - 1
		}
		want[e.GetName()] = append(want[e.GetName()], row)
	}
	for name, want := range want {
		got, kind, err := eventsOf(t, data, name)
		if err != nil || kind.Name != "game_event."+name || len(got) != len(want) {
			t.Fatalf("%s: %d rows of %+v, %v; want %d", name, len(got), kind, err, len(want))
		}
		for i, row := range got {
			for _, other := range []string{"offset", "index", "time"} {
				delete(row, other)
			}
			if other := row["replayd_other_keys"]; !reflect.DeepEqual(other, []string{}) {
				t.Errorf("%s: keys without a column: %v", name, other)
			}
			if delete(row, "replayd_other_keys"); !reflect.DeepEqual(row, want[i]) {
				t.Errorf("%s: %v, want %v", name, row, want[i])
			}
		}
	}
	if cells < least {
		t.Errorf("%d cells only", cells)
	}
}

// key is a key of a game event in a description: its type and its name.
type key struct {
	typ  int64
	name string
}

func describe(id int64, name string, keys ...key) demtest.Proto {
	p := demtest.Proto(nil).Varint(1, id).Text(2, name)
	for _, k := range keys {
		p = p.Bytes(3, demtest.Proto(nil).Varint(1, k.typ).Text(2, k.name))
	}
	return p
}

// describing returns the message that describes game events.
func describing(events ...demtest.Proto) demtest.Message {
	list := demtest.Proto(nil)
	for _, e := range events {
		list = list.Bytes(1, e)
	}
	return demtest.Message{ID: 205, Data: list}
}

// happening returns a game event with whole numbers as its keys.
func happening(id int64, values ...int64) demtest.Message {
	p := demtest.Proto(nil).Varint(2, id)
	for _, v := range values {
		p = p.Bytes(3, demtest.Proto(nil).Varint(1, 3).Varint(4, v))
	}
	return demtest.Message{ID: 207, Data: p}
}

// describedDemo returns a demo that describes game events in the beginning, and has messages behind its first entities.
func describedDemo(first demtest.Message, messages ...demtest.Message) []byte {
	d := demtest.New()
	d.Record(demtest.CmdFileHeader, -1, demtest.Proto(nil).Text(1, "PBDEMS2\x00").Text(14, "csgo"))
	d.Record(demtest.CmdSignonPacket, -1, demtest.PackMessages(demtest.Message{ID: 40, Data: demtest.Proto(nil).Varint(11, 1).Float(13, 1.0/64)}, first))
	d.Compressed(demtest.CmdSendTables, -1, demtest.SendTables(demtest.Serializer{Name: "CSome", Fields: []demtest.Field{{Name: "m_1", Type: "int32"}}}))
	d.Record(demtest.CmdClassInfo, -1, demtest.Classes("CSome"))
	d.Record(demtest.CmdSyncTick, -1, nil)
	e := &demtest.Entities{ClassBits: 1}
	e.Create(1, 0, 1)
	d.Packet(0, demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 1000)}, e.Message(false))
	for i, m := range messages {
		d.Packet(int32(i+1), demtest.Message{ID: 4, Data: demtest.Proto(nil).Varint(1, 1001+int64(i))}, m)
	}
	return d.Bytes()
}

// TestEventTableHostile: descriptions decide the columns, as far as they are certain; what they do not decide is refused by name, or told
// with each event.
func TestEventTableHostile(t *testing.T) {
	many := make([]key, 256)
	for i := range many {
		many[i] = key{9, fmt.Sprintf("player%d", i)}
	}
	long := make([]key, 200)
	for i := range long {
		long[i] = key{1, strings.Repeat("x", 2000) + fmt.Sprint(i)}
	}
	data := describedDemo(describing(
		describe(1, "twice", key{3, "a"}, key{3, "a"}),
		describe(2, "two", key{3, "a"}), describe(3, "two", key{1, "a"}),
		describe(4, "same", key{3, "a"}), describe(5, "same", key{3, "a"}),
		describe(6, "strange", key{3, "a"}, key{77, "b"}, key{3, ""}, key{3, "\xff"}, key{0, "local"}),
		describe(7, "many", many...), describe(8, "long", long...),
		describe(9, "taken", key{3, "index"}, key{3, "at_tick"}, key{9, "userid"}, key{1, "userid_name"}, key{1, "replayd_x"}),
		describe(10, "lies", key{3, "index"}, key{3, "lies_index"}), describe(11, "tells", key{3, "replayd_other_keys"}),
		describe(12, "../up", key{3, "a"}), describe(13, "round_end", key{5, "winner"}, key{5, "reason"}, key{5, "reason_name"}), describe(14, "none"), describe(15, "own", key{3, "own_key"})),
		happening(5, 1), happening(6, 1, 2, 3, 4, 5, 6), happening(9, 1, 2, 3, 4, 5),
		describing(describe(5, "same", key{3, "b"}, key{3, "a"}), describe(99, "late")), happening(5, 7, 8), happening(4, 9),
		happening(13, 2, 7, 0), happening(14), happening(14, 3), happening(55, 3), happening(15, 4))
	for name, want := range map[string]string{
		"twice": "one name", "two": "different keys", "many": "too many columns", "long": "too many columns", "lies": "one name", "tells": "one name",
		"../up": "no table has the name", "sam": `no game event "sam", did you mean "same"?`, "late": "no game event", "55": "no game event", "s*": "no game event",
	} {
		_, _, err := eventsOf(t, data, name)
		refused, ok := errors.AsType[*filter.FieldError](err)
		if !ok || refused.Field != "include[0].dem.types[0]" || !strings.Contains(refused.Problem, want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for name, want := range map[string]string{
		"same":    "[a=1 ] [a=8 b] [a=9 ]", // the keys of the second have changed places, by the new description
		"strange": "[a=1 b 2 \uFFFD local 5]",
		"taken":   "[taken_at_tick=2 taken_index=1 userid userid_name replayd_x]", // whole numbers in place of a player and texts
		// a key has the name of the column of names of another one
		"round_end": "[reason=7 reason_name=0 winner=2 winner_name=Terrorist ]",
		"none":      "[] [0]",
		"own":       "[own_key=4 ]", // not the event's name in front of a key
	} {
		got, _, err := eventsOf(t, data, name)
		var all []string
		for _, row := range got {
			var cells []string
			for name, v := range row {
				if !slices.Contains([]string{"offset", "index", "at_tick", "time", "replayd_other_keys"}, name) {
					cells = append(cells, fmt.Sprint(name, "=", v))
				}
			}
			slices.Sort(cells)
			all = append(all, fmt.Sprint(append(cells, strings.Join(row["replayd_other_keys"].([]string), " "))))
		}
		if got := strings.Join(all, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	if _, kind, err := eventsOf(t, data, "strange"); err != nil || !strings.Contains(kind.Comment, "4 keys") {
		t.Errorf("what is left out: %+v, %v", kind, err)
	}
	_, _, err := eventsOf(t, decodertest.Sample(t, "dem", "dota.dem"), "player_death")
	if refused, ok := errors.AsType[*filter.FieldError](err); !ok || refused.Field != "field_columns" {
		t.Errorf("without game events: %v", err)
	}
}
