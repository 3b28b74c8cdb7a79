package names

import (
	_ "embed" // the tables
	"sync"
)

// Expansion is the balance data that a game is played with: a game of a newer client may be one of an older expansion.
type Expansion string

// The expansions, as names.txt spells them.
const (
	Liberty Expansion = "WoL"
	Swarm   Expansion = "HotS"
	Void    Expansion = "LotV"
)

// Table is the names in the balance data of some builds. The methods of a nil Table know no names.
type Table struct {
	// Build is the first build that it serves.
	Build int
	// Source is what the names were taken from, such as "sc2reader 1.9.0, LotV/97364".
	Source string

	expansion Expansion
	end       int // the first build that it does not serve any more
	specs     [kinds]string
	fill      sync.Once
	commands  [][][]byte // by ability and index
	units     [][]byte
}

// Command returns the name of an ability's command, such as "TrainMarine", or nil. The caller must not change it.
func (t *Table) Command(link, index uint32) []byte {
	if t == nil || link >= uint32(len(t.commands)) || index >= uint32(len(t.commands[link])) {
		return nil
	}
	return t.commands[link][index]
}

// Unit returns the name of a unit type, such as "SCV", as the tracker's events spell it, or nil. The caller must not change
// it.
func (t *Table) Unit(link uint32) []byte {
	if t == nil || link >= uint32(len(t.units)) {
		return nil
	}
	return t.units[link]
}

// Class is what a unit type is for.
type Class uint8

// The classes. What none of them fits, such as larvae and critters, has no class.
const (
	NoClass Class = iota
	Worker
	Army
	Structure
)

var classNames = map[string]Class{"worker": Worker, "army": Army, "structure": Structure}

// ClassOf returns the class of a unit type by its name.
func ClassOf(name []byte) Class { return known().classes[string(name)] }

// Find returns the names that hold for a build, the last part of the game's version, or nil.
func Find(e Expansion, build int) *Table {
	s := known()
	for _, t := range s.tables {
		if t.expansion == e && t.Build <= build && build < t.end {
			t.fill.Do(func() { s.fill(t) })
			return t
		}
	}
	return nil
}

//go:embed names.txt
var text string

var known = sync.OnceValue(func() *set {
	s, err := parse(text)
	if err != nil {
		panic(err) //nolint:forbidigo // as regexp.MustCompile: the text is embedded, and a test reads it
	}
	return s
})
