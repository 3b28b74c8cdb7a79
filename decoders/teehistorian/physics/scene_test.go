package physics_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
)

// scene is a game that a test makes. It records where the rules lead, as a server does, so that each tick is proven.
type scene struct {
	t        *testing.T
	world    *physics.World
	tick     int32
	at       map[int32][2]int32 // of the characters
	inputs   map[int32]*teehistorian.Input
	lead     map[int32][2]int32 // where the rules lead, while they are asked
	dead     map[int32]bool     // whom the rules let die, likewise
	asking   bool
	facts    []string
	events   []*teehistorian.Event
	results  []physics.Result // that are not proven
	tampered bool             // so that there are some
}

// height is that of a scene, in tiles, and floor is where a character stands.
const (
	height = 40
	floor  = 30*32 - 15
)

// newScene returns a game in a hall that is so many tiles wide, with a hole in its floor at tile 30, and other tiles.
func newScene(t *testing.T, width int, config map[string]string, set func(m *physics.Map)) *scene {
	t.Helper()
	m, err := physics.NewMap(width, height)
	if err != nil {
		t.Fatal(err)
	}
	for y := range height {
		for x := range width {
			if y == 30 && x != 30 || x == 0 || x == width-1 {
				m.Set(physics.LayerGame, x, y, physics.Tile{Index: 1})
			}
		}
	}
	m.Set(physics.LayerGame, 1, 1, physics.Tile{Index: 192}) // where characters appear
	if set != nil {
		set(m)
	}
	s := &scene{t: t, at: map[int32][2]int32{}, inputs: map[int32]*teehistorian.Input{}}
	header := &teehistorian.Header{GameType: "DDraceNetwork", ServerVersion: "0.6.4, 20.1", VersionMinor: 23, Config: config}
	s.world = physics.New(header, m, s.result)
	s.world.Tell()
	return s
}

func (s *scene) result(r *physics.Result) {
	switch {
	case s.asking && r.Mark == physics.Corrected && r.DX == 0 && r.DY == 0:
		s.dead[r.ClientID] = true
	case s.asking:
		s.lead[r.ClientID] = [2]int32{r.X - r.DX, r.Y - r.DY}
	case r.Mark != physics.Proven && !r.New:
		s.results = append(s.results, *r)
	}
}

// apply records an event in the present tick.
func (s *scene) apply(ev teehistorian.Event) {
	ev.AtTick = s.tick
	s.events = append(s.events, &ev)
	s.world.Apply(&ev)
	s.facts = tellings(s.world, s.facts)
}

// tellings appends the facts of a world, as text.
func tellings(w *physics.World, to []string) []string {
	var fact teehistorian.Event
	for w.Next(&fact) {
		to = append(to, textOf(&fact))
	}
	return to
}

// appear has characters appear in the present tick: see begin.
func (s *scene) appear(id, x, y int32) {
	s.at[id] = [2]int32{x, y}
	s.apply(teehistorian.Event{Kind: teehistorian.KindPlayerNew, PlayerNew: teehistorian.PlayerNew{ClientId: id, X: x, Y: y}})
}

// vanish has a character disappear in the present tick.
func (s *scene) vanish(id int32) {
	delete(s.at, id)
	s.apply(teehistorian.Event{Kind: teehistorian.KindPlayerOld, PlayerOld: teehistorian.PlayerOld{ClientId: id}})
}

// input changes a client's input from the next tick on.
func (s *scene) input(id int32, change func(in *teehistorian.Input)) {
	in := s.inputs[id]
	kind := teehistorian.KindInputDiff
	if in == nil {
		in, kind = &teehistorian.Input{TargetX: 1}, teehistorian.KindInputNew
		s.inputs[id] = in
	}
	change(in)
	ev := teehistorian.Event{Kind: kind}
	ev.InputNew.ClientId, ev.InputNew.Input = id, *in
	ev.InputDiff.ClientId, ev.InputDiff.Input, ev.InputDiff.HasInput = id, *in, true
	s.apply(ev)
}

