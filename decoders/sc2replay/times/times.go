// Package times knows how long StarCraft II's units, structures and upgrades take to be made, which replays do not contain.
// times.txt has the times; docs/formats/sc2replay.md describes it.
package times

import (
	_ "embed" // the times
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed times.txt
var embedded string

// loopsPerSecond is the number of gameloops in a real second at the speed Faster, the unit of the times.
const loopsPerSecond = 22.4

// maxSeconds bounds a time. The longest is 179 s.
const maxSeconds = 3600

// Set is a collection of times. It does not change and is safe for concurrent use.
type Set struct {
	byName map[string][]since
}

// since is a time that holds from a build on.
type since struct{ build, seconds int }

// Default returns the embedded times.
var Default = sync.OnceValue(func() *Set {
	s, err := Parse()
	if err != nil {
		panic(err) //nolint:forbidigo // as regexp.MustCompile: the text is embedded, and a test parses it
	}
	return s
})

// Parse returns the embedded times with those of further texts of the same format. A pair of a later text replaces one of the same
// name and build. Errors have the line.
func Parse(more ...string) (*Set, error) {
	s := &Set{byName: map[string][]since{}}
	for _, text := range append([]string{embedded}, more...) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			if err := s.add(strings.Fields(line)); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	return s, nil
}

// add adds a line's times.
func (s *Set) add(words []string) error {
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	name, pairs := words[0], words[1:]
	if len(pairs) == 0 || len(pairs)%2 != 0 {
		return fmt.Errorf("%s: want pairs of a build and seconds", name)
	}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		build, err := strconv.Atoi(pairs[0])
		if err != nil || build <= 0 {
			return fmt.Errorf("%s: %q is no build", name, pairs[0])
		}
		seconds, err := strconv.Atoi(pairs[1])
		if err != nil || seconds <= 0 || seconds > maxSeconds {
			return fmt.Errorf("%s: %q is no time of 1 to %d seconds", name, pairs[1], maxSeconds)
		}
		list := s.byName[name]
		at, found := slices.BinarySearchFunc(list, build, func(t since, build int) int { return t.build - build })
		if found {
			list[at].seconds = seconds
			continue
		}
		s.byName[name] = slices.Insert(list, at, since{build, seconds})
	}
	return nil
}

// Loops returns the number of gameloops, to half a second, that a thing takes to be made in a build. ok is false if it is not
// known.
func (s *Set) Loops(name []byte, build uint32) (loops int32, ok bool) {
	for _, t := range s.byName[string(name)] {
		if uint32(t.build) > build {
			break
		}
		loops, ok = int32(float64(t.seconds)*loopsPerSecond+0.5), true
	}
	return loops, ok
}
