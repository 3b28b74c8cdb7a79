package physics_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// put places a tile of the game layer in the row above the floor.
func put(x int, index uint8) func(m *physics.Map) {
	return func(m *physics.Map) { m.Set(physics.LayerGame, x, 29, physics.Tile{Index: index}) }
}

func nothing(*teehistorian.Input) {}

// middle returns the middle of a column of tiles.
func middle(x int32) int32 { return x*32 + 16 }

// two returns a scene with two characters that stand, and have sent a first input.
func two(t *testing.T, config map[string]string, set func(m *physics.Map), first, second int32) *scene {
	t.Helper()
	s := newScene(t, 40, config, set)
	s.step(1)
	s.appear(0, first, floor)
	s.appear(1, second, floor)
	s.step(2)
	s.input(0, func(in *teehistorian.Input) { in.WantedWeapon = 1 })
	s.input(1, nothing)
	s.step(2)
	s.input(0, nothing) // the first one did nothing
	s.step(2)
	return s
}

// TestHammer: who is hammered into a freeze is blocked, and thawed by the next hammer.
func TestHammer(t *testing.T) {
	s := two(t, nil, func(m *physics.Map) { m.Set(physics.LayerGame, 12, 28, physics.Tile{Index: 9}) }, middle(10), middle(11))
	s.input(0, func(in *teehistorian.Input) { in.Fire++ })
	s.step(10)
	s.end("8 hit 0>1 with 1 at 373,945", "12 freeze 1 by 1 at 388,911, 0 did 1 in 8", "12 block 0>1 outcome 1 by 1 in 8")

	s = two(t, nil, func(m *physics.Map) { m.Set(physics.LayerGame, 11, 27, physics.Tile{Index: 9}) }, middle(10), middle(35))
	s.appear(2, middle(11), 24*32+16)
	s.step(40)
	s.input(0, func(in *teehistorian.Input) { in.Fire++ })
	s.step(200)
	s.end("25 freeze 2 by 1 at 368,873", "48 hit 0>2 with 1 at 373,945", "48 thaw 2 since 25 by 3 of 0")
}

// shift moves a character in the present tick as no rule does.
func (s *scene) shift(id, by int32) {
	at := s.at[id]
	at[0] += by
	s.at[id], s.tampered = at, true
	s.apply(teehistorian.Event{Kind: teehistorian.KindPlayerDiff, PlayerDiff: teehistorian.PlayerDiff{ClientId: id, X: at[0], Y: at[1], Dx: by}})
}

// TestDoubted: a hit is not proven if who hit was not where the rules lead, also when it is known again how that one stands.
func TestDoubted(t *testing.T) {
	s := two(t, nil, nil, middle(10), middle(11))
	s.shift(0, 1)
	s.input(0, func(in *teehistorian.Input) { in.Fire++ })
	s.step(3)
	s.end("8 hit 0>1 with 1 at 373,945, proof 3 2")

	s = two(t, nil, put(10, 200), middle(10), middle(12))
	s.input(0, func(in *teehistorian.Input) { in.WantedWeapon = 4 })
	s.step(3)
	s.shift(0, 1)
	s.input(0, func(in *teehistorian.Input) { in.Fire, in.TargetX, in.TargetY = in.Fire+2, 1, -12 })
	s.step(1)
	s.input(0, func(in *teehistorian.Input) { in.Direction = -1 }) // to the wall, which shows how it stands
	s.step(50)
	s.input(0, func(in *teehistorian.Input) { in.Direction = 0 })
	s.step(150)
	s.end("83 hit 0>1 with 4 at 400,945, proof 3 2")
}

// TestHitDead: who dies in a tick was hit in it, too.
func TestHitDead(t *testing.T) {
	both := 0
	for wait := range 8 {
		s := two(t, nil, put(12, 2), middle(10), middle(11))
		s.input(1, func(in *teehistorian.Input) { in.Direction = 1 })
		s.step(wait)
		s.input(0, func(in *teehistorian.Input) { in.Fire++ })
		s.step(10)
		var hit, end, tick int
		for _, fact := range s.facts {
			if n, _ := fmt.Sscanf(fact, "%d hit", &tick); n == 1 && strings.Contains(fact, " hit ") {
				hit = tick
			}
			if n, _ := fmt.Sscanf(fact, "%d end", &tick); n == 1 && strings.Contains(fact, " end ") {
				end = tick
			}
		}
		if hit == end && hit > 0 {
			both++
		}
	}
	if both == 0 {
		t.Error("nobody was hit in the tick of its end")
	}
}

