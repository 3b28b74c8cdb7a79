package dem

// kindSet is a set of kinds of events. It has room for every Kind.
type kindSet [256 / 64]uint64

// setOf returns the set of the given kinds.
func setOf(kinds ...Kind) (s kindSet) {
	for _, k := range kinds {
		s.add(k)
	}
	return s
}

func (s *kindSet) add(k Kind) { s[k>>6] |= 1 << (k & 63) }

func (s *kindSet) has(k Kind) bool { return s[k>>6]&(1<<(k&63)) != 0 }

// join adds the kinds of another set.
func (s *kindSet) join(o *kindSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

// covers reports whether the set has all kinds of another one.
func (s *kindSet) covers(o *kindSet) bool {
	for i := range s {
		if o[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

// meets reports whether the sets have a kind in common.
func (s *kindSet) meets(o *kindSet) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// allKinds are all kinds of events, and ownKinds those that are no facts.
var allKinds = func() (s kindSet) {
	for k := KindNone + 1; k < KindCount; k++ {
		s.add(k)
	}
	return s
}()

var ownKinds = func() (s kindSet) {
	for k := KindNone + 1; k < KindCount; k++ {
		if !factKinds.has(k) {
			s.add(k)
		}
	}
	return s
}()
