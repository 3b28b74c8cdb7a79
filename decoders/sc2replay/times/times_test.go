package times_test

import (
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/sc2replay/times"
)

func TestLoops(t *testing.T) {
	ours, err := times.Parse("# ours\n\nNova 100000 2 99000 1\n", "Stalker 93272 28\nNova 100000 3")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		set   *times.Set
		name  string
		build uint32
		loops int32
		ok    bool
	}{
		{times.Default(), "SCV", 97563, 269, true}, // 12 s
		{times.Default(), "SCV", 89719, 0, false},
		{times.Default(), "Stalker", 93271, 672, true}, // 30 s
		{times.Default(), "Stalker", 93272, 605, true}, // 27 s
		{times.Default(), "Stalker", 1 << 31, 605, true},
		{times.Default(), "Nova", 97563, 0, false},
		{ours, "Stalker", 93272, 627, true}, {ours, "Stalker", 93271, 672, true},
		{ours, "Nova", 98999, 0, false}, {ours, "Nova", 99999, 22, true}, {ours, "Nova", 100000, 67, true},
	} {
		if loops, ok := tt.set.Loops([]byte(tt.name), tt.build); loops != tt.loops || ok != tt.ok {
			t.Errorf("%s in %d: %d, %v, want %d, %v", tt.name, tt.build, loops, ok, tt.loops, tt.ok)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"SCV": "line 1: SCV: want pairs", "SCV 1": "want pairs", "\nSCV x 1": `line 2: SCV: "x" is no build`, "SCV 0 1": "is no build",
		"SCV 1 0": "is no time", "SCV 1 x": "is no time", "SCV 1 3601": "is no time", "SCV 1 1 2": "want pairs",
	} {
		if _, err := times.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