// TestManyBlows: of the hits of a character in a tick not all are told.
func TestManyBlows(t *testing.T) {
	const clients, most = 20, 16
	s := newScene(t, 40, nil, nil)
	s.step(1)
	for id := range int32(clients) {
		s.appear(id, middle(10), floor)
	}
	s.step(2)
	for _, fire := range []int32{0, 0, 1} { // the first one does nothing
		for id := range int32(clients) {
			s.input(id, func(in *teehistorian.Input) { in.WantedWeapon, in.Fire = 1, fire })
		}
		s.step(1)
	}
	s.apply(teehistorian.Event{Kind: teehistorian.KindFinish})
	if len(s.facts) != clients*most {
		t.Errorf("%d facts", len(s.facts))
	}
}

// TestFull: facts that nobody takes are bounded, and those that somebody takes are all there.
func TestFull(t *testing.T) {
	const clients, rounds, most = 500, 10, 1 << 12
	for _, taken := range []int{0, clients - 10} {
		s := newScene(t, 40, nil, nil)
		w, got := s.world, 0
		apply := func(ev teehistorian.Event) {
			ev.AtTick = s.tick
			w.Apply(&ev)
		}
		var fact teehistorian.Event
		for range rounds {
			s.tick++
			apply(teehistorian.Event{Kind: teehistorian.KindTick})
			for id := range int32(clients) {
				apply(teehistorian.Event{Kind: teehistorian.KindPlayerNew, PlayerNew: teehistorian.PlayerNew{ClientId: id, X: middle(10), Y: floor}})
			}
			s.tick++
			apply(teehistorian.Event{Kind: teehistorian.KindTick})
			for id := range int32(clients) {
				apply(teehistorian.Event{Kind: teehistorian.KindPlayerOld, PlayerOld: teehistorian.PlayerOld{ClientId: id}})
			}
			s.tick++
			apply(teehistorian.Event{Kind: teehistorian.KindTick})
			for range taken {
				if w.Next(&fact) {
					got++
				}
			}
			if w.Settled() {
				t.Fatal("settled before all was told")
			}
		}
		for w.Next(&fact) {
			got++
		}
		if want := clients * rounds; taken > 0 && got != want || taken == 0 && got != most {
			t.Errorf("%d facts", got)
		}
	}
}

// TestHook: whom a hook holds, from when to when; a hook into a freeze.
func TestHook(t *testing.T) {
	s := two(t, nil, put(10, 9), middle(6), middle(14))
	s.input(0, func(in *teehistorian.Input) { in.Hook = 1 })
	s.step(60)
	s.input(0, func(in *teehistorian.Input) { in.Hook = 0 })
	s.step(160)
	s.end(
		"37 freeze 1 by 1 at 348,945, 0 did 7 in 37", "37 block 0>1 outcome 1 by 7 in 37", "67 hook 0>1 since 10",
		"186 thaw 1 since 37 by 1 of -1",
	)
}

