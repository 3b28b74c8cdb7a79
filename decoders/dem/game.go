package dem

import "bytes"

// game tells the games apart whose messages have numbers of their own.
type game uint8

const (
	gameUnknown game = iota
	gameDota
	gameCS2
	gameDeadlock
)

// gameByName recognises a game by the header's name of it, or by the last part of its directory.
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

// buildOf returns the build of the game that its server's directory names, as in ".../dota_v5361/dota", or 0.
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
