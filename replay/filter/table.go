package filter

import (
	"slices"
	"strconv"
	"strings"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Property is a property of events, besides kind and tick, on which filters have conditions.
type Property uint8

// The properties. The numbers, which [Event] holds, come before Types.
const (
	Players Property = iota
	Teams
	Groups
	Layers
	Types
	Classes
	Fields
	propertyCount
)

// numeric is the number of properties that are numbers.
const numeric = Types

// conditions lists the conditions of filters besides kinds and ticks: the place of each in EventFilter, its numbers or names, and
// where a clause keeps them. Filters are compiled, checked and documented by this list; only [Row], which formats fill in, names
// the properties one by one.
var conditions = [propertyCount]condition{
	Players: {
		path: "players", numbers: (*replaydv1.EventFilter).GetPlayers,
	},
	Teams: {
		path: "teams", numbers: (*replaydv1.EventFilter).GetTeams,
	},
	Groups: {
		path:    "datafile.groups",
		numbers: func(f *replaydv1.EventFilter) []int32 { return f.GetDatafile().GetGroups() },
	},
	Layers: {
		path:    "datafile.layers",
		numbers: func(f *replaydv1.EventFilter) []int32 { return f.GetDatafile().GetLayers() },
	},
	Types: {
		path:  "dem.types",
		names: func(f *replaydv1.EventFilter) []string { return f.GetDem().GetTypes() },
		exact: func(c *clause) *names { return &c.types },
	},
	Classes: {
		path:     "dem.classes",
		names:    func(f *replaydv1.EventFilter) []string { return f.GetDem().GetClasses() },
		patterns: func(c *clause) *patterns { return &c.classes },
	},
	Fields: {
		path:     "dem.fields",
		names:    func(f *replaydv1.EventFilter) []string { return f.GetDem().GetFields() },
		patterns: func(c *clause) *patterns { return &c.fields },
	},
}

// condition is a condition on a property: the property is one of some numbers, or one of some names, or matches one of some
// patterns.
type condition struct {
	path     string
	numbers  func(*replaydv1.EventFilter) []int32
	names    func(*replaydv1.EventFilter) []string
	exact    func(*clause) *names
	patterns func(*clause) *patterns
}

// values returns the number of numbers or names that a filter has in the condition.
func (d *condition) values(f *replaydv1.EventFilter) int {
	if d.numbers != nil {
		return len(d.numbers(f))
	}
	return len(d.names(f))
}

// compile sets a clause's condition on a property from a filter.
func (c *clause) compile(p Property, f *replaydv1.EventFilter) {
	d := &conditions[p]
	if d.values(f) > 0 {
		c.asked |= 1 << p
	}
	switch {
	case d.numbers != nil:
		c.numbers[p] = setOf(d.numbers(f))
	case d.exact != nil:
		*d.exact(c) = namesOf(d.names(f))
	default:
		*d.patterns(c) = patternsOf(d.names(f))
	}
}

// Path returns the place of the condition in EventFilter.
func (p Property) Path() string { return conditions[p].path }

// String returns the name of the property.
func (p Property) String() string { return p.Path()[strings.IndexByte(p.Path(), '.')+1:] }

// Properties is a set of properties.
type Properties uint32

var _ [32 - propertyCount]struct{} // all of them fit

// Has reports whether a property is in the set.
func (s Properties) Has(p Property) bool { return s&(1<<p) != 0 }

// All returns the properties in the set.
func (s Properties) All() (all []Property) {
	for p := range propertyCount {
		if s.Has(p) {
			all = append(all, p)
		}
	}
	return all
}

// Table lists, by kind, the properties of a format's events, and how they are read from an event of type E.
type Table[E any] []Row[E]

// Row describes the events of a kind: they have no property whose field is nil or false. A function returns None for an event
// that lacks the property.
type Row[E any] struct {
	Player, OtherPlayer func(*E) int32
	Team, OtherTeam     func(*E) int32
	Group, Layer        func(*E) int32
	// Type returns the name of the event's type, which divides the events of the kind.
	Type func(*E) []byte
	// Types returns the types that events of the kind can have, which must not be modified. It is nil if each replay defines its types. A
	// type without a name has its number in decimal as its name, and is not in the list.
	Types func() []string
	// Classes is true if each event of the kind concerns one entity, which has a class. Fields is true if the events of the kind
	// carry fields of that entity.
	Classes, Fields bool
	// State is true if events of the kind only describe a state, and never happen.
	State bool
	// Map is true if events of the kind need the map of the game, which is another file.
	Map bool
}

func (r *Row[E]) has() (s Properties) {
	for p, has := range [propertyCount]bool{
		Players: r.Player != nil, Teams: r.Team != nil, Groups: r.Group != nil, Layers: r.Layer != nil,
		Types: r.Type != nil, Classes: r.Classes, Fields: r.Fields,
	} {
		if has {
			s |= 1 << p
		}
	}
	return s
}

// Event returns the properties of an event of that kind and tick.
func (t Table[E]) Event(kind uint8, tick int32, ev *E) (e Event) {
	t.Set(&e, kind, tick, ev)
	return e
}

// Set is Event for many events: an Event that is written and then copied, as one that is returned is, takes the processor four times as long.
func (t Table[E]) Set(e *Event, kind uint8, tick int32, ev *E) {
	e.Kind, e.Tick, e.Numbers = kind, tick, without
	if int(kind) >= len(t) {
		return
	}
	r := &t[kind]
	if r.Player != nil {
		e.Numbers[Players][0] = r.Player(ev)
		if r.OtherPlayer != nil {
			e.Numbers[Players][1] = r.OtherPlayer(ev)
		}
	}
	if r.Team != nil {
		e.Numbers[Teams][0] = r.Team(ev)
		if r.OtherTeam != nil {
			e.Numbers[Teams][1] = r.OtherTeam(ev)
		}
	}
	if r.Group != nil {
		e.Numbers[Groups][0] = r.Group(ev)
	}
	if r.Layer != nil {
		e.Numbers[Layers][0] = r.Layer(ev)
	}
}

// Type returns the name of an event's type. ok is false if events of its kind have no types.
func (t Table[E]) Type(kind uint8, ev *E) (name []byte, ok bool) {
	if int(kind) >= len(t) || t[kind].Type == nil {
		return nil, false
	}
	return t[kind].Type(ev), true
}

// Format describes a format to the compiler of filters.
type Format struct {
	// Name is the name of the format for people.
	Name string
	// Kinds holds the kinds of events by number; number 0 is no kind.
	Kinds []Kind
	// Timeless says that all events have tick 0.
	Timeless bool
	// SampleTicks is the number of ticks from one sample to the next if a request does not say otherwise. 0 stands for a format without
	// samples.
	SampleTicks int32
	// Least holds the smallest value of each numeric property that events have.
	Least map[Property]int32
}

// Kind is a kind of events.
type Kind struct {
	Name  string
	Has   Properties
	types func() []string // Row.Types
	// Fact is true if its events are computed from others. Only an include filter that names the kind selects them, so that
	// streams that do not ask for facts are the same with and without them.
	Fact bool
	// Sample is true if events of the kind describe the situation at a tick. Like facts, they are selected only by name.
	Sample bool
	// State and Map are those of the Row.
	State, Map bool
}

// The names of the kinds of facts and samples have these prefixes, in every format.
const (
	factPrefix   = "fact_"
	samplePrefix = "sample_"
)

// may reports whether events of the kind can have a type.
func (k *Kind) may(typ string) bool {
	if !k.Has.Has(Types) {
		return false
	}
	_, err := strconv.ParseInt(typ, 10, 64)
	types := k.Types()
	return len(types) == 0 || err == nil || slices.Contains(types, typ)
}

// Types returns the types that events of the kind can have: see Row.
func (k *Kind) Types() []string {
	if k.types == nil {
		return nil
	}
	return k.types()
}

// Describe returns the kinds of those names with the properties that the table gives them.
func (t Table[E]) Describe(names []string) []Kind {
	kinds := make([]Kind, len(names))
	for i, name := range names {
		kinds[i].Name = name
		kinds[i].Fact, kinds[i].Sample = strings.HasPrefix(name, factPrefix), strings.HasPrefix(name, samplePrefix)
		if i < len(t) {
			kinds[i].Has, kinds[i].types, kinds[i].State, kinds[i].Map = t[i].has(), t[i].Types, t[i].State, t[i].Map
		}
	}
	return kinds
}

// Names returns the names of the kinds, without the name of kind 0.
func (f *Format) Names() []string {
	names := make([]string, 0, len(f.Kinds))
	for _, k := range f.Kinds[1:] {
		names = append(names, k.Name)
	}
	return names
}

// kind returns the number of a kind, 0 for an unknown name.
func (f *Format) kind(name string) int {
	return max(0, slices.IndexFunc(f.Kinds, func(k Kind) bool { return k.Name == name && name != "" }))
}

// has returns the names of the kinds with a property.
func (f *Format) has(p Property) (names []string) {
	for _, k := range f.Kinds {
		if k.Has.Has(p) {
			names = append(names, k.Name)
		}
	}
	return names
}
