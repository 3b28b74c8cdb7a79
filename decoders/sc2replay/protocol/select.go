package protocol

import "slices"

// Match describes how a table was found for a base build.
type Match uint8

// The kinds of matches, best first.
const (
	Exact   Match = iota + 1 // the build has this table
	Alias                    // the build is known to share this table
	Overlay                  // an unpublished table, combined from two neighbours
	Nearest                  // the build is unknown: the nearest older table, or the oldest of all
	Fitted                   // like Nearest, but chosen because it fits the data
)

// String returns the match's name.
func (m Match) String() string {
	if m >= Exact && m <= Fitted {
		return [...]string{"exact", "alias", "overlay", "nearest", "fitted"}[m-1]
	}
	return "none"
}

// Select returns the base build whose table to try first for a replay of the given base build.
func (s *Set) Select(baseBuild int) (build int, m Match) {
	if _, ok := slices.BinarySearch(s.builds, baseBuild); ok {
		return baseBuild, Exact
	}
	if table, ok := s.aliases[baseBuild]; ok {
		return table, Alias
	}
	if _, ok := s.overlays[baseBuild]; ok {
		return baseBuild, Overlay
	}
	i, _ := slices.BinarySearch(s.builds, baseBuild)
	return s.builds[max(i-1, 0)], Nearest
}

// Neighbours returns the tables to try after Select's for a build without its own table, nearest first. It begins with the next
// newer table, then alternates between older and newer ones. It returns at most n.
func (s *Set) Neighbours(baseBuild, n int) []int {
	i, _ := slices.BinarySearch(s.builds, baseBuild)
	older, newer := i-2, i // Select returned i-1
	if i == 0 {
		newer = 1
	}
	var out []int
	for len(out) < n && (older >= 0 || newer < len(s.builds)) {
		if newer < len(s.builds) {
			out = append(out, s.builds[newer])
			newer++
		}
		if older >= 0 && len(out) < n {
			out = append(out, s.builds[older])
			older--
		}
	}
	return out
}

// Builds returns the base builds with a published table, in ascending order.
func (s *Set) Builds() []int { return slices.Clone(s.builds) }