// TestFreezes: what freezes a character that falls through it, and what thaws it.
func TestFreezes(t *testing.T) {
	const gone = "152 end 0 by 0 at 336,945, proof 3 0"
	game, front, switches := physics.LayerGame, physics.LayerFront, physics.LayerSwitch
	type tile struct {
		layer physics.Layer
		row   int
		physics.Tile
	}
	for name, test := range map[string]struct {
		tiles []tile
		want  []string
	}{
		"a tile, and its time":     {[]tile{{game, 27, physics.Tile{Index: 9}}}, []string{"19 freeze 0 by 1 at 336,873", "68 thaw 0 since 19 by 1 of -1", gone}},
		"a tile, and another tile": {[]tile{{front, 26, physics.Tile{Index: 9}}, {game, 29, physics.Tile{Index: 11}}}, []string{"15 freeze 0 by 1 at 336,839", "26 thaw 0 since 15 by 2 of -1", gone}},
		"a switch":                 {[]tile{{switches, 27, physics.Tile{Index: 9, Delay: 2}}}, []string{"19 freeze 0 by 2 at 336,873", "118 thaw 0 since 19 by 1 of -1", gone}},
		"deep":                     {[]tile{{game, 27, physics.Tile{Index: 12}}, {game, 29, physics.Tile{Index: 13}}}, []string{"19 freeze 0 by 3 at 336,873", "69 thaw 0 since 19 by 1 of -1", gone}},
		"deep for good":            {[]tile{{game, 27, physics.Tile{Index: 12}}}, []string{"19 freeze 0 by 3 at 336,873", "152 thaw 0 since 19 by 5 of -1, proof 3 0", gone}},
		"live":                     {[]tile{{game, 27, physics.Tile{Index: 144}}, {game, 29, physics.Tile{Index: 145}}}, []string{"19 freeze 0 by 4 at 336,873", "26 thaw 0 since 19 by 2 of -1", gone}},
		"a heart":                  {[]tile{{game, 26, physics.Tile{Index: 198}}}, []string{"10 freeze 0 by 5 at 336,808", "58 thaw 0 since 10 by 1 of -1", gone}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 40, map[string]string{"sv_freeze_delay": "1"}, func(m *physics.Map) {
				for _, one := range test.tiles {
					m.Set(one.layer, 10, one.row, one.Tile)
				}
			})
			s.step(1)
			s.appear(0, middle(10), 24*32+16)
			s.step(150)
			s.step(1, 0)
			s.end(test.want...)
		})
	}
}

// TestShots: who shoots whom with what lies about.
func TestShots(t *testing.T) {
	for name, test := range map[string]struct {
		lies   uint8
		wanted int32
		want   []string
	}{
		"shotgun": {199, 3, []string{
			"10 hit 0>1 with 3 at 432,945", "35 hit 0>1 with 3 at 422,945", "60 hit 0>1 with 3 at 412,945", "67 freeze 0 by 1 at 176,945",
		}},
		"grenade": {200, 4, []string{
			"12 hit 0>0 with 4 at 336,945", "12 hit 0>1 with 4 at 432,945", "37 hit 0>0 with 4 at 329,945", "37 hit 0>1 with 4 at 443,945",
			"66 freeze 0 by 1 at 172,945", "67 hit 0>1 with 4 at 454,945",
		}},
		"ninja": {201, 5, []string{"11 hit 0>1 with 6 at 432,945", "12 freeze 0 by 1 at 486,945"}},
		"laser": {202, 5, []string{
			"10 hit 0>1 with 5 at 432,945", "10 thaw 1 since 2 by 4 of 0", "50 hit 0>1 with 5 at 432,945",
			"51 freeze 1 by 1 at 432,945, 0 did 5 in 50", "51 block 0>1 outcome 1 by 5 in 50", "67 freeze 0 by 1 at 176,945",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := two(t, nil, func(m *physics.Map) {
				put(10, test.lies)(m)
				put(5, 9)(m)
				put(13, 9)(m) // and who stands there is frozen
			}, middle(10), middle(13))
			s.input(0, func(in *teehistorian.Input) { in.WantedWeapon = test.wanted })
			s.step(2)
			s.input(0, func(in *teehistorian.Input) { in.Fire++ })
			s.step(40)
			s.input(0, func(in *teehistorian.Input) { in.Direction = -1 }) // into a freeze, with nobody's help
			s.step(50)
			s.end(append([]string{"2 freeze 1 by 1 at 432,945"}, test.want...)...)
		})
	}
}

