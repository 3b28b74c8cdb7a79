package share_test

import (
	"testing"

	"github.com/replayd/replayd/decoders/dem/internal/share"
)

// TestRecent: the value that was not used for the longest time goes first, and a key that is kept again takes no other place.
func TestRecent(t *testing.T) {
	var r share.Recent[string, int]
	r.Put("a", 1, 2)
	r.Put("b", 2, 2)
	r.Put("a", 3, 2)
	r.Put("c", 4, 2)
	for key, want := range map[string]int{"a": 3, "b": 0, "c": 4} {
		if got, ok := r.Get(key); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, %v", key, got, ok)
		}
	}
	r.Get("a")
	r.Put("d", 5, 2)
	if _, ok := r.Get("c"); ok || r.Len() != 2 {
		t.Errorf("%d are kept, c too: %v", r.Len(), ok)
	}
}
