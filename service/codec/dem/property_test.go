package dem

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	demv1 "github.com/replayd/replayd/proto/replayd/dem/v1"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/filter"
)

// TestProperties tests the filter properties of events with players and teams.
func TestProperties(t *testing.T) {
	ev := dem.Event{
		CombatLog: dem.CombatLog{AttackerTeam: 2, TargetTeam: 3}, UserCmd: dem.UserCmd{PlayerSlot: 4},
		ChatEvent: dem.ChatEvent{Players: []int32{5, 6, 7}}, Chat: dem.Chat{PlayerId: 8}, Ping: dem.Ping{PlayerId: 9},
		MapLine: dem.MapLine{PlayerId: 10}, ChatWheel: dem.ChatWheel{PlayerId: 11},
		PlayerInfo: dem.PlayerInfo{Slot: 12},
	}
	none := [2]int32{filter.None, filter.None}
	want := map[dem.Kind]filter.Event{
		dem.KindCombatLog:  {Players: none, Teams: [2]int32{2, 3}},
		dem.KindUserCmd:    {Players: [2]int32{4, filter.None}, Teams: none},
		dem.KindChatEvent:  {Players: [2]int32{5, 6}, Teams: none},
		dem.KindChat:       {Players: [2]int32{8, filter.None}, Teams: none},
		dem.KindPing:       {Players: [2]int32{9, filter.None}, Teams: none},
		dem.KindMapLine:    {Players: [2]int32{10, filter.None}, Teams: none},
		dem.KindChatWheel:  {Players: [2]int32{11, filter.None}, Teams: none},
		dem.KindPlayerInfo: {Players: [2]int32{12, filter.None}, Teams: none},
	}
	for kind := range dem.Kind(dem.KindCount) {
		w, ok := want[kind]
		if !ok {
			w = filter.Of(0, 0)
		}
		w.Kind, w.Tick, w.Group, w.Layer = uint8(kind), 1, filter.None, filter.None
		if got := properties.Event(uint8(kind), 1, &ev); got != w {
			t.Errorf("%v: got %+v, want %+v", kind, got, w)
		}
	}
	ev.CombatLog = dem.CombatLog{TargetTeam: 3}
	if got := properties.Event(uint8(dem.KindCombatLog), 1, &ev); got.Teams != [2]int32{filter.None, 3} {
		t.Errorf("no attacker: teams %v", got.Teams)
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
