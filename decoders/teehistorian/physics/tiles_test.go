package physics_test

import "testing"

// TestTiles plays games of real servers with six bots, or more, who wander through rooms full of tiles of a kind, and meet from crowd on. Each tick is proven. The games
// and maps are made by e2e/record, as the scenario rooms; chaos is a game of our own bots, too.
func TestTiles(t *testing.T) {
	for _, test := range []struct{ room, tiles string }{
		{"stop", "stoppers of one way, two and four, turned, in both layers"},
		{"speed", "speedups of all angles, with and without a largest speed"},
		{"tele", "teleporters with one to three exits, evil ones, checkpoints"},
		{"freeze", "freeze, deep, live, their opposites, freeze of the switch layer, death"},
		{"jumps", "refills, jumps from walls, numbers of jumps, unlimited ones, endless hooks"},
		{"hook", "walls that hooks pass, also one way, and what stops them, teleporters of hooks"},
		{"tune", "zones of tuning"},
		{"crowd", "solo, collision and hooking, off and on, hammers, watching, dying and leaving"},
		{"arms", "grenades, shotguns, lasers, hammers and jetpacks, also of those who hit nobody or are frozen"},
		{"ninja", "ninjas, and shields, which take weapons"},
		{"chaos", "twenty bots in the crowd's room, who hammer one another, change teams, leave and come back"},
		{"brawl", "fourteen who hammer and shoot, also deep frozen, solo and dying"},
	} {
		t.Run(test.room, func(t *testing.T) {
			g := room(t, test.room)
			marks, broken := count(g.play())
			if marks[0] < 4000 || marks[1]+marks[2] != 0 {
				t.Errorf("%s: %d ticks are proven, %d corrected (%d without a cause), %d unknown", test.tiles, marks[0], marks[1], broken, marks[2])
			}
		})
	}
}

// TestMelee plays games of a DDNet 20.1.1 in which ten or more bots meet in rooms of other seeds, with all weapons. Most end soon after
// something of which a rule that is almost right makes a deviation.
func TestMelee(t *testing.T) {
	for name, what := range map[string]string{
		"alone":  "a server where all are solo, who turn the switches back as they die",
		"beside": "a stopper of one way, beside which nothing is",
		"boost":  "speedups of the second kind",
		"brawl":  "sixteen who hit one another",
		"corner": "a hook that grazes the corner of a teleporter's tile",
		"dead":   "a client who wants to pause while its character is dead",
		"deaths": "twelve who come near to what kills",
		"doors":  "doors of all directions, freezes with numbers, all kinds of switches",
		"held":   "a speedup next to a stopper",
		"jumps":  "jumps of all numbers, and others to jump from",
		"mix":    "tiles of all kinds",
		"ninja":  "swords for longer than they last",
		"paused": "a client who pauses and moves in the tick in which its character appears",
		"shield": "weapons and shields that are near one another, swords and shields in the first seconds",
		"spared": "mirrored stoppers, and a ninja near somebody, while somebody else far away is solo",
		"spawn":  "a teleporter that leads beside a spawn, as somebody stands there",
		"step":   "a hook whose way is by its least digit a step longer",
		"still":  "a ninja who comes through a speedup",
	} {
		t.Run(name, func(t *testing.T) {
			const dir = "testdata/melee/"
			marks, _ := count(open(t, dir+name+".teehistorian.gz", dir+name+".map").play())
			if marks[0] < 50 || marks[1]+marks[2] != 0 {
				t.Errorf("%s: proven, corrected and unknown are %v", what, marks)
			}
		})
	}
}

// room returns a game with its map, which may be that of another game.
func room(t testing.TB, name string) *game {
	const dir = "testdata/rooms/"
	g := open(t, dir+name+".teehistorian.gz", "")
	g.tiles = openMap(t, dir+g.header.MapName+".map")
	return g
}
