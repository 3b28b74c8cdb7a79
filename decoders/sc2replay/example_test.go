package sc2replay_test

import (
	"fmt"
	"os"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/sc2replay"
)

func Example() {
	r, err := os.Open("../../testdata/sc2replay/5.0.SC2Replay")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	// Open reads the header, the map and the players. No event stream is decompressed yet.
	replay, err := sc2replay.Open(r, info.Size())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range replay.Players {
		if p := &replay.Players[i]; len(p.Race) > 0 { // not an observer
			fmt.Printf("%s plays %s\n", p.Ref.Name, p.Race)
		}
	}
	for ev, err := range decoders.All(replay.Events(sc2replay.Options{})) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if ev.Kind == sc2replay.KindCmd && len(ev.Cmd.Abil.Name) > 0 {
			fmt.Printf("gameloop %d: %s: %s\n", ev.AtTick, ev.Player.Name, ev.Cmd.Abil.Name)
		}
	}
	// Output:
	// Alice plays Terran
	// Bob plays Zerg
	// gameloop 12: Alice: Patrol
}