// TestEnds: why characters come to their ends.
func TestEnds(t *testing.T) {
	s := newScene(t, 40, nil, put(20, 2))
	s.step(1)
	for id := range int32(7) {
		s.appear(id, middle(4+2*id), floor)
	}
	s.step(2)
	right := func(in *teehistorian.Input) { in.Direction = 1 }
	message := func(id int32, m teehistorian.Message) {
		m.ClientId = id
		s.apply(teehistorian.Event{Kind: teehistorian.KindMessage, Message: m})
	}
	message(6, teehistorian.Message{ContentCase: teehistorian.MessageContentSetTeam, SetTeam: teehistorian.SetTeam{Team: -1}}) // is refused
	s.input(6, right)                                                                                                          // into what kills
	s.step(2)
	message(0, teehistorian.Message{ContentCase: teehistorian.MessageContentKill})
	message(1, teehistorian.Message{ContentCase: teehistorian.MessageContentSetTeam, SetTeam: teehistorian.SetTeam{Team: -1}})
	message(2, teehistorian.Message{ContentCase: teehistorian.MessageContentSetTeam})
	s.apply(teehistorian.Event{Kind: teehistorian.KindDrop, Drop: teehistorian.Drop{ClientId: 3}})
	s.apply(teehistorian.Event{Kind: teehistorian.KindConsoleCommand, ConsoleCommand: teehistorian.ConsoleCommand{ClientId: 4, Flags: 128, Command: []byte("kill")}})
	s.step(1, 0, 1, 2, 3, 4)
	s.vanish(5) // for no known reason
	s.step(20)
	s.end(
		"6 end 0 by 3 at 144,945", "6 end 1 by 4 at 208,945", "6 end 2 by 0 at 272,945, proof 3 0", "6 end 3 by 5 at 336,945", "6 end 4 by 3 at 400,945",
		"6 end 5 by 0 at 464,945, proof 3 0", "17 end 6 by 1 at 638,945",
	)
}

// TestOutside: who falls out of the map dies there.
func TestOutside(t *testing.T) {
	s := newScene(t, 40, nil, nil)
	s.step(1)
	s.appear(0, middle(30), floor)
	s.step(250)
	s.end("167 end 0 by 2 at 976,7792")

	s = newScene(t, 40, nil, nil) // with somebody who holds it on the way
	s.step(1)
	s.appear(0, middle(30), floor)
	s.appear(1, middle(30), floor-60)
	s.step(80)
	s.input(1, func(in *teehistorian.Input) { in.TargetX, in.TargetY, in.Hook = 0, 1, 1 })
	s.step(200)
	s.end("141 hook 1>0 since 82", "214 end 0 by 2 at 976,7761", "214 block 1>0 outcome 2 by 7 in 141", "215 end 1 by 2 at 976,7776")
}

// TestReborn: who dies and appears anew in one tick has come to its end.
func TestReborn(t *testing.T) {
	s := newScene(t, 40, nil, nil)
	s.step(1)
	s.appear(0, middle(5), floor)
	s.step(2)
	s.apply(teehistorian.Event{Kind: teehistorian.KindMessage, Message: teehistorian.Message{ContentCase: teehistorian.MessageContentKill}})
	s.tick++
	s.apply(teehistorian.Event{Kind: teehistorian.KindTick})
	s.at[0] = [2]int32{48, 48}
	s.apply(teehistorian.Event{Kind: teehistorian.KindPlayerDiff, PlayerDiff: teehistorian.PlayerDiff{X: 48, Y: 48}})
	s.step(2)
	s.end("4 end 0 by 3 at 176,945")
}

// TestRun: a run, with and without a recorded finish, and a finish without a run.
func TestRun(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		s := newScene(t, 40, nil, func(m *physics.Map) {
			m.Set(physics.LayerGame, 10, 29, physics.Tile{Index: 33})
			m.Set(physics.LayerFront, 14, 29, physics.Tile{Index: 34})
		})
		finish := func(id int32) {
			if recorded {
				s.apply(teehistorian.Event{Kind: teehistorian.KindPlayerFinish, PlayerFinish: teehistorian.PlayerFinish{ClientId: id, Time: 10}})
			}
		}
		s.step(1)
		s.appear(0, middle(8), floor)
		s.appear(1, middle(5), floor)
		s.step(2)
		s.input(0, func(in *teehistorian.Input) { in.Direction = 1 })
		s.step(21)
		finish(0)
		s.step(10)
		finish(1)
		s.step(20)
		if recorded {
			s.end("24 run 0 since 14: 11, 0, 0, first -1, time 10", "34 run 1 since -1: 0, 0, 0, first -1, time 10, proof 3 0")
		} else {
			s.end("24 run 0 since 14: 11, 0, 0, first -1, time -1")
		}
	}
}

