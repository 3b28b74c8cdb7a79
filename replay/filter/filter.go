// Package filter decides which events a stream delivers.
//
// A request has two lists of filters. An event is delivered when any of the include filters matches it (or there is
// none) and none of the exclude filters does. Inside one filter, which is called a clause here, all conditions must hold.
//
// Conditions are on an event's kind, its tick and its properties. A format declares in one [Table] which kinds of events have
// which properties, and how they are read. From that table follow which clauses match which kinds, which requests are
// refused because they can match nothing, and the documentation.
//
// Conditions on fields are different: they do not select events but parts of them. An include clause with fields delivers the
// matching fields of the events that its other conditions match; an exclude clause with fields removes them. If several
// include clauses match an event, the union of their fields is delivered. An event whose fields are all removed is dropped.
//
//	table.go    the properties of a format's events
//	compile.go  a request's clauses, checked
//	filter.go   matching events; filter_class.go: matching events that have a class and fields
//	set.go      sets of numbers; pattern.go: sets of names
//
// A Filter is immutable and safe for concurrent use.
package filter

import (
	"math"
	"math/bits"
	"slices"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// None is the value of a property that an event does not have.
const None = math.MinInt32

// Event holds the properties of an event that filters ask for, except names.
type Event struct {
	Kind uint8 // the kind's number in its format
	Tick int32
	// Numbers holds the numeric properties, None for a property that the event lacks. An event may have two values of one
	// property, such as two players: a condition matches if either value does.
	Numbers [numeric][2]int32
}

// without holds the properties of an event that has none.
var without = func() (numbers [numeric][2]int32) {
	for p := range numbers {
		numbers[p] = [2]int32{None, None}
	}
	return numbers
}()

// Of returns an event without properties.
func Of(kind uint8, tick int32) Event { return Event{Kind: kind, Tick: tick, Numbers: without} }

// Filter is a compiled pair of lists of filters. The nil *Filter delivers everything.
type Filter struct {
	include, exclude []clause
	// By kind: a bit for each clause that may match events of the kind.
	includes, excludes []uint64
	includable         []uint64 // like includes, without the clauses of kinds that are excluded as a whole
	named              []bool   // whether an include clause names the kind
	left               []bool   // whether Only removed the kind; nil if it was not called
	whole              []bool   // whether every event of the kind is delivered
	// The clauses with conditions on fields.
	narrowIn, narrowEx uint64
	maxTick            int32 // no later event is delivered
	nothing            bool  // no event is delivered
	facts              bool  // a kind of facts may be delivered
	samples            bool  // a kind of samples may be delivered
	mapped             bool  // a kind that needs the map may be delivered
	state              bool  // the stream begins with a state
}

// Facts reports whether facts may be delivered. If not, a caller need not compute them.
func (f *Filter) Facts() bool { return f != nil && f.facts }

// Samples reports whether samples may be delivered. If not, a caller need not make them.
func (f *Filter) Samples() bool { return f != nil && f.samples }

// Map reports whether events may be delivered that need the map of the game.
func (f *Filter) Map() bool { return f != nil && f.mapped }

// clause is one filter: a conjunction of conditions. Its conditions on kinds are in Filter.
type clause struct {
	min, max int32 // ticks
	every    int32 // ticks are multiples of this number
	sampled  int32 // ticks of samples are multiples of this number
	numbers  [numeric]set
	types    names
	classes  patterns
	fields   patterns
	asked    Properties // the properties on which it has conditions
	always   bool       // it has no condition except on kinds

	format *Format

	never *FieldError      // why no event can match, if its numbers alone show that
	path  string           // its place in the request
	kinds []string         // the kinds that the request names
	lacks map[Property]int // by property of the clause's conditions: the number of kinds without the property
}

// match reports whether the conditions on ticks and numbers hold.
func (c *clause) match(e *Event) bool {
	if e.Tick < c.min || e.Tick > c.max || c.every|c.sampled > 1 && e.Tick%c.interval(e.Kind) != 0 {
		return false
	}
	for p := range c.numbers {
		if s := &c.numbers[p]; !s.any && !s.hasEither(&e.Numbers[p]) {
			return false
		}
	}
	return true
}

// interval returns the number of which the ticks of events of a kind are multiples.
func (c *clause) interval(kind uint8) int32 {
	if c.format.Kinds[kind].Sample {
		return c.sampled
	}
	return c.every
}

// Next returns the first tick between from and to at which samples of the kind may be delivered. It returns false if there is
// none.
func (f *Filter) Next(kind uint8, from, to int32) (tick int32, ok bool) {
	if !f.Samples() {
		return 0, false
	}
	for of := f.includes[kind]; of != 0; of &= of - 1 {
		c := &f.include[bits.TrailingZeros64(of)]
		next := int64(max(from, c.min))
		if rest := next % int64(c.sampled); rest > 0 {
			next += int64(c.sampled) - rest
		} else {
			next -= rest // the remainder of a negative tick is negative
		}
		if next <= int64(min(to, c.max)) && (!ok || next < int64(tick)) {
			tick, ok = int32(next), true
		}
	}
	return tick, ok
}

// matching returns the clauses of a set of bits that match.
func matching(clauses []clause, of uint64, e *Event) (matched uint64) {
	for ; of != 0; of &= of - 1 {
		i := bits.TrailingZeros64(of)
		if clauses[i].always || clauses[i].match(e) {
			matched |= 1 << i
		}
	}
	return matched
}

// Match reports whether an event that has no class and no type is delivered.
func (f *Filter) Match(e *Event) bool {
	if f == nil {
		return true
	}
	return matching(f.include, f.includes[e.Kind], e) != 0 && matching(f.exclude, f.excludes[e.Kind], e) == 0
}

// MatchType is like Match, for an event of a kind that has types.
func (f *Filter) MatchType(e *Event, typ []byte) bool {
	if f == nil {
		return true
	}
	return withType(f.include, matching(f.include, f.includes[e.Kind], e), typ) != 0 &&
		withType(f.exclude, matching(f.exclude, f.excludes[e.Kind], e), typ) == 0
}

// withType returns the clauses of a set of bits whose condition on types holds.
func withType(clauses []clause, of uint64, typ []byte) (matched uint64) {
	for ; of != 0; of &= of - 1 {
		i := bits.TrailingZeros64(of)
		if t := &clauses[i].types; t.any || t.has(typ) {
			matched |= 1 << i
		}
	}
	return matched
}

// Kind reports whether any event of that kind can be delivered. A caller need not decode other kinds.
func (f *Filter) Kind(kind uint8) bool {
	return f == nil || f.includes[kind] != 0
}

// Whole reports whether every event of that kind is delivered, with all of its fields. Then a caller needs only the kind of an event.
func (f *Filter) Whole(kind uint8) bool {
	return f == nil || f.whole[kind]
}

// Named reports whether an include clause names the kind and events of the kind can be delivered, or could without Only.
func (f *Filter) Named(kind uint8) bool {
	return f != nil && f.named[kind] && (f.includes[kind] != 0 || len(f.left) > 0 && f.left[kind])
}

// Listed returns the filter, or, for the nil *Filter, one that delivers the same and knows of which kinds that is: not of facts and samples.
func (f *Filter) Listed(format *Format) (*Filter, error) {
	if f != nil {
		return f, nil
	}
	return Compile(format, []*replaydv1.EventFilter{{}}, nil)
}

// Only returns the filter for a caller that delivers only events of the kinds for which may is true, and of these not all.
func (f *Filter) Only(format *Format, may func(kind uint8) bool) (*Filter, error) {
	f, err := f.Listed(format)
	if err != nil {
		return nil, err
	}
	only := *f
	only.includes, only.left, only.whole = slices.Clone(f.includes), make([]bool, len(f.includes)), slices.Clone(f.whole)
	only.facts, only.samples, only.mapped, only.nothing = false, false, false, true
	for k, kind := range format.Kinds {
		if !may(uint8(k)) {
			only.left[k] = only.includes[k] != 0
			only.includes[k], only.whole[k] = 0, false
		}
		there := only.includes[k] != 0
		only.facts, only.samples, only.mapped = only.facts || kind.Fact && there, only.samples || kind.Sample && there, only.mapped || kind.Map && there
		only.nothing = only.nothing && (!there || kind.State)
	}
	return &only, nil
}

// Type reports whether any event of that kind and type can be delivered.
func (f *Filter) Type(kind uint8, name []byte) bool {
	if f == nil {
		return true
	}
	for i := range f.exclude {
		c := &f.exclude[i]
		if f.excludes[kind]&(1<<i) != 0 && c.asksOnly(Types) && (c.types.any || c.types.has(name)) {
			return false
		}
	}
	for i := range f.include {
		if c := &f.include[i]; f.includes[kind]&(1<<i) != 0 && (c.types.any || c.types.has(name)) {
			return true
		}
	}
	return false
}

// NamesType reports whether an include clause that may match events of that kind has a condition on types that names the type.
func (f *Filter) NamesType(kind uint8, name []byte) bool {
	if f == nil {
		return false
	}
	for i := range f.include {
		if c := &f.include[i]; f.includes[kind]&(1<<i) != 0 && !c.types.any && c.types.has(name) {
			return true
		}
	}
	return false
}

// HasTypes reports whether a clause has a condition on types. Without such a clause, Type says nothing that Kind does not.
func (f *Filter) HasTypes() bool {
	typed := func(c clause) bool { return !c.types.any }
	return f != nil && (slices.ContainsFunc(f.include, typed) || slices.ContainsFunc(f.exclude, typed))
}

// MaxTick returns the last tick at which events can be delivered; math.MaxInt32 without a bound.
func (f *Filter) MaxTick() int32 {
	if f == nil {
		return math.MaxInt32
	}
	return f.maxTick
}

// Nothing reports that no event can be delivered.
func (f *Filter) Nothing() bool { return f != nil && f.nothing }

// Clauses returns the largest number of clauses to which an event is compared. A comparison takes some nanoseconds.
func (f *Filter) Clauses() int {
	if f == nil {
		return 0
	}
	return len(f.include) + len(f.exclude)
}
