package frozen_test

import (
	"slices"
	"testing"

	"github.com/replayd/replayd/internal/frozen"
)

// TestBroken: what is renamed, changed or gone is found, and what is added is not.
func TestBroken(t *testing.T) {
	before := []string{"a int32", "b text?", "c list"}
	for what, test := range map[string]struct{ now, want []string }{
		"nothing":  {before, nil},
		"added":    {[]string{"a int32", "aa bool", "b text?", "c list", "d int32"}, nil},
		"gone":     {[]string{"a int32", "c list"}, []string{"b text?"}},
		"renamed":  {[]string{"a int32", "b2 text?", "c list"}, []string{"b text?"}},
		"nullable": {[]string{"a int32?", "b text?", "c list"}, []string{"a int32"}},
		"all":      {nil, before},
	} {
		if got := frozen.Broken(before, test.now); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}