// TestRunUnproven: the first tick of a run that is not proven, and why.
func TestRunUnproven(t *testing.T) {
	s := newScene(t, 40, nil, func(m *physics.Map) {
		put(10, 33)(m)
		put(14, 34)(m)
	})
	s.step(1)
	s.appear(0, middle(8), floor)
	s.step(2)
	s.input(0, func(in *teehistorian.Input) { in.Direction = 1 })
	s.step(14)
	s.shift(0, 1)
	s.step(6)
	s.end("23 run 0 since 14: 3, 1, 6, first 17, time -1, proof 2 0")
}

// TestBlocks: how long somebody counts as blocked, and by whom not.
func TestBlocks(t *testing.T) {
	for name, test := range map[string]struct {
		wait  int
		leave bool
		want  []string
	}{
		"just": {127, false, []string{
			"8 hit 0>1 with 1 at 373,945", "158 end 1 by 1 at 639,945", "158 block 0>1 outcome 2 by 1 in 8",
		}},
		"too late": {128, false, []string{"8 hit 0>1 with 1 at 373,945", "159 end 1 by 1 at 639,945"}},
		"who left": {10, true, []string{"8 hit 0>1 with 1 at 373,945", "18 end 0 by 5 at 331,945", "53 end 1 by 1 at 632,945"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 40, nil, put(20, 2))
			s.step(1)
			s.appear(0, middle(10), floor)
			s.appear(1, middle(11), floor)
			s.step(2)
			s.input(0, func(in *teehistorian.Input) { in.WantedWeapon = 1 })
			s.input(1, nothing)
			s.step(2)
			s.input(0, nothing)
			s.step(2)
			s.input(0, func(in *teehistorian.Input) { in.Fire++ })
			s.step(test.wait)
			if test.leave {
				s.apply(teehistorian.Event{Kind: teehistorian.KindDrop})
				s.step(1, 0)
			}
			s.input(1, func(in *teehistorian.Input) { in.Direction = 1 })
			s.step(60)
			s.end(test.want...)
		})
	}
}

// TestRest: after many ticks without a record, which are not calculated, the facts are the same however often the caller looks at the world.
func TestRest(t *testing.T) {
	for _, looks := range []bool{false, true} {
		s := newScene(t, 40, map[string]string{"sv_freeze_delay": "30"}, func(m *physics.Map) {
			m.Set(physics.LayerGame, 10, 27, physics.Tile{Index: 9})
			m.Set(physics.LayerGame, 10, 28, physics.Tile{Index: 33})
		})
		s.step(1)
		s.appear(0, middle(10), 24*32+16)
		s.step(40)
		from := s.tick
		s.tick += 2000
		for tick := from + 1; looks && tick < s.tick; tick++ {
			s.world.Settle(tick)
		}
		s.apply(teehistorian.Event{Kind: teehistorian.KindTick})
		s.apply(teehistorian.Event{Kind: teehistorian.KindPlayerFinish, PlayerFinish: teehistorian.PlayerFinish{Time: 10}})
		s.tampered = true
		s.end("19 freeze 0 by 1 at 336,873", "1518 thaw 0 since 19 by 1 of -1, proof 3 8", "2041 run 0 since 26: 517, 0, 1499, first 542, time 10, proof 3 8")
	}
}

// TestThreat: what shoots in a map makes all but the place of a character unknown, as far as it may reach.
func TestThreat(t *testing.T) {
	const far = 20
	s := newScene(t, 200, nil, func(m *physics.Map) { m.Set(physics.LayerGame, 150, 20, physics.Tile{Index: 231}) })
	s.step(1)
	s.appear(0, middle(far), floor)
	s.appear(1, middle(150), floor)
	s.appear(2, middle(118), floor)
	s.step(5)
	s.world.Settle(s.tick)
	for id, want := range []physics.Mark{physics.Proven, physics.Unknown, physics.Unknown} {
		c, ok := s.world.Character(int32(id))
		if cause := c.Cause == physics.CauseWeapon; !ok || c.Mark != want || cause != (want == physics.Unknown) {
			t.Errorf("client %d: %+v", id, c)
		}
	}
}

