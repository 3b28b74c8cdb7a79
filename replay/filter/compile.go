package filter

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/internal/nearest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// These limits bound the work that one request can cause. Each event is matched against the clauses of both lists; the values of
// a clause take memory; each new name is matched against all patterns of the request that have a wildcard.
const (
	maxClauses       = 64
	maxValues        = 1024
	maxGlobs         = 256
	maxPatternLength = 256 // bytes
)

const (
	minTick = math.MinInt32
	maxTick = math.MaxInt32
)

// FieldError is the error of an invalid field in a request.
type FieldError struct {
	// Field is the field's path in the request, such as "include[1].kinds[0]".
	Field string
	// Problem is a sentence for the caller.
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Compile compiles the filters of a request for a format. It returns a nil Filter if every event is delivered. It returns a
// *FieldError for an invalid filter, for an exclude filter that names only kinds that describe a state, and if no include filter can
// match any event of the format.
func Compile(format *Format, include, exclude []*replaydv1.EventFilter) (*Filter, error) {
	return compileEvents(format, include, exclude, false)
}

// CompileWithState compiles the filters of a request for a stream that begins with a state. events is as Compile returns it, except
// that include filters may name only kinds that describe a state, because the state goes by their other conditions. state is for
// events that describe a state: see compileState.
func CompileWithState(format *Format, include, exclude []*replaydv1.EventFilter) (events, state *Filter, err error) {
	if events, err = compileEvents(format, include, exclude, true); err != nil {
		return nil, nil, err
	}
	state, err = compileState(format, include, exclude)
	return events, state, err
}

func compileEvents(format *Format, include, exclude []*replaydv1.EventFilter, state bool) (*Filter, error) {
	f, err := compile(format, include, exclude)
	if f == nil || err != nil {
		return nil, err
	}
	f.state = state
	if err := f.Check(format, nil); err != nil {
		return nil, err
	}
	if err := f.checkExcludes(format); err != nil {
		return nil, err
	}
	f.foresee(format)
	return f, nil
}

// WithFacts returns the filter that delivers every event and every fact, but none that needs the map of the game.
func WithFacts(format *Format) (*Filter, error) {
	facts := &replaydv1.EventFilter{}
	for _, kind := range format.Kinds {
		if kind.Fact && !kind.Map {
			facts.Kinds = append(facts.Kinds, kind.Name)
		}
	}
	return Compile(format, []*replaydv1.EventFilter{{}, facts}, nil)
}

// compileState compiles the filters of a request, which compileEvents has accepted, for events that describe a state. Conditions on
// kinds, types and ticks do not apply to a state: include filters lose them, and exclude filters that have them are left out. It
// returns nil if no filters remain.
func compileState(format *Format, include, exclude []*replaydv1.EventFilter) (*Filter, error) {
	conditional := func(f *replaydv1.EventFilter) bool {
		return len(f.GetKinds()) > 0 || len(f.GetDem().GetTypes()) > 0 || f.GetTicks() != nil
	}
	f, err := compile(format, timeless(include), timeless(slices.DeleteFunc(slices.Clone(exclude), conditional)))
	if f == nil || err != nil {
		return nil, err
	}
	f.foresee(nil)
	return f, nil
}

// timeless returns copies of filters without their conditions on kinds, types and ticks.
func timeless(filters []*replaydv1.EventFilter) []*replaydv1.EventFilter {
	all := make([]*replaydv1.EventFilter, 0, len(filters))
	for _, f := range filters {
		f = proto.CloneOf(f)
		f.Kinds, f.Ticks = nil, nil
		if f.GetDem() != nil {
			f.Dem.Types = nil
		}
		all = append(all, f)
	}
	return all
}

// compile compiles both lists of filters. It does not check that an event can match them. It returns nil for empty lists.
func compile(format *Format, include, exclude []*replaydv1.EventFilter) (*Filter, error) {
	if len(include) == 0 && len(exclude) == 0 {
		return nil, nil
	}
	if len(include) == 0 {
		include = []*replaydv1.EventFilter{{}} // an empty filter, which matches every event
	}
	f := &Filter{includes: make([]uint64, len(format.Kinds)), excludes: make([]uint64, len(format.Kinds)), named: make([]bool, len(format.Kinds)), maxTick: minTick}
	c := compiler{format: format, globs: maxGlobs}
	var err error
	if f.include, err = c.list("include", include, f.includes); err != nil {
		return nil, err
	}
	for i := range f.include {
		for k := range f.includes {
			f.named[k] = f.named[k] || len(f.include[i].kinds) > 0 && f.includes[k]&(1<<i) != 0
		}
	}
	if f.exclude, err = c.list("exclude", exclude, f.excludes); err != nil {
		return nil, err
	}
	f.includable = slices.Clone(f.includes)
	for k, kind := range format.Kinds {
		f.facts = f.facts || kind.Fact && f.includes[k] != 0
		f.samples = f.samples || kind.Sample && f.includes[k] != 0
		f.mapped = f.mapped || kind.Map && f.includes[k] != 0
	}
	return f, nil
}

type compiler struct {
	format *Format
	globs  int // the number of patterns with a wildcard that are still allowed
}

// list compiles a list of filters. In byKind it sets, for each kind, the bits of the clauses that may match events of the kind.
func (c *compiler) list(name string, filters []*replaydv1.EventFilter, byKind []uint64) ([]clause, error) {
	if len(filters) > maxClauses {
		return nil, &FieldError{name, fmt.Sprintf("has %d filters; at most %d are allowed", len(filters), maxClauses)}
	}
	clauses := make([]clause, 0, len(filters))
	for i, f := range filters {
		compiled, kinds, err := c.clause(fmt.Sprintf("%s[%d]", name, i), f, name == "exclude")
		if err != nil {
			return nil, err
		}
		for _, k := range kinds {
			byKind[k] |= 1 << i
		}
		clauses = append(clauses, compiled)
	}
	return clauses, nil
}

// clause compiles a filter. It also returns the kinds whose events it can match. An exclude filter that names no kind also
// matches facts and samples; an include filter does not.
func (c *compiler) clause(path string, f *replaydv1.EventFilter, exclude bool) (out clause, kinds []int, err error) {
	n := len(f.GetKinds())
	for p := range conditions {
		n += conditions[p].values(f)
	}
	if n > maxValues {
		return out, nil, &FieldError{path, fmt.Sprintf("has %d values; at most %d are allowed", n, maxValues)}
	}
	if err := c.patterns(path, f); err != nil {
		return out, nil, err
	}
	out = clause{path: path, never: c.unreachable(path, f), kinds: f.GetKinds(), lacks: map[Property]int{}, min: minTick, max: maxTick, every: 1, sampled: 1}
	out.format = c.format
	for p := range propertyCount {
		out.compile(p, f)
	}
	if t := f.GetTicks(); t != nil {
		if t.Min != nil {
			out.min = t.GetMin()
		}
		if t.Max != nil {
			out.max = t.GetMax()
		}
		if out.min > out.max {
			return out, nil, &FieldError{path + ".ticks", fmt.Sprintf("min %d is after max %d", out.min, out.max)}
		}
	}
	asked, err := c.kinds(path, f.GetKinds(), exclude)
	if err != nil {
		return out, nil, err
	}
	if err := c.interval(&out, f.GetTicks(), asked, exclude); err != nil {
		return out, nil, err
	}
	out.always = out.asksOnly(Classes, Fields)
	if err := c.types(path, f.GetDem().GetTypes(), asked); err != nil {
		return out, nil, err
	}
	for _, k := range asked {
		lacking := out.asked &^ c.format.Kinds[k].Has
		for _, p := range lacking.All() {
			out.lacks[p]++
		}
		possible := out.types.any || slices.ContainsFunc(f.GetDem().GetTypes(), c.format.Kinds[k].may)
		if out.never == nil && lacking == 0 && possible && (!c.format.Timeless || out.min <= 0 && out.max >= 0) {
			kinds = append(kinds, k)
		}
	}
	return out, kinds, nil
}

// interval sets the numbers of which an event's tick must be a multiple. A filter of include that asks for samples without an
// interval gets one sample each SampleTicks.
func (c *compiler) interval(out *clause, t *replaydv1.TickRange, asked []int, exclude bool) error {
	switch {
	case t != nil && t.Every != nil && t.GetEvery() < 1:
		return &FieldError{out.path + ".ticks", fmt.Sprintf("every is %d, and must be at least 1", t.GetEvery())}
	case t != nil && t.Every != nil:
		out.every, out.sampled = t.GetEvery(), t.GetEvery()
	case !exclude && slices.ContainsFunc(asked, func(k int) bool { return c.format.Kinds[k].Sample }):
		out.sampled = c.format.SampleTicks
	}
	return nil
}

// unreachable returns an error if no event can have any of the numbers that a filter asks for.
func (c *compiler) unreachable(path string, f *replaydv1.EventFilter) *FieldError {
	for p := range numeric {
		least, ok := c.format.Least[p]
		if list := conditions[p].numbers(f); ok && len(list) > 0 && slices.Max(list) < least {
			return &FieldError{
				fmt.Sprintf("%s.%s[0]", path, p.Path()),
				fmt.Sprintf("no event of a %s has %d there: the numbers of %v begin with %d", c.format.Name, list[0], p, least),
			}
		}
	}
	return nil
}

// patterns checks a filter's patterns.
func (c *compiler) patterns(path string, f *replaydv1.EventFilter) error {
	for p := range propertyCount {
		if conditions[p].names == nil {
			continue
		}
		for i, pattern := range conditions[p].names(f) {
			if len(pattern) > maxPatternLength {
				return &FieldError{
					fmt.Sprintf("%s.%s[%d]", path, p.Path(), i),
					fmt.Sprintf("has %d bytes; at most %d are allowed", len(pattern), maxPatternLength),
				}
			}
			if conditions[p].patterns == nil {
				continue
			}
			if pattern == "" {
				return &FieldError{fmt.Sprintf("%s.%s[%d]", path, p.Path(), i), "is empty, and no name is; * matches every name"}
			}
			if isGlob(pattern) {
				c.globs--
			}
		}
		if c.globs < 0 {
			return &FieldError{
				fmt.Sprintf("%s.%s", path, p.Path()),
				fmt.Sprintf("a request may have %d patterns with a wildcard in all of its filters", maxGlobs),
			}
		}
	}
	return nil
}

// kinds returns the numbers of the named kinds. Without names it returns the numbers of all kinds, facts and samples only if all
// is true.
func (c *compiler) kinds(path string, names []string, all bool) (kinds []int, err error) {
	for i, name := range names {
		k := c.format.kind(name)
		if k == 0 {
			return nil, &FieldError{
				fmt.Sprintf("%s.kinds[%d]", path, i),
				fmt.Sprintf("unknown kind %q%s; the kinds are: %s", name, nearest.Hint(name, c.format.Names()...), strings.Join(c.format.Names(), ", ")),
			}
		}
		kinds = append(kinds, k)
	}
	if len(names) == 0 {
		for k, kind := range c.format.Kinds {
			if k > 0 && (all || !kind.Fact && !kind.Sample) {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds, nil
}

// types refuses a type that no event of the kinds can have. If none of the kinds has types, Check reports that.
func (c *compiler) types(path string, types []string, kinds []int) error {
	typed := slices.DeleteFunc(slices.Clone(kinds), func(k int) bool { return !c.format.Kinds[k].Has.Has(Types) })
	for i, typ := range types {
		if len(typed) == 0 || slices.ContainsFunc(typed, func(k int) bool { return c.format.Kinds[k].may(typ) }) {
			continue
		}
		var known []string
		for _, k := range typed {
			known = append(known, c.format.Kinds[k].Types()...)
		}
		return &FieldError{
			fmt.Sprintf("%s.dem.types[%d]", path, i),
			fmt.Sprintf("unknown type %q; the types of these kinds are: %s", typ, strings.Join(known, ", ")),
		}
	}
	return nil
}

// Check returns a *FieldError if no include clause can match an event of a replay that has no events of the absent kinds. A nil
// absent means that all kinds of the format may occur. Kinds that describe a state count only for a stream that begins with one.
func (f *Filter) Check(format *Format, absent func(kind uint8) bool) error {
	if f == nil {
		return nil
	}
	for k, clauses := range f.includable {
		if clauses != 0 && (absent == nil || !absent(uint8(k))) && (f.state || !format.Kinds[k].State) {
			return nil
		}
	}
	// The first clause's problem is reported, although the other clauses have one, too.
	c := &f.include[0]
	if c.never != nil {
		return c.never
	}
	for p := range propertyCount {
		if c.lacks[p] == 0 {
			continue
		}
		have := format.has(p)
		if len(have) == 0 {
			return &FieldError{c.path + "." + p.Path(), fmt.Sprintf("no event of a %s has %v", format.Name, p)}
		}
		if len(c.kinds) == 0 {
			continue
		}
		return &FieldError{
			c.path + "." + p.Path(),
			fmt.Sprintf("events of kind %s have no %v; those of these kinds do: %s", strings.Join(c.kinds, ", "), p, strings.Join(have, ", ")),
		}
	}
	switch {
	case format.Timeless && (c.min > 0 || c.max < 0):
		return &FieldError{c.path + ".ticks", fmt.Sprintf("all events of a %s are at tick 0", format.Name)}
	case !f.state && format.onlyState(c.kinds):
		return &FieldError{c.path + ".kinds", fmt.Sprintf("%s only describes a state: the request lacks start.with_state", strings.Join(c.kinds, ", "))}
	case len(c.kinds) > 0 && c.lacking() == 0:
		return &FieldError{c.path + ".kinds", fmt.Sprintf("this %s has no events of kind %s", format.Name, strings.Join(c.kinds, ", "))}
	}
	return &FieldError{c.path, fmt.Sprintf("no event of a %s can meet all of its conditions", format.Name)}
}

// checkExcludes returns a *FieldError for an exclude clause that names only kinds that describe a state, because it would remove
// nothing.
func (f *Filter) checkExcludes(format *Format) error {
	for i := range f.exclude {
		if c := &f.exclude[i]; format.onlyState(c.kinds) {
			return &FieldError{c.path + ".kinds", fmt.Sprintf(
				"%s only describes a state, from which exclude filters with kinds remove nothing", strings.Join(c.kinds, ", "))}
		}
	}
	return nil
}

// onlyState reports whether all of the named kinds, and at least one, describe a state.
func (f *Format) onlyState(kinds []string) bool {
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(name string) bool { return !f.Kinds[f.kind(name)].State })
}

func (c *clause) lacking() (n int) {
	for _, kinds := range c.lacks {
		n += kinds
	}
	return n
}

// foresee computes what the clauses alone decide, without an event. format is nil for events that describe a state.
func (f *Filter) foresee(format *Format) {
	for i := range f.include {
		c := &f.include[i]
		f.maxTick = max(f.maxTick, c.max)
		if !c.fields.any {
			f.narrowIn |= 1 << i
		}
	}
	for i := range f.exclude {
		c := &f.exclude[i]
		if !c.fields.any {
			f.narrowEx |= 1 << i
		}
		if !c.asksOnly() {
			continue
		}
		for k := range f.includes { // no event of these kinds is delivered
			if f.excludes[k]&(1<<i) != 0 {
				f.includes[k] = 0
			}
		}
	}
	f.nothing = true
	f.whole = make([]bool, len(f.includes))
	for k, clauses := range f.includes {
		f.nothing = f.nothing && (clauses == 0 || format != nil && format.Kinds[k].State)
		for i := range f.include {
			f.whole[k] = f.whole[k] || clauses&(1<<i) != 0 && f.include[i].asksOnly() && f.excludes[k] == 0
		}
	}
}
