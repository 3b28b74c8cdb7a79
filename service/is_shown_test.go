package service

import (
	"testing"

	"github.com/replayd/replayd/service/index"
)

// TestIsShown: what the first list has is not sent again as added or grown; what becomes of it is. Older ones: TestWatchGrownWhileListed.
func TestIsShown(t *testing.T) {
	shown := &index.Entry{}
	for _, kind := range index.Kinds() {
		if isShown(nil, index.Change{Kind: kind, Entry: &index.Entry{}}) {
			t.Errorf("%s: a replay that is not listed", kind)
		}
		if got, want := isShown(shown, index.Change{Kind: kind, Entry: shown}), kind == index.Added || kind == index.Grown; got != want {
			t.Errorf("%s: %t", kind, got)
		}
	}
}
