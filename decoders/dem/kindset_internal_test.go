package dem

import "testing"

// TestKindSet: a set tells each of the 256 kinds that a Kind can be from the others.
func TestKindSet(t *testing.T) {
	for k := range 256 {
		s := setOf(Kind(k))
		for o := range 256 {
			if other := setOf(Kind(o)); s.has(Kind(o)) != (o == k) || s.meets(&other) != (o == k) {
				t.Fatalf("the set of %d: has and meets of %d are %v, %v", k, o, s.has(Kind(o)), s.meets(&other))
			}
		}
	}
	if allKinds.has(KindNone) || !allKinds.has(KindCount-1) || allKinds.has(KindCount) {
		t.Error("all kinds are not from the first to the last")
	}
}