// step begins ticks, and moves all to where the rules lead, but for some that are gone.
func (s *scene) step(ticks int, gone ...int32) {
	s.t.Helper()
	for range ticks {
		s.tick++
		s.apply(teehistorian.Event{Kind: teehistorian.KindTick})
		s.ask()
		for _, id := range slices.Sorted(maps.Keys(s.at)) {
			from := s.at[id]
			to, ok := s.lead[id]
			switch {
			case s.dead[id] || slices.Contains(gone, id):
				s.vanish(id)
			case ok && to != from:
				s.at[id] = to
				s.apply(teehistorian.Event{Kind: teehistorian.KindPlayerDiff, PlayerDiff: teehistorian.PlayerDiff{
					ClientId: id, X: to[0], Y: to[1], Dx: to[0] - from[0], Dy: to[1] - from[1],
				}})
			}
		}
	}
}

// ask has the rules say where they lead in the tick, by a world in which all are so far away that nothing can explain it.
func (s *scene) ask() {
	s.t.Helper()
	s.lead, s.dead, s.asking = map[int32][2]int32{}, map[int32]bool{}, true
	defer func() { s.asking = false }()
	other, err := s.world.Restored(s.world.Snapshot(nil))
	if err != nil {
		s.t.Fatal(err)
	}
	for id := range s.at {
		other.Apply(&teehistorian.Event{AtTick: s.tick, Kind: teehistorian.KindPlayerDiff, PlayerDiff: teehistorian.PlayerDiff{ClientId: id, X: 1 << 20, Y: 1 << 20}})
	}
	other.Close()
}

// end ends the game, of which each tick must be proven, and compares its facts.
func (s *scene) end(want ...string) {
	s.t.Helper()
	s.apply(teehistorian.Event{Kind: teehistorian.KindFinish})
	if len(s.results) > 0 != s.tampered {
		s.t.Errorf("not proven: %+v", s.results)
	}
	if !slices.Equal(s.facts, want) {
		s.t.Errorf("the facts are\n%s\nwant\n%s", strings.Join(s.facts, "\n"), strings.Join(want, "\n"))
	}
}

// textOf returns a fact as text: what is not proven ends with why.
func textOf(ev *teehistorian.Event) string {
	unproven := func(p teehistorian.Proof, c teehistorian.ProofCause) string {
		if p == teehistorian.ProofProven {
			return ""
		}
		return fmt.Sprintf(", proof %d %d", p, c)
	}
	switch ev.Kind {
	case teehistorian.KindFactFreeze:
		f := &ev.FactFreeze
		by := ""
		if f.OtherClientId >= 0 || f.Contact != 0 {
			by = fmt.Sprintf(", %d did %d in %d", f.OtherClientId, f.Contact, f.ContactTick)
		}
		return fmt.Sprintf("%d freeze %d by %d at %d,%d%s%s", f.Tick, f.ClientId, f.Cause, f.X, f.Y, by, unproven(f.Proof, f.ProofCause))
	case teehistorian.KindFactThaw:
		f := &ev.FactThaw
		return fmt.Sprintf("%d thaw %d since %d by %d of %d%s", f.Tick, f.ClientId, f.FromTick, f.Cause, f.OtherClientId, unproven(f.Proof, f.ProofCause))
	case teehistorian.KindFactHit:
		f := &ev.FactHit
		return fmt.Sprintf("%d hit %d>%d with %d at %d,%d%s", f.Tick, f.ClientId, f.OtherClientId, f.Weapon, f.X, f.Y, unproven(f.Proof, f.ProofCause))
	case teehistorian.KindFactHook:
		f := &ev.FactHook
		return fmt.Sprintf("%d hook %d>%d since %d%s", f.Tick, f.ClientId, f.OtherClientId, f.FromTick, unproven(f.Proof, f.ProofCause))
	case teehistorian.KindFactBlock:
		f := &ev.FactBlock
		return fmt.Sprintf("%d block %d>%d outcome %d by %d in %d%s", f.Tick, f.ClientId, f.OtherClientId, f.Outcome, f.Contact, f.ContactTick,
			unproven(f.Proof, f.ProofCause))
	case teehistorian.KindFactCharacterEnd:
		f := &ev.FactCharacterEnd
		return fmt.Sprintf("%d end %d by %d at %d,%d%s", f.Tick, f.ClientId, f.Cause, f.X, f.Y, unproven(f.Proof, f.ProofCause))
	case teehistorian.KindFactRun:
		f := &ev.FactRun
		return fmt.Sprintf("%d run %d since %d: %d, %d, %d, first %d, time %d%s", f.Tick, f.ClientId, f.FromTick, f.ProvenTicks, f.CorrectedTicks,
			f.UnknownTicks, f.UnprovenTick, f.Time, unproven(f.Proof, f.ProofCause))
	}
	return ev.Kind.String()
}
