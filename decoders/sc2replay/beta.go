package sc2replay

import (
	_ "embed" // the beta's ability codes
	"strconv"
	"strings"
	"sync"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// firstRelease is the base build of the game's release, 1.0. Older builds are the beta of 2010, for which no table was
// published. Community notes of that time describe its bytes. They turn out to describe the bit-packed encoding of 1.0.
// docs/formats/sc2replay.md, "The beta of 2010", shows this and lists the meaning of their numbers.
const firstRelease = 15405

//go:embed beta_abilities.txt
var betaAbilities string

// betaNames maps link<<8 | command index to a name.
var betaNames = sync.OnceValue(func() map[uint32][]byte {
	names := map[uint32][]byte{}
	for line := range strings.Lines(betaAbilities) {
		code, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseUint(code, 16, 32)
		if !ok || err != nil {
			continue // a comment
		}
		link, index := BetaAbilityCode(uint32(v))
		names[link<<8|index] = []byte(name)
	}
	return names
})

// BetaAbilityCode splits an "ability code" of the community notes of 2010 into link and command index. The three bytes
// of a code begin four bits into the ability's link and end four bits into the command's index.
func BetaAbilityCode(code uint32) (link, index uint32) {
	c, d, e := code>>16&0xFF, code>>8&0xFF, code&0xFF
	return c<<4 | d&0xF, d&0xF0 | e&0xF
}

// betaAbility returns the name of a command in the notes of 2010, or nil.
func betaAbility(link, index uint32) []byte {
	if index > 0xFF {
		return nil
	}
	return betaNames()[link<<8|index]
}

// BetaEventType returns the type of a game event in the notes of 2010. The upper three bits of the event's number
// determine it.
func BetaEventType(id int) string { return nameOf(betaEventTypes[:], id>>4) }

// BetaEventName returns the name of the game event with this type and code in the notes of 2010, or "". The lower half
// of the code is the lower bits of the event's number, the upper half is its first four bits.
func BetaEventName(typ, code int) string {
	table, err := protocol.Default().Table(firstRelease)
	if err != nil {
		return ""
	}
	if e := table.Event(protocol.Game, typ<<4|code&0xF); e != nil {
		return e.Name
	}
	return ""
}

var betaEventTypes = [...]string{"Initialization", "Action", "Unknown", "Replay", "Inaction", "System"}

// SpeedName returns the name of a game speed, 0 to 4, or "" for any other number.
func SpeedName(speed int) string { return nameOf(speedNames[:], speed) }

var speedNames = [...]string{"Slower", "Slow", "Normal", "Fast", "Faster"}

// DifficultyName returns the name of a computer player's difficulty, or "" if it is unknown.
func DifficultyName(difficulty int) string { return nameOf(difficultyNames[:], difficulty) }

var difficultyNames = [...]string{"Very Easy", "Easy", "Medium", "Hard", "Very Hard", "Insane"}

// ColorName returns the name of a lobby colour, starting with 1, or "" if it is unknown.
func ColorName(color int) string { return nameOf(colorNames[:], color-1) }

var colorNames = [...]string{
	"Red", "Blue", "Teal", "Purple", "Yellow", "Orange", "Green", "Light pink", "Violet", "Light grey", "Dark green",
	"Brown", "Light green", "Dark grey", "Pink",
}

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return ""
	}
	return names[i]
}
