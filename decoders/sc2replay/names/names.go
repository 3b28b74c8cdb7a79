package names

import (
	_ "embed" // the tables
	"sync"
)

// Expansion identifies the balance data of a game. A newer client may play a game of an older expansion.
type Expansion string

// The expansions, as spelled in names.txt.
const (
	Liberty Expansion = "WoL"
	Swarm   Expansion = "HotS"
	Void    Expansion = "LotV"
)

// Table holds the names in the balance data of some builds. The methods of a nil Table return no names.
type Table struct {
	// Build is the first build that the table serves.
	Build int
	// Source is the source of the names, such as "sc2reader 1.9.0, LotV/97364".
	Source string

	expansion Expansion
	end       int // the first build after those that the table serves
	specs     [kinds]string
	fill      sync.Once
	commands  [][][]byte // by ability and index
	units     [][]byte
}

// Command returns the name of an ability's command, such as "TrainMarine", or nil. It must not be modified.
func (t *Table) Command(link, index uint32) []byte {
	if t == nil || link >= uint32(len(t.commands)) || index >= uint32(len(t.commands[link])) {
		return nil
	}
	return t.commands[link][index]
}

// Unit returns the name of a unit type as in the tracker's events, such as "SCV", or nil. It must not be modified.
func (t *Table) Unit(link uint32) []byte {
	if t == nil || link >= uint32(len(t.units)) {
		return nil
	}
	return t.units[link]
}

// Class is the role of a unit type.
type Class uint8

// The classes. Unit types that fit none of them, such as larvae and critters, have NoClass.
const (
	NoClass Class = iota
	Worker
	Army
	Structure
)

var classNames = map[string]Class{"worker": Worker, "army": Army, "structure": Structure}

// ClassOf returns the class of the unit type with a name.
func ClassOf(name []byte) Class { return known().classes[string(name)] }

// Find returns the table for a build, which is the last part of the game's version, or nil.
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
		panic(err) //nolint:forbidigo // as regexp.MustCompile: the text is embedded, and a test parses it
	}
	return s
})
