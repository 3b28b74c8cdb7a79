package filter

import "slices"

// smallNumbers is how many numbers, from 0 on, a set has bits for: players and teams are below it.
const smallNumbers = 128

// set is a set of numbers, in which looking a number up takes the same time however many there are.
type set struct {
	any   bool // the condition is absent: every event meets it, also one without a number
	small [smallNumbers / 64]uint64
	large []int32 // sorted
}

// setOf returns the set of the numbers, and the set of all for none.
func setOf(numbers []int32) set {
	s := set{any: len(numbers) == 0}
	for _, n := range numbers {
		switch {
		case uint32(n) < smallNumbers:
			s.small[n>>6] |= 1 << (n & 63)
		case n != None:
			s.large = append(s.large, n)
		}
	}
	slices.Sort(s.large)
	return s
}

func (s *set) has(n int32) bool {
	if uint32(n) < smallNumbers {
		return s.small[n>>6]&(1<<(n&63)) != 0
	}
	if len(s.large) == 0 {
		return false
	}
	_, found := slices.BinarySearch(s.large, n)
	return found
}

func (s *set) hasEither(n *[2]int32) bool { return s.has(n[0]) || n[1] != None && s.has(n[1]) }

// names is a set of exact names.
type names struct {
	any bool // the condition is absent: every name meets it
	set map[string]struct{}
}

// namesOf returns the set of the names, and the set of all for an empty list.
func namesOf(list []string) names {
	n := names{any: len(list) == 0, set: make(map[string]struct{}, len(list))}
	for _, name := range list {
		n.set[name] = struct{}{}
	}
	return n
}

func (n *names) has(name []byte) bool {
	_, ok := n.set[string(name)]
	return ok
}
