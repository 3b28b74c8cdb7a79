package dem

import "bytes"

// game is a game that assigns its own numbers to messages.
type game uint8

const (
	gameUnknown game = iota
	gameDota
	gameCS2
	gameDeadlock
)

// Has reports whether demos with this header can have events of a kind. Demos of an unknown game can have all kinds.
func (h *FileHeader) Has(k Kind) bool { return h.game().has(k) }

func (h *FileHeader) game() game {
	if g := gameByName(h.Game); g != gameUnknown {
		return g
	}
	return gameByName(h.GameDirectory)
}

// gameByName recognises a game by its name in the header, or by the last part of its directory.
func gameByName(name []byte) game {
	if i := bytes.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	switch string(name) {
	case "dota":
		return gameDota
	case "csgo":
		return gameCS2
	case "citadel":
		return gameDeadlock
	}
	return gameUnknown
}

// dotaBuild returns the build of Dota 2 that recorded the demo. It is 0 for another game, and when the build is unknown.
func (d *Decoder) dotaBuild() int {
	if d.match.game != gameDota {
		return 0
	}
	return d.match.build
}

// buildOf returns the build of the game from the path of the server's directory, such as ".../dota_v5361/dota", or 0.
func buildOf(dir []byte) int {
	for _, prefix := range [...]string{"dota_v", "csgo_v", "citadel_v"} {
		i := bytes.Index(dir, []byte(prefix))
		if i < 0 {
			continue
		}
		n := 0
		for _, c := range dir[i+len(prefix):] {
			if c < '0' || c > '9' || n > 1<<24 {
				break
			}
			n = 10*n + int(c-'0')
		}
		return n
	}
	return 0
}
