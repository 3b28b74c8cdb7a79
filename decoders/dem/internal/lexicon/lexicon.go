// Package lexicon knows the messages of Source 2 demos by their numbers.
//
// messages.txt has them, as of these versions of the definitions that the games contain:
//
//   - Deadlock: deadlock-api/valveprotos-rs, commit a23b534, 2026-07-30
//   - Dota 2, Counter-Strike 2, Deadlock: SteamDatabase/Protobufs, commit 8fb43df, 2026-05-04
//   - Counter-Strike 2: markus-wa/demoinfocs-golang, commit b1bc851, 2026-04-21
//   - Deadlock: deadlock-api/valveprotos-py, commit fcf7ec5, 2025-05-04
//   - Counter-Strike 2, Dota 2: SteamDatabase/Protobufs, commit 038dffc, 2023-12-04
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

	"github.com/replayd/replayd/decoders/dem/internal/pb"
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

type message struct {
	name  []byte
	shape *pb.Shape // nil when no definition is published
}

// messages holds the lists of messages in the text.
type messages struct {
	numbers [games][]message // by number
	shapes  map[string]*pb.Shape
}

var known = sync.OnceValue(func() *messages {
	m := &messages{shapes: map[string]*pb.Shape{}}
	var of *pb.Shape
	for line := range strings.Lines(text) {
		switch part := strings.Fields(line); part[0] {
		case "#":
		case "id":
			m.add(part[1], part[2], part[3])
		case "type":
			of = m.shape(part[1])
		default:
			n, _ := strconv.Atoi(part[0])
			f := m.field(part[1])
			f.Name = []byte(part[2])
			of.Add(n, f)
		}
	}
	for _, numbers := range m.numbers {
		for n := range numbers {
			numbers[n].shape = m.shapes[string(numbers[n].name)]
		}
	}
	return m
})

// add adds a message with a number to the games that a label names.
func (m *messages) add(label, number, name string) {
	n, _ := strconv.Atoi(number)
	for g, game := range gameNames {
		if label == "all" || strings.Contains(","+label+",", ","+game+",") {
			of := &m.numbers[g]
			*of = append(*of, make([]message, max(0, n+1-len(*of)))...)
			(*of)[n] = message{name: []byte(name)}
		}
	}
}

// shape returns the shape of a message, which may be filled later.
func (m *messages) shape(name string) *pb.Shape {
	if m.shapes[name] == nil {
		m.shapes[name] = &pb.Shape{Name: name}
	}
	return m.shapes[name]
}

// field returns a field of the given type.
func (m *messages) field(typ string) pb.Field {
	typ, repeated := strings.CutPrefix(typ, "*")
	switch typ {
	case "bool", "enum", "int32", "int64", "uint32", "uint64", "sint32", "sint64":
		return pb.Field{Type: pb.Varint, Repeated: repeated}
	case "float", "fixed32", "sfixed32":
		return pb.Field{Type: pb.Fixed32, Repeated: repeated}
	case "double", "fixed64", "sfixed64":
		return pb.Field{Type: pb.Fixed64, Repeated: repeated}
	case "string", "bytes":
		return pb.Field{Type: pb.Bytes, Repeated: repeated, Text: typ == "string"}
	}
	return pb.Field{Type: pb.Bytes, Repeated: repeated, Of: m.shape(typ)}
}

// Shape returns the known fields of the message with a number in a game, or nil.
func Shape(g Game, number uint32) *pb.Shape {
	if m := numbered(g, number); m != nil {
		return m.shape
	}
	return nil
}

// Numbers returns a number above those of all messages with a name in a game.
func Numbers(g Game) int { return len(known().numbers[g]) }

// numbered returns the message with a number, or nil.
func numbered(g Game, number uint32) *message {
	if of := known().numbers[g]; number < uint32(len(of)) {
		return &of[number]
	}
	return nil
}

// Type returns the known fields of a message without a number, such as "CDemoFileHeader", or nil.
func Type(name string) *pb.Shape { return known().shapes[name] }

// Name returns the name of the message with a number in a game, such as "CDOTAUserMsg_ChatEvent", or nil. The returned bytes must
// not be modified.
func Name(g Game, number uint32) []byte {
	if m := numbered(g, number); m != nil {
		return m.name
	}
	return nil
}
