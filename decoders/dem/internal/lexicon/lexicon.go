// Package lexicon knows the messages of Source 2 demos by their numbers.
//
// messages.txt has them, as of these versions of the definitions that the games contain:
//
//   - Deadlock: deadlock-api/valveprotos-rs, commit a23b534, 2026-07-30
//   - Dota 2, Counter-Strike 2, Deadlock: SteamDatabase/Protobufs, commit 8fb43df, 2026-05-04
//   - Counter-Strike 2: markus-wa/demoinfocs-golang, commit b1bc851, 2026-04-21
//   - Deadlock: deadlock-api/valveprotos-py, commit fcf7ec5, 2025-05-04
//
// A game gives numbers anew at times: 357 was CCitadelUserMsg_SeasonalAchievementUnlocked in the Deadlock of 2025, and has been
// CCitadelUserMsg_SeasonalKill since. The list has the latest name. tools/demmessages writes messages.txt; its rules.go has the
// messages that are in no published definition.
package lexicon

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed messages.txt
var text string

// Game selects the numbers of a game.
type Game uint8

// The games. Numbers up to 299 mean the same in all.
const (
	Dota Game = iota
	CS2
	Deadlock
	games
)

var gameNames = [games]string{"dota", "cs2", "deadlock"}

// messages are the lists of messages that the text has.
type messages struct {
	names [games]map[uint32][]byte
}

var known = sync.OnceValue(func() *messages {
	m := &messages{}
	for g := range m.names {
		m.names[g] = map[uint32][]byte{}
	}
	for line := range strings.Lines(text) {
		if part := strings.Fields(line); part[0] == "id" {
			m.add(part[1], part[2], part[3])
		}
	}
	return m
})

// add adds a message with a number to the games that a label names.
func (m *messages) add(label, number, name string) {
	n, _ := strconv.ParseUint(number, 10, 32)
	for g, game := range gameNames {
		if label == "all" || strings.Contains(","+label+",", ","+game+",") {
			m.names[g][uint32(n)] = []byte(name)
		}
	}
}

// Name returns the name of the message that a game gives a number, such as "CDOTAUserMsg_ChatEvent", or nil. The returned bytes
// must not be modified.
func Name(g Game, number uint32) []byte { return known().names[g][number] }
