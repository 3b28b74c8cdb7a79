package protocol

import "slices"

// Match says how a table was found for a base build.
type Match uint8

// The ways of finding a table, best first.
const (
	Exact   Match = iota + 1 // the build has this table
	Alias                    // the build is known to share this table
	Overlay                  // a table that was never published, pieced together from two neighbours
	Nearest                  // nothing is known of the build: the nearest older table, or the oldest of all
	Fitted                   // as Nearest, but that one did not fit the data and this one does
)

// String returns the match's name.
func (m Match) String() string {
	if m >= Exact && m <= Fitted {
		return [...]string{"exact", "alias", "overlay", "nearest", "fitted"}[m-1]
	}
	return "none"
}

// Select returns the base build whose table is to be tried first for a replay of the given base build.
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

// Neighbours returns the tables to try after Select's for a build that has none of its own, nearest first: the next newer
// one, then alternately older and newer ones, at most n.
func (s *Set) Neighbours(baseBuild, n int) []int {
	i, _ := slices.BinarySearch(s.builds, baseBuild)
	older, newer := i-2, i // i-1 is what Select returned
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

// Builds returns the base builds that have a published table, ascending.
func (s *Set) Builds() []int { return slices.Clone(s.builds) }
