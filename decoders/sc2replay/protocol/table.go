package protocol

import (
	_ "embed" // the tables
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Stream is one of the three event streams of a replay.
type Stream uint8

// The event streams, in the order in which events of one gameloop are delivered.
const (
	Game    Stream = iota // the players' actions
	Message               // chat, pings, loading progress
	Tracker               // computed by the game: units, upgrades, statistics
	streams
)

// String returns the stream's name as in the tables.
func (s Stream) String() string {
	if s < streams {
		return [...]string{"game", "message", "tracker"}[s]
	}
	return "unknown"
}

// Event is an event's number, name and layout in one table.
type Event struct {
	ID   int
	Name string // such as "CameraUpdate"
	Type *Type  // always a Struct
}

// Table holds all layouts of one base build. It must not be modified.
type Table struct {
	Build    int
	Header   *Type
	Details  *Type
	InitData *Type
	User     *Type // the user who caused a game or message event
	// IDBits is the number of bits of an event's number, by stream. It is 0 if the build does not have the stream.
	IDBits [streams]uint8
	events [streams][]*Event
}

// Event returns the event with a number, or nil.
func (t *Table) Event(s Stream, id int) *Event {
	if s >= streams || id < 0 || id >= len(t.events[s]) {
		return nil
	}
	return t.events[s][id]
}

// Events returns all events of a stream, indexed by number. The numbers have gaps, where the slice holds nil.
func (t *Table) Events(s Stream) []*Event { return t.events[s] }

// Set is a collection of tables.
type Set struct {
	builds   []int // builds with a table, ascending
	aliases  map[int]int
	overlays map[int]int // overlay build -> the build of its base table
	heads    []string
	lines    map[string][]line

	mu     sync.Mutex
	tables map[int]*Table
	types  map[string]*Type
}

// line is a layout and the first base build that has it.
type line struct {
	build int
	text  string // "-" where the layout was removed
}

//go:embed protocol.txt
var published string

//go:embed overlays.txt
var overlaid string

// Default returns the embedded tables.
var Default = sync.OnceValue(func() *Set {
	s, err := Parse()
	if err != nil {
		panic(err) //nolint:forbidigo // as regexp.MustCompile: the text is embedded, and a test compiles all of it
	}
	return s
})

// Parse returns the embedded tables with those of further texts of the same format. A layout of a further text replaces one
// of the same base build. Layouts are parsed only when a table needs them.
func Parse(more ...string) (*Set, error) {
	return parse(append([]string{published, overlaid}, more...)...)
}

func parse(texts ...string) (*Set, error) {
	s := &Set{
		aliases: map[int]int{}, overlays: map[int]int{}, lines: map[string][]line{},
		tables: map[int]*Table{}, types: map[string]*Type{},
	}
	for _, text := range texts {
		if err := s.read(text); err != nil {
			return nil, fmt.Errorf("tables: %w", err)
		}
	}
	if len(s.builds) == 0 {
		return nil, fmt.Errorf("no tables")
	}
	slices.Sort(s.builds)
	s.builds = slices.Compact(s.builds)
	for overlay, base := range s.overlays {
		if !slices.Contains(s.builds, base) {
			return nil, fmt.Errorf("overlay %d of %d, which is not a table", overlay, base)
		}
	}
	return s, nil
}

func (s *Set) read(text string) error {
	head, n := "", 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, "\r\n")
		switch {
		case l == "" || l[0] == '#':
			head = ""
		case head == "":
			head = l
			if _, ok := s.lines[head]; !ok && strings.Contains(head, " ") {
				s.heads = append(s.heads, head)
				s.lines[head] = nil
			}
		default:
			if err := s.add(head, l); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	return nil
}

func (s *Set) add(head, l string) error {
	first, rest, _ := strings.Cut(l, " ")
	build, err := strconv.Atoi(first)
	if err != nil || build <= 0 {
		return fmt.Errorf("%q is not a base build", first)
	}
	switch head {
	case "tables", "aliases":
		if head == "tables" {
			s.builds = append(s.builds, build)
		}
		for alias := range strings.FieldsSeq(rest) {
			n, err := strconv.Atoi(alias)
			if err != nil {
				return err
			}
			s.aliases[n] = build
		}
	case "overlays":
		base, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		s.overlays[build] = base
	default:
		s.lines[head] = append(s.lines[head], line{build, rest})
	}
	return nil
}

// layout returns the layout for a build, or "" if there is none.
func (s *Set) layout(head string, build int) string {
	base, overlay := s.overlays[build]
	text, from := "", -1
	for _, l := range s.lines[head] {
		if overlay && l.build == build {
			return l.text
		}
		if _, other := s.overlays[l.build]; other {
			continue
		}
		at := build
		if overlay {
			at = base
		}
		if l.build <= at && l.build >= from {
			text, from = l.text, l.build
		}
	}
	if text == "-" {
		return ""
	}
	return text
}

// Table returns the table of a base build, which must have its own table. Use a build that Select returned.
func (s *Set) Table(build int) (*Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tables[build]; ok {
		return t, nil
	}
	if _, ok := s.overlays[build]; !ok && !slices.Contains(s.builds, build) {
		return nil, fmt.Errorf("base build %d has no table", build)
	}
	t, err := s.compile(build)
	if err != nil {
		return nil, fmt.Errorf("table %d: %w", build, err)
	}
	s.tables[build] = t
	return t, nil
}

func (s *Set) compile(build int) (*Table, error) {
	t := &Table{Build: build}
	for _, head := range s.heads {
		text := s.layout(head, build)
		section, name, _ := strings.Cut(head, " ")
		if text == "" || section == "struct" {
			continue
		}
		var err error
		switch section {
		case "root":
			err = s.root(t, name, text)
		case "game":
			err = s.event(t, Game, name, text)
		case "message":
			err = s.event(t, Message, name, text)
		case "tracker":
			err = s.event(t, Tracker, name, text)
		default:
			err = fmt.Errorf("unknown section")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", head, err)
		}
	}
	if t.Header == nil || t.Details == nil || t.InitData == nil || t.User == nil {
		return nil, fmt.Errorf("a root is missing")
	}
	return t, nil
}

func (s *Set) root(t *Table, name, text string) error {
	typ, err := s.typ(text, t.Build, 0)
	if err != nil {
		return err
	}
	switch name {
	case "header":
		t.Header = typ
	case "details":
		t.Details = typ
	case "initData":
		t.InitData = typ
	case "user":
		t.User = typ
	case "gameId":
		t.IDBits[Game] = typ.Bits
	case "messageId":
		t.IDBits[Message] = typ.Bits
	case "trackerId":
		t.IDBits[Tracker] = typ.Bits
	case "delta":
		// The gameloop delta has the same layout in all builds. The readers know it.
	default:
		return fmt.Errorf("unknown root")
	}
	return nil
}

func (s *Set) event(t *Table, stream Stream, name, text string) error {
	number, layout, _ := strings.Cut(text, " ")
	id, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return err
	}
	typ, err := s.typ(layout, t.Build, 0)
	if err != nil {
		return err
	}
	if typ.Kind != Struct {
		return fmt.Errorf("not a struct")
	}
	for len(t.events[stream]) <= int(id) {
		t.events[stream] = append(t.events[stream], nil)
	}
	if t.events[stream][id] != nil {
		return fmt.Errorf("number %d is %s already", id, t.events[stream][id].Name)
	}
	t.events[stream][id] = &Event{ID: int(id), Name: name, Type: typ}
	return nil
}

// typ parses a layout. Layouts that name no struct are the same in all tables, and are shared.
func (s *Set) typ(text string, build, depth int) (*Type, error) {
	if t, ok := s.types[text]; ok {
		return t, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("structs nested deeper than %d", maxDepth)
	}
	shared := true
	t, err := ParseType(text, func(name string) (*Type, error) {
		shared = false
		inner := s.layout("struct "+name, build)
		if inner == "" {
			return nil, fmt.Errorf("unknown type %q", name)
		}
		return s.typ(inner, build, depth+1)
	})
	if err == nil && shared {
		s.types[text] = t
	}
	return t, err
}
