package filter

import (
	"fmt"
	"math"
	"slices"
	"strings"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// maxClauses and maxValues bound what one request can make the daemon check for every event.
const (
	maxClauses = 64
	maxValues  = 1024
)

// FieldError says which field of a request is wrong.
type FieldError struct {
	// Field is the path from the request, such as "include[1].kinds[0]".
	Field string
	// Problem is a sentence for the caller.
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Compile compiles the filters of a request for a format with those kinds; a kind's number is its index. It returns nil
// when everything is delivered, and a *FieldError for a filter that makes no sense.
func Compile(kinds []string, include, exclude []*replaydv1.EventFilter) (*Filter, error) {
	if len(include) == 0 && len(exclude) == 0 {
		return nil, nil
	}
	in, err := compileList("include", kinds, include)
	if err != nil {
		return nil, err
	}
	ex, err := compileList("exclude", kinds, exclude)
	if err != nil {
		return nil, err
	}
	if len(in) == 0 {
		in = []clause{{min: math.MinInt32, max: math.MaxInt32}}
	}
	return newFilter(in, ex), nil
}

func compileList(list string, kinds []string, filters []*replaydv1.EventFilter) ([]clause, error) {
	if len(filters) > maxClauses {
		return nil, &FieldError{list, fmt.Sprintf("has %d filters; at most %d are allowed", len(filters), maxClauses)}
	}
	clauses := make([]clause, 0, len(filters))
	for i, f := range filters {
		c, err := compileClause(fmt.Sprintf("%s[%d]", list, i), kinds, f)
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, c)
	}
	return clauses, nil
}

func compileClause(path string, kinds []string, f *replaydv1.EventFilter) (clause, error) {
	c := clause{
		players: f.GetPlayers(), teams: f.GetTeams(), groups: f.GetGroups(), layers: f.GetLayers(),
		classes: f.GetClasses(), fields: f.GetFields(), min: math.MinInt32, max: math.MaxInt32,
	}
	n := len(f.GetKinds()) + len(c.players) + len(c.teams) + len(c.groups) + len(c.layers) + len(c.classes) + len(c.fields)
	if n > maxValues {
		return c, &FieldError{path, fmt.Sprintf("has %d values; at most %d are allowed", n, maxValues)}
	}
	if len(f.GetKinds()) > 0 {
		c.kinds = new([4]uint64)
	}
	for i, name := range f.GetKinds() {
		k := slices.Index(kinds, name)
		if k <= 0 {
			return c, &FieldError{
				fmt.Sprintf("%s.kinds[%d]", path, i),
				fmt.Sprintf("unknown kind %q; the kinds are: %s", name, strings.Join(kinds[1:], ", ")),
			}
		}
		c.kinds[k>>6] |= 1 << (k & 63)
	}
	if t := f.GetTicks(); t != nil {
		if t.Min != nil {
			c.min = t.GetMin()
		}
		if t.Max != nil {
			c.max = t.GetMax()
		}
		if c.min > c.max {
			return c, &FieldError{path + ".ticks", fmt.Sprintf("min %d is after max %d", c.min, c.max)}
		}
	}
	return c, nil
}
