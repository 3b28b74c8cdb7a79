package codec

import (
	"strings"
	"unicode/utf8"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

const (
	// fewPlayers is up to how many players the lineup names the character of each.
	fewPlayers = 4
	// maxLineup is the largest length of a lineup in bytes.
	maxLineup = 1024
)

// Lineup returns who played, as Replay.lineup has it.
func Lineup(players []*replaydv1.Player) string {
	named := 0
	for _, p := range players {
		if p.GetName() != "" {
			named++
		}
	}
	var sides [][]string
	var won []string
	places := map[int32]int{} // of teams in sides
	for _, p := range players {
		name := p.GetName()
		if name == "" {
			continue
		}
		if p.GetResult() == replaydv1.PlayerResult_PLAYER_RESULT_WIN {
			won = append(won, name)
		}
		if p.GetCharacter() != "" && named <= fewPlayers {
			name += " (" + p.GetCharacter() + ")"
		}
		team := int32(-1)
		if p.Team != nil {
			team = p.GetTeam()
		}
		place, known := places[team]
		if !known {
			place = len(sides)
			places[team] = place
			sides = append(sides, nil)
		}
		sides[place] = append(sides[place], name)
	}
	texts := make([]string, len(sides))
	for i, side := range sides {
		texts[i] = strings.Join(side, ", ")
	}
	between := ", "
	if len(sides) == 2 {
		between = " vs "
	}
	text := strings.Join(texts, between)
	if len(won) > 0 && len(won) < named {
		text += ", " + strings.Join(won, " and ") + " won"
	}
	if len(text) > maxLineup {
		cut := maxLineup - len("…")
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// maxLineupNames is how many names fill a lineup, whatever their lengths.
const maxLineupNames = maxLineup / 2

// LineupOfNames is like Lineup, for players of whom the names alone are known.
func LineupOfNames(names []string) string {
	players := make([]*replaydv1.Player, min(len(names), maxLineupNames))
	for i := range players {
		players[i] = &replaydv1.Player{Name: names[i]}
	}
	return Lineup(players)
}
