package terminal

import (
	"strings"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// few is the largest number of players whose characters the lineup names.
const few = 4

// lineup returns who played, such as "Serral (Zerg) vs Maru (Terran), Serral won". It is empty when no player is known.
func lineup(players []*replaydv1.Player) string {
	sides, won, lost := sidesOf(players)
	texts := make([]string, len(sides))
	for i, side := range sides {
		texts[i] = strings.Join(side, ", ")
	}
	between := ", "
	if len(sides) == 2 {
		between = " vs "
	}
	text := strings.Join(texts, between)
	if len(won) > 0 && lost {
		text += ", " + strings.Join(won, " and ") + " won"
	}
	return text
}

// sidesOf returns the names of players by team, in the order in which the teams appear, the winners, and whether somebody did not
// win.
func sidesOf(players []*replaydv1.Player) (sides [][]string, won []string, lost bool) {
	named := 0
	for _, p := range players {
		if p.GetName() != "" {
			named++
		}
	}
	places := map[int32]int{}
	for _, p := range players {
		name := clean(p.GetName())
		if name == "" {
			continue
		}
		if p.GetResult() == replaydv1.PlayerResult_PLAYER_RESULT_WIN {
			won = append(won, name)
		} else {
			lost = true
		}
		if character := clean(p.GetCharacter()); character != "" && named <= few {
			name += " (" + character + ")"
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
	return sides, won, lost
}
