package dem

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

var (
	commands = flag.String("commands", "", "write a demo of Counter-Strike 2 with user commands to this file, for commands.py")
	issued   = flag.Int("issued", 100_000, "how many commands the demo of -commands has")
	lists    = flag.Bool("lists", false, "give the commands of the demo of -commands subtick moves and an input history, too")
	lost     = flag.Int("lost", 0, "of how many commands of the demo of -commands one is lost; 0 for none")
)

// pawnOfRecorder is the handle of the body of the only player of the recorded demo who is no bot.
const pawnOfRecorder = 5194032

// TestWriteCommands writes the demo of -commands: the beginning of a recorded one, which has a player and his body, and packets with
// commands of that player behind it.
func TestWriteCommands(t *testing.T) {
	if *commands == "" {
		t.Skip("no -commands")
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "dem", "demofile-net", "14160.dem"))
	if err != nil {
		t.Skip(err)
	}
	d, tick, err := demtest.Until(data, 4)
	if err != nil {
		t.Fatal(err)
	}
	all := demtest.Commands(rand.New(rand.NewPCG(7, 8)), 1, *issued)
	g := rand.New(rand.NewPCG(9, 10)) // so that the commands are the same with and without losses
	for i := range all {
		base, _ := all[i].Command[1].(demtest.Command)
		if base == nil {
			base = demtest.Command{}
		}
		base[14] = uint64(pawnOfRecorder)
		for _, always := range []int{3, 4} { // buttons and view angles, without which demoparser2 goes on with what it had before
			if base[always] == nil {
				base[always] = demtest.Command{}
			}
		}
		if !*lists {
			delete(base, 18)
			delete(all[i].Command, 2)
		}
		all[i].Command[1] = base
		all[i].Lost = *lost > 0 && g.IntN(*lost) == 0
	}
	d.Commands(tick+1, all, (&demtest.Entities{}).Message(true)) // demoparser2 has a row for each packet with entities
	if err := os.WriteFile(*commands, d.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
