package dem

import (
	"slices"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
)

// TestProperties tests the filter properties of events with players and teams.
func TestProperties(t *testing.T) {
	ev := dem.Event{
		CombatLog: dem.CombatLog{AttackerTeam: 2, TargetTeam: 3}, UserCmd: dem.UserCmd{PlayerSlot: 4},
		ChatEvent: dem.ChatEvent{Players: []int32{5, 6, 7}}, Chat: dem.Chat{PlayerId: 8}, Ping: dem.Ping{PlayerId: 9},
		MapLine: dem.MapLine{PlayerId: 10}, ChatWheel: dem.ChatWheel{PlayerId: 11},
		PlayerInfo: dem.PlayerInfo{Slot: 12}, Damage: dem.Damage{AttackerSlot: 13, VictimSlot: 14},
		AbilityChange: dem.AbilityChange{PlayerSlot: 15}, Voice: dem.Voice{PlayerSlot: 16}, SamplePlayer: dem.SamplePlayer{PlayerId: 17, Team: 2},
	}
	none := [2]int32{filter.None, filter.None}
	type numbers struct{ Players, Teams [2]int32 }
	want := map[dem.Kind]numbers{
		dem.KindCombatLog:     {Players: none, Teams: [2]int32{2, 3}},
		dem.KindUserCmd:       {Players: [2]int32{4, filter.None}, Teams: none},
		dem.KindChatEvent:     {Players: [2]int32{5, 6}, Teams: none},
		dem.KindChat:          {Players: [2]int32{8, filter.None}, Teams: none},
		dem.KindPing:          {Players: [2]int32{9, filter.None}, Teams: none},
		dem.KindMapLine:       {Players: [2]int32{10, filter.None}, Teams: none},
		dem.KindChatWheel:     {Players: [2]int32{11, filter.None}, Teams: none},
		dem.KindPlayerInfo:    {Players: [2]int32{12, filter.None}, Teams: none},
		dem.KindDamage:        {Players: [2]int32{13, 14}, Teams: none},
		dem.KindAbilityChange: {Players: [2]int32{15, filter.None}, Teams: none},
		dem.KindVoice:         {Players: [2]int32{16, filter.None}, Teams: none},
		dem.KindSamplePlayer:  {Players: [2]int32{17, filter.None}, Teams: [2]int32{2, filter.None}},
	}
	for kind := range dem.Kind(dem.KindCount) {
		w := filter.Of(uint8(kind), 1)
		if n, ok := want[kind]; ok {
			w.Numbers[filter.Players], w.Numbers[filter.Teams] = n.Players, n.Teams
		}
		if got := properties.Event(uint8(kind), 1, &ev); got != w {
			t.Errorf("%v: got %+v, want %+v", kind, got, w)
		}
	}
	ev.CombatLog = dem.CombatLog{TargetTeam: 3}
	if got := properties.Event(uint8(dem.KindCombatLog), 1, &ev); got.Numbers[filter.Teams] != [2]int32{filter.None, 3} {
		t.Errorf("no attacker: teams %v", got.Numbers[filter.Teams])
	}
}