// TestChatting: who writes a message does not move.
func TestChatting(t *testing.T) {
	s := two(t, nil, nil, middle(10), middle(20))
	s.input(0, func(in *teehistorian.Input) { in.Direction, in.PlayerFlags = 1, 4 })
	s.step(5)
	if at := s.at[0]; at[0] != middle(10) {
		t.Errorf("it is at %v", at)
	}
}

// TestSoloServer: who is solo is decided by the settings with which the map is loaded, not by those of the console.
func TestSoloServer(t *testing.T) {
	for caller, want := range map[int32]bool{-1: false, -2: true, -3: true} {
		s := newScene(t, 40, nil, nil)
		s.apply(teehistorian.Event{Kind: teehistorian.KindConsoleCommand, ConsoleCommand: teehistorian.ConsoleCommand{
			ClientId: caller, Flags: 4, Command: []byte("sv_solo_server"), Arguments: [][]byte{[]byte("1")},
		}})
		s.step(1)
		s.appear(0, middle(5), floor)
		s.step(2)
		s.world.Settle(s.tick)
		if c, ok := s.world.Character(0); !ok || c.Solo != want {
			t.Errorf("by %d: %v, %+v", caller, ok, c)
		}
	}
}

// TestFactsOfStates: in games of real servers, who is frozen and whom a hook holds is the same by facts and by how characters stand in each
// tick.
func TestFactsOfStates(t *testing.T) {
	type held struct{ tick, id, by int32 }
	for _, name := range []string{"freeze", "arms", "brawl", "chaos"} {
		t.Run(name, func(t *testing.T) {
			g := room(t, name)
			world := physics.New(g.header, g.tiles, func(*physics.Result) {})
			world.Tell()
			want, got := map[held]bool{}, map[held]bool{} // by -1 for frozen
			frozen := map[int32]int32{}                   // since when
			last := int32(0)
			settle := func(to int32) {
				for ; last < to; last++ {
					world.Settle(last)
					for id := range int32(64) {
						c, ok := world.Character(id)
						if c.FreezeTicks > 0 || c.Deep || c.Live {
							want[held{last, id, -1}] = true
						}
						if ok && c.Hooked >= 0 {
							want[held{last, id, c.Hooked}] = true
						}
					}
				}
			}
			var f teehistorian.Event
			note := func() {
				for world.Next(&f) {
					switch f.Kind {
					case teehistorian.KindFactFreeze:
						frozen[f.FactFreeze.ClientId] = f.FactFreeze.Tick
					case teehistorian.KindFactThaw:
						if from, ok := frozen[f.FactThaw.ClientId]; !ok || from != f.FactThaw.FromTick {
							t.Fatalf("%s, but it was frozen in %d", textOf(&f), from)
						}
						delete(frozen, f.FactThaw.ClientId)
						for tick := f.FactThaw.FromTick; tick < f.FactThaw.Tick; tick++ {
							got[held{tick, f.FactThaw.ClientId, -1}] = true
						}
					case teehistorian.KindFactHook:
						for tick := f.FactHook.FromTick; tick <= f.FactHook.Tick; tick++ {
							got[held{tick, f.FactHook.ClientId, f.FactHook.OtherClientId}] = true
						}
					}
				}
			}
			apply := func(ev *teehistorian.Event) {
				if ev.Kind == teehistorian.KindTick {
					settle(ev.AtTick)
				}
				world.Apply(ev)
				note()
			}
			for _, ev := range g.events {
				apply(ev)
			}
			end := g.events[len(g.events)-1].AtTick + 1
			apply(&teehistorian.Event{AtTick: end, Kind: teehistorian.KindTick})
			for id := range int32(64) {
				apply(&teehistorian.Event{AtTick: end, Kind: teehistorian.KindPlayerOld, PlayerOld: teehistorian.PlayerOld{ClientId: id}})
			}
			apply(&teehistorian.Event{AtTick: end + 1, Kind: teehistorian.KindTick})
			apply(&teehistorian.Event{AtTick: end + 1, Kind: teehistorian.KindFinish})
			if len(want) == 0 || !maps.Equal(got, want) {
				t.Errorf("by facts %d, by states %d", len(got), len(want))
			}
		})
	}
}
