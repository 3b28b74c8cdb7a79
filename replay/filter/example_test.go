package filter_test

import (
	"fmt"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
)

// A format declares what its events can be asked for, once; requests are compiled against that, and events matched.
func Example() {
	type hit struct{ player, team int32 }
	hits := filter.Table[hit]{1: {
		Player: func(h *hit) int32 { return h.player },
		Team:   func(h *hit) int32 { return h.team },
	}}
	format := &filter.Format{Name: "mylog", Kinds: hits.Describe([]string{"", "hit"})}

	f, err := filter.Compile(format, []*replaydv1.EventFilter{{Kinds: []string{"hit"}, Players: []int32{7}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range []hit{{player: 7, team: 1}, {player: 8, team: 1}} {
		event := hits.Event(1, 100, &h)
		fmt.Println(h.player, f.Match(&event))
	}
	_, err = filter.Compile(format, []*replaydv1.EventFilter{{Kinds: []string{"hot"}}}, nil)
	fmt.Println(err)
	// Output:
	// 7 true
	// 8 false
	// include[0].kinds[0]: unknown kind "hot", did you mean "hit"?; the kinds are: hit
}
