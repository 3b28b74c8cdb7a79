package dem_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/decoders/dem"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

// players returns the samples of players at the end of each tick of a demo, of which some kinds of events are decoded; nil means all.
func players(data []byte, o dem.Options, kinds ...dem.Kind) (all []string) {
	var d *dem.Decoder
	last := int32(-1)
	o.Kinds = func(k dem.Kind) bool { return kinds == nil || slices.Contains(kinds, k) }
	o.Record = func() bool {
		if tick, ok := d.NextTick(); !ok || d.Tick() <= last || tick <= d.Tick() {
			return false
		}
		last = d.Tick()
		var ev dem.Event
		for i := -1; i <= dem.MaxPlayers; i++ {
			if d.SamplePlayer(last, i, &ev) {
				all = append(all, fmt.Sprintf("%d %s", ev.AtTick, readablePlayer(&ev.SamplePlayer)))
			}
		}
		return false
	}
	d = dem.New(bytes.NewReader(data), o)
	_ = run(d, func(*dem.Event) {}) // some recordings have no end
	return all
}

// readablePlayer returns a sample with texts as such.
func readablePlayer(s *dem.SamplePlayer) string {
	rest := *s
	rest.Name, rest.TeamName, rest.HeroName, rest.ActiveItem, rest.Items = nil, nil, nil, nil, nil
	return fmt.Sprintf("%q %s %s %s %s %+v", s.Name, s.TeamName, s.HeroName, s.ActiveItem, s.Items, rest)
}

var playedGames = []string{"dota", "csgo", "citadel"}

// TestPlayers: demos of our own of each game give the samples of players in the golden files.
func TestPlayers(t *testing.T) {
	for _, game := range playedGames {
		got := players(demtest.Players(game), dem.Options{}, dem.KindSamplePlayer)
		golden(t, filepath.Join("testdata", "players-"+game+".golden"), []byte(strings.Join(got, "\n")+"\n"))
	}
}

// TestPlayersAlone: samples of players are the same whether all of a demo is decoded, or some, or only what they need.
func TestPlayersAlone(t *testing.T) {
	check := func(t *testing.T, name string, data []byte) {
		t.Helper()
		whole := players(data, dem.Options{})
		if alone := players(data, dem.Options{}, dem.KindSamplePlayer); !slices.Equal(alone, whole) {
			t.Errorf("%s: %d samples alone, %d with everything else", name, len(alone), len(whole))
		}
		some := dem.Options{
			Classes: func(name string) bool { return strings.Contains(name, "a") },
			Fields:  func(_, field string) bool { return strings.Contains(field, "i") },
		}
		if with := players(data, some, dem.KindSamplePlayer, dem.KindEntityUpdated); !slices.Equal(with, whole) {
			t.Errorf("%s: %d samples with some updates of entities, %d with everything else", name, len(with), len(whole))
		}
	}
	check(t, "world", demtest.World(false))
	check(t, "odd world", demtest.World(true))
	for _, game := range playedGames {
		check(t, game, demtest.Players(game))
	}
	for name, data := range source2(t) {
		check(t, name, data)
	}
}

// TestPlayersAllocateNothing: a sample takes no memory of its own.
func TestPlayersAllocateNothing(t *testing.T) {
	for _, game := range playedGames {
		var d *dem.Decoder
		var ev dem.Event
		d = dem.New(bytes.NewReader(demtest.Players(game)), dem.Options{Record: func() bool {
			if d.Tick() == 2 {
				d.SamplePlayer(2, 0, &ev)
				item := ev.SamplePlayer.ActiveItem
				n := testing.AllocsPerRun(10, func() { d.SamplePlayer(2, 0, &ev) })
				if n > 0 || len(ev.SamplePlayer.Name) == 0 {
					t.Errorf("%s: %v allocations for a sample of %q", game, n, ev.SamplePlayer.Name)
				}
				if again := ev.SamplePlayer.ActiveItem; len(item) > 0 && &again[0] != &item[0] {
					t.Errorf("%s: a name of a class takes memory for each sample", game)
				}
			}
			return false
		}})
		_ = run(d, func(*dem.Event) {})
	}
}
