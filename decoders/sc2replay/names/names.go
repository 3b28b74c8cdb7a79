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
	sure      [kinds][]bool // by link
}

// Command returns the name of an ability's command, such as "TrainMarine", or nil. It must not be modified. sure reports
// whether the builds of the table certainly have this name.
func (t *Table) Command(link, index uint32) (name []byte, sure bool) {
	if t == nil || link >= uint32(len(t.commands)) || index >= uint32(len(t.commands[link])) {
		return nil, false
	}
	return t.commands[link][index], t.sure[abilities][link]
}

// Unit returns the name of a unit type as in the tracker's events, such as "SCV", or nil. It must not be modified. sure
// reports whether the builds of the table certainly have this name.
func (t *Table) Unit(link uint32) (name []byte, sure bool) {
	if t == nil || link >= uint32(len(t.units)) {
		return nil, false
	}
	return t.units[link], t.sure[units][link]
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

// Set is a collection of tables.
type Set struct {
	source   string
	commands map[string][][]byte // by ability, without abilities whose only command has the ability's name
	classes  map[string]Class
	lists    [kinds]map[string]*links // by the name of the source file
	tables   []*Table
}

// ClassOf returns the class of the unit type with a name.
func (s *Set) ClassOf(name []byte) Class { return s.classes[string(name)] }

// Find returns the table of an expansion for a build, which is the last part of the game's version. own reports whether the table
// serves the build. Otherwise the table is the nearest older build's, or else the oldest. It is nil if the expansion has none.
func (s *Set) Find(e Expansion, build int) (t *Table, own bool) {
	for _, c := range s.tables { // a later table replaces an earlier one
		if c.expansion != e {
			continue
		}
		serves := c.Build <= build && build < c.end
		if serves || !own && (t == nil || closer(build, c.Build, t.Build)) {
			t, own = c, serves
		}
	}
	if t != nil {
		t.fill.Do(func() { s.fill(t) })
	}
	return t, own
}

// closer reports whether build a is nearer to build than b is. Every older build is nearer than every newer one.
func closer(build, a, b int) bool {
	switch {
	case a <= build && b <= build:
		return a > b
	case a > build && b > build:
		return a < b
	}
	return a <= build
}

//go:embed names.txt
var embedded string

// Default returns the embedded names.
var Default = sync.OnceValue(func() *Set {
	s, err := Parse()
	if err != nil {
		panic(err) //nolint:forbidigo // as regexp.MustCompile: the text is embedded, and a test parses it
	}
	return s
})
