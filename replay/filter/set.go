package filter

import "slices"

// smallNumbers is the number of numbers, from 0, for which a set has bits. Players and teams are among them.
const smallNumbers = 128

// set is a set of numbers. A look-up takes the same time however many numbers there are.
type set struct {
	any   bool // the condition is absent: every event meets it, also an event without a number
	small [smallNumbers / 64]uint64
	large []int32 // sorted
}

// setOf returns the set of the numbers. An empty list stands for all numbers.
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

// namesOf returns the set of the names. An empty list stands for all names.
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
