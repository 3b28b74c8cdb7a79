package sc2replay

import (
	"strings"
	"testing"

	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
)

func TestDoubts(t *testing.T) {
	for _, tt := range []struct {
		info *sc2replayv1.DecodeInfo
		want string
	}{
		{nil, ""},
		{&sc2replayv1.DecodeInfo{BaseBuild: 80949, TableBuild: 80949, Match: sc2replayv1.TableMatch_TABLE_MATCH_EXACT}, ""},
		{
			&sc2replayv1.DecodeInfo{
				BaseBuild: 99999, TableBuild: 80949, Match: sc2replayv1.TableMatch_TABLE_MATCH_NEAREST,
				Names: &sc2replayv1.NameTable{Build: new(uint32(97364)), BuildGuessed: true},
			},
			"base build 99999 has no protocol table: that of 80949 is used, the nearest\nnames of abilities and unit types are guesses: those of build 97364",
		},
		{
			&sc2replayv1.DecodeInfo{
				BaseBuild: 99999, TableBuild: 80669, Match: sc2replayv1.TableMatch_TABLE_MATCH_FITTED, Unproven: true,
			},
			"base build 99999 has no protocol table: that of 80669 is used, which fits best\n" +
				"that table fits only in part: events that may be false are marked as unproven",
		},
		{
			&sc2replayv1.DecodeInfo{
				BaseBuild: 99999, TableBuild: 80669, Match: sc2replayv1.TableMatch_TABLE_MATCH_FITTED,
				Names: &sc2replayv1.NameTable{Expansion: new("LotV"), ExpansionGuessed: true},
			},
			"base build 99999 has no protocol table: that of 80669 is used, which fits best\n" +
				"names of abilities and unit types are guesses: the replay names no expansion, and LotV is assumed",
		},
	} {
		if got := strings.Join(doubtsOf(tt.info), "\n"); got != tt.want {
			t.Errorf("got %q\nwant %q", got, tt.want)
		}
	}
}
