// Package filter decides which events a stream delivers. A Filter is compiled once from a request and asked once an
// event; it is immutable and safe for concurrent use.
//
// A request has two lists of filters. An event is delivered when any of the include filters matches it (or there is
// none) and none of the exclude filters does. Inside one filter all conditions must hold.
package filter

import (
	"math"
	"slices"
)

// None is the value of a property that an event does not have.
const None = math.MinInt32

// Event is what filters can ask of an event.
type Event struct {
	Kind   uint8 // the kind's number in its format
	Tick   int32
	Player int32 // None when the event is about no player
	Other  int32 // a second player, or None
	Team   int32 // None when the event names no team
	Group  int32 // of a map's layer, or None
	Layer  int32 // inside its group, or None
}

// Filter is a compiled pair of filter lists. The nil *Filter delivers everything.
type Filter struct {
	include, exclude []clause
	kinds            [4]uint64 // kinds that any event may be delivered of
	maxTick          int32     // no later event is delivered
	nothing          bool      // no event is delivered
}

// clause is one filter: a conjunction.
type clause struct {
	kinds    *[4]uint64 // nil: any
	players  []int32    // empty: any; so are all lists
	teams    []int32
	groups   []int32
	layers   []int32
	classes  []string // globs of entity classes
	fields   []string // globs of entity fields
	min, max int32
}

func (c *clause) match(e *Event) bool {
	switch {
	case c.kinds != nil && c.kinds[e.Kind>>6]&(1<<(e.Kind&63)) == 0:
		return false
	case e.Tick < c.min || e.Tick > c.max:
		return false
	case len(c.players) > 0 && !has(c.players, e.Player) && !has(c.players, e.Other):
		return false
	case len(c.teams) > 0 && !has(c.teams, e.Team):
		return false
	case len(c.groups) > 0 && !has(c.groups, e.Group):
		return false
	case len(c.layers) > 0 && !has(c.layers, e.Layer):
		return false
	}
	return true
}

func has(list []int32, v int32) bool { return v != None && slices.Contains(list, v) }

// Match tells whether the event is delivered. Conditions on classes and fields are not looked at: an event of an entity
// is to be asked of the filter that Class returns, and other events have no class, so such clauses do not match them.
func (f *Filter) Match(e *Event) bool {
	if f == nil {
		return true
	}
	if f.kinds[e.Kind>>6]&(1<<(e.Kind&63)) == 0 {
		return false
	}
	return matchAny(f.include, e) && (len(f.exclude) == 0 || !matchAny(f.exclude, e))
}

func matchAny(clauses []clause, e *Event) bool {
	for i := range clauses {
		c := &clauses[i]
		if len(c.classes) == 0 && len(c.fields) == 0 && c.match(e) {
			return true
		}
	}
	return false
}

// Kind tells whether any event of that kind can be delivered. What never can need not be decoded.
func (f *Filter) Kind(kind uint8) bool {
	return f == nil || f.kinds[kind>>6]&(1<<(kind&63)) != 0
}

// MaxTick is the last tick of which events can be delivered; math.MaxInt32 when there is no bound.
func (f *Filter) MaxTick() int32 {
	if f == nil {
		return math.MaxInt32
	}
	return f.maxTick
}

// Nothing tells that no event at all can be delivered.
func (f *Filter) Nothing() bool { return f != nil && f.nothing }

// Conditions is how many filters and values Match compares an event with at most. A comparison takes up to two
// nanoseconds.
func (f *Filter) Conditions() int {
	if f == nil {
		return 0
	}
	n := len(f.include) + len(f.exclude)
	for _, list := range [][]clause{f.include, f.exclude} {
		for i := range list {
			n += 2*len(list[i].players) + len(list[i].teams) + len(list[i].groups) + len(list[i].layers)
		}
	}
	return n
}

// Class returns the filter as events of entities of that class see it: without conditions on classes.
func (f *Filter) Class(name string) *Filter {
	if f == nil {
		return nil
	}
	narrow := func(list []clause) []clause {
		var kept []clause
		for _, c := range list {
			if len(c.classes) == 0 || slices.ContainsFunc(c.classes, func(g string) bool { return Glob(g, name) }) {
				c.classes = nil
				kept = append(kept, c)
			}
		}
		return kept
	}
	return newFilter(narrow(f.include), narrow(f.exclude))
}

// Fields returns by which fields events of that kind are narrowed, as a function that tells whether a field is wanted,
// or nil when all are. Call it on what Class returned; then ask WithoutFields whether the event is delivered.
func (f *Filter) Fields(kind uint8) func(field string) bool {
	if f == nil {
		return nil
	}
	of := func(list []clause) (kept []clause) {
		for _, c := range list {
			if c.kinds == nil || c.kinds[kind>>6]&(1<<(kind&63)) != 0 {
				kept = append(kept, c)
			}
		}
		return kept
	}
	include, exclude := of(f.include), of(f.exclude)
	narrows := func(c clause) bool { return len(c.fields) > 0 }
	if !slices.ContainsFunc(include, narrows) && !slices.ContainsFunc(exclude, narrows) {
		return nil
	}
	open := slices.ContainsFunc(include, func(c clause) bool { return !narrows(c) })
	return func(field string) bool {
		names := func(c clause) bool {
			return slices.ContainsFunc(c.fields, func(g string) bool { return Glob(g, field) })
		}
		return (open || slices.ContainsFunc(include, names)) && !slices.ContainsFunc(exclude, names)
	}
}

// WithoutFields returns the filter without its conditions on fields: for an event of which a wanted field is left.
// Excludes that name fields took their part by removing fields and no longer exclude whole events.
func (f *Filter) WithoutFields() *Filter {
	if f == nil {
		return nil
	}
	include := slices.Clone(f.include)
	for i := range include {
		include[i].fields = nil
	}
	var exclude []clause
	for _, c := range f.exclude {
		if len(c.fields) == 0 {
			exclude = append(exclude, c)
		}
	}
	return newFilter(include, exclude)
}

// newFilter derives from the clauses what can be told without an event. No include clause at all includes nothing;
// Compile puts an empty one in for a request without any.
func newFilter(include, exclude []clause) *Filter {
	f := &Filter{include: include, exclude: exclude, maxTick: math.MinInt32, nothing: len(include) == 0}
	for i := range include {
		c := &include[i]
		f.maxTick = max(f.maxTick, c.max)
		for w := range f.kinds {
			if c.kinds == nil {
				f.kinds[w] = ^uint64(0)
			} else {
				f.kinds[w] |= c.kinds[w]
			}
		}
	}
	for i := range exclude {
		c := &exclude[i]
		unconditional := len(c.players)+len(c.teams)+len(c.groups)+len(c.layers)+len(c.classes)+len(c.fields) == 0 &&
			c.min == math.MinInt32 && c.max == math.MaxInt32
		if !unconditional {
			continue
		}
		for w := range f.kinds {
			if c.kinds == nil {
				f.kinds[w] = 0
			} else {
				f.kinds[w] &^= c.kinds[w]
			}
		}
	}
	f.nothing = f.nothing || f.kinds == [4]uint64{}
	return f
}

// Glob tells whether name matches the pattern, in which * stands for any run of characters, also an empty one, and ?
// for one character. All other characters stand for themselves; upper and lower case differ.
func Glob(pattern, name string) bool {
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0: // give the last star one character more
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
