package sc2replay

import (
	_ "embed" // the beta's ability codes
	"strconv"
	"strings"
	"sync"

	"github.com/replayd/replayd/decoders/sc2replay/protocol"
)

// firstRelease is the base build of the game's release, 1.0. What is older is the beta of 2010, of which no table was ever
// published. Community notes of that time describe its bytes; docs/formats/sc2replay.md, "The beta of 2010", shows that
// they saw the bit-packed encoding of 1.0 and lists what their numbers stand for.
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

// BetaAbilityCode takes apart an "ability code" of the community notes of 2010: three bytes that begin four bits into the
// ability's link and end four bits into the index of its command.
func BetaAbilityCode(code uint32) (link, index uint32) {
	c, d, e := code>>16&0xFF, code>>8&0xFF, code&0xFF
	return c<<4 | d&0xF, d&0xF0 | e&0xF
}

// betaAbility returns the name that the notes of 2010 give to a command, or nil.
func betaAbility(link, index uint32) []byte {
	if index > 0xFF {
		return nil
	}
	return betaNames()[link<<8|index]
}

// BetaEventType returns what the notes of 2010 call the type of a game event: the upper three bits of its number.
func BetaEventType(id int) string { return nameOf(betaEventTypes[:], id>>4) }

// BetaEventName returns what the game event is called for which the notes of 2010 have this type and code, or "": the
// lower half of the code are the lower bits of the event's number, the upper half its first four bits.
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

// SpeedName returns the name of a game speed, 0 to 4, or "".
func SpeedName(speed int) string { return nameOf(speedNames[:], speed) }

var speedNames = [...]string{"Slower", "Slow", "Normal", "Fast", "Faster"}

// DifficultyName returns the name of a computer's difficulty, or "".
func DifficultyName(difficulty int) string { return nameOf(difficultyNames[:], difficulty) }

var difficultyNames = [...]string{"Very Easy", "Easy", "Medium", "Hard", "Very Hard", "Insane"}

// ColorName returns the name of a colour of the lobby, from 1, or "".
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
