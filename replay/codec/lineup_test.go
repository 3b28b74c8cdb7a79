package codec_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
)

// TestLineup: a line says who played against whom, and who won.
func TestLineup(t *testing.T) {
	won, lost := replaydv1.PlayerResult_PLAYER_RESULT_WIN, replaydv1.PlayerResult_PLAYER_RESULT_LOSS
	ada := &replaydv1.Player{Name: "Ada", Team: new(int32(0)), Character: "Zerg", Result: won}
	bob := &replaydv1.Player{Name: "Bob", Team: new(int32(1)), Character: "Terran", Result: lost}
	eve := &replaydv1.Player{Name: "Eve", Team: new(int32(0)), Result: won}
	dan := &replaydv1.Player{Name: "Dan", Team: new(int32(2)), Character: "Protoss", Result: lost}
	solo := &replaydv1.Player{Name: "Solo"}
	for _, tt := range []struct {
		players []*replaydv1.Player
		want    string
	}{
		{nil, ""},
		{[]*replaydv1.Player{{}}, ""},
		{[]*replaydv1.Player{solo, {}}, "Solo"},
		{[]*replaydv1.Player{ada, bob}, "Ada (Zerg) vs Bob (Terran), Ada won"},
		{[]*replaydv1.Player{ada, bob, eve}, "Ada (Zerg), Eve vs Bob (Terran), Ada and Eve won"},
		{[]*replaydv1.Player{ada, eve}, "Ada (Zerg), Eve"}, // all who are known
		{[]*replaydv1.Player{ada, bob, dan}, "Ada (Zerg), Bob (Terran), Dan (Protoss), Ada won"},
		{[]*replaydv1.Player{ada, bob, dan, solo, {}}, "Ada (Zerg), Bob (Terran), Dan (Protoss), Solo, Ada won"},
		{[]*replaydv1.Player{ada, bob, dan, solo, eve}, "Ada, Eve, Bob, Dan, Solo, Ada and Eve won"},
	} {
		if got := codec.Lineup(tt.players); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	for extra := range 4 { // the cut is at any byte of a letter
		got := codec.Lineup([]*replaydv1.Player{{Name: strings.Repeat("x", extra) + strings.Repeat("ö", 600)}})
		if len(got) > 1024 || len(got) < 1020 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ö…") {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}