// TestTypes tests the types of events: the names in their JSON, and numbers where there is no name.
func TestTypes(t *testing.T) {
	text := func(s string) []byte { return []byte(s) }
	for _, test := range []struct {
		event dem.Event
		want  string
	}{
		{dem.Event{Kind: dem.KindCombatLog, CombatLog: dem.CombatLog{Type: dem.CombatLogTypeDeath}}, "COMBAT_LOG_TYPE_DEATH"},
		{dem.Event{Kind: dem.KindCombatLog, CombatLog: dem.CombatLog{Type: 99}}, "99"},
		{dem.Event{Kind: dem.KindChatEvent, ChatEvent: dem.ChatEvent{Type: 9, TypeName: text("CHAT_MESSAGE_ROSHAN_KILL")}}, "CHAT_MESSAGE_ROSHAN_KILL"},
		{dem.Event{Kind: dem.KindChatEvent, ChatEvent: dem.ChatEvent{Type: -1}}, "-1"},
		{dem.Event{Kind: dem.KindOrder, Order: dem.Order{Type: 1, TypeName: text("DOTA_UNIT_ORDER_MOVE_TO_POSITION")}}, "DOTA_UNIT_ORDER_MOVE_TO_POSITION"},
		{dem.Event{Kind: dem.KindGameEvent, GameEvent: dem.GameEvent{Id: 25, Name: text("player_death")}}, "player_death"},
		{dem.Event{Kind: dem.KindGameEvent, GameEvent: dem.GameEvent{Id: 25}}, "25"},
		{dem.Event{Kind: dem.KindModifier, Modifier: dem.Modifier{Name: text("modifier_stunned")}}, "modifier_stunned"},
		{dem.Event{Kind: dem.KindStringTableEntry, StringTableEntry: dem.StringTableEntry{Table: text("userinfo")}}, "userinfo"},
		{dem.Event{Kind: dem.KindMessage, Message: dem.Message{Id: 488, Name: text("CDOTAUserMsg_OverheadEvent")}}, "CDOTAUserMsg_OverheadEvent"},
		{dem.Event{Kind: dem.KindMessage, Message: dem.Message{Id: 4000}}, "4000"},
		{dem.Event{Kind: dem.KindCommand, Command: dem.Command{Id: 18}}, "18"},
		{dem.Event{Kind: dem.KindFault, Fault: dem.Fault{Kind: dem.FaultKindEntity}}, "FAULT_KIND_ENTITY"},
	} {
		kind := uint8(test.event.Kind)
		got, ok := properties.Type(kind, &test.event)
		if !ok || string(got) != test.want {
			t.Errorf("%v: got %q, want %q", test.event.Kind, got, test.want)
		}
		// A filter for it is accepted, and the kind's own.
		f, err := filter.Compile(&Codec.Filters, []*replaydv1.EventFilter{{Kinds: []string{test.event.Kind.String()}, Dem: &replaydv1.DemFilter{Types: []string{test.want}}}}, nil)
		if err != nil || !f.Type(kind, got) {
			t.Errorf("%v: %v", test.event.Kind, err)
		}
	}
	for kind := range dem.Kind(dem.KindCount) {
		if _, typed := properties.Type(uint8(kind), new(dem.Event)); typed != Codec.Filters.Kinds[kind].Has.Has(filter.Types) {
			t.Errorf("%v has types: %v", kind, typed)
		}
	}
	for kind, name := range map[dem.Kind]string{
		dem.KindCombatLog: "COMBAT_LOG_TYPE_PURCHASE", dem.KindChatEvent: "CHAT_MESSAGE_TOWER_KILL",
		dem.KindOrder: "DOTA_UNIT_ORDER_GLYPH", dem.KindFault: "FAULT_KIND_LIMIT",
	} {
		if !slices.Contains(Codec.Filters.Kinds[kind].Types(), name) {
			t.Errorf("%v does not list %s", kind, name)
		}
	}
}

// TestLacks checks that the header determines the kinds that no replay of a game has. A request for only such kinds is refused.
func TestLacks(t *testing.T) {
	for directory, lacks := range map[string]bool{
		"/srv/dota": false, `C:\games\csgo`: true, "/srv/citadel": true, "/srv/another": false, "": false,
	} {
		r := &replaydv1.Replay{Header: &replaydv1.Replay_Dem{Dem: &demv1.Header{FileHeader: &demv1.FileHeader{GameDirectory: directory}}}}
		for kind, want := range map[dem.Kind]bool{
			dem.KindCombatLog: lacks, dem.KindModifier: lacks, dem.KindOrder: lacks,
			dem.KindEntityUpdated: false, dem.KindChat: false,
		} {
			if got := Codec.Lacks(r, uint8(kind)); got != want {
				t.Errorf("%q lacks %v: %v", directory, kind, got)
			}
		}
	}
}
