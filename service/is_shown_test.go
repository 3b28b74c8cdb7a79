package service

import (
	"testing"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/index"
)

// TestIsShown: only what the first list has, at this size or a larger one, is not sent again as added.
func TestIsShown(t *testing.T) {
	entry := func(size int64, identity string) *index.Entry {
		return &index.Entry{Info: source.Info{Size: size}, Facts: index.Facts{Identity: identity}}
	}
	for what, test := range map[string]struct {
		shown *index.Entry
		c     index.Change
		want  bool
	}{
		"not listed":         {nil, index.Change{Kind: index.Added, Entry: entry(5, "a")}, false},
		"listed":             {entry(5, "a"), index.Change{Kind: index.Added, Entry: entry(5, "a")}, true},
		"listed when larger": {entry(9, "a"), index.Change{Kind: index.Added, Entry: entry(5, "a")}, true},
		"larger than listed": {entry(5, "a"), index.Change{Kind: index.Added, Entry: entry(9, "a")}, false},
		"another replay":     {entry(5, "b"), index.Change{Kind: index.Added, Entry: entry(5, "a")}, false},
		"grown":              {entry(9, "a"), index.Change{Kind: index.Grown, Entry: entry(5, "a")}, false},
	} {
		if got := isShown(test.shown, test.c); got != test.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}
