package sc2replay

import (
	"fmt"

	sc2replayv1 "github.com/replayd/replayd/proto/replayd/sc2replay/v1"
)

// doubtsOf says in words what is uncertain about the events of a replay: their layouts, when the base build has no protocol table,
// and the names of abilities and unit types, when the build has no list or the replay names no expansion.
func doubtsOf(info *sc2replayv1.DecodeInfo) []string {
	var doubts []string
	switch info.GetMatch() {
	case sc2replayv1.TableMatch_TABLE_MATCH_NEAREST:
		doubts = append(doubts, fmt.Sprintf("base build %d has no protocol table: that of %d is used, the nearest",
			info.GetBaseBuild(), info.GetTableBuild()))
	case sc2replayv1.TableMatch_TABLE_MATCH_FITTED:
		doubts = append(doubts, fmt.Sprintf("base build %d has no protocol table: that of %d is used, which fits best",
			info.GetBaseBuild(), info.GetTableBuild()))
	}
	if info.GetUnproven() {
		doubts = append(doubts, "that table fits only in part: events that may be false are marked as unproven")
	}
	names := info.GetNames()
	switch {
	case names.GetBuildGuessed():
		doubts = append(doubts, fmt.Sprintf("names of abilities and unit types are guesses: those of build %d", names.GetBuild()))
	case names.GetExpansionGuessed():
		doubts = append(doubts, fmt.Sprintf("names of abilities and unit types are guesses: the replay names no expansion, and %s is assumed",
			names.GetExpansion()))
	}
	return doubts
}
