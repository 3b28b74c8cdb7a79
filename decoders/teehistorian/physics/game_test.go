package physics_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/decoders/teehistorian/physics"
	"github.com/replayd/replayd/replay/tiles"
)

// game is a recording with its map.
type game struct {
	header *teehistorian.Header
	events []*teehistorian.Event
	tiles  *physics.Map
}

const (
	raceDir = "../../../cmd/internal/demo/race/"
	corpus  = "../../../../shared/corpus/"
)

func openMap(t testing.TB, path string) *physics.Map {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tiles.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// open reads a recording, and only those of its events that matter.
func open(t testing.TB, recording, course string) *game {
	t.Helper()
	file, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var src io.Reader = file
	if unpacked, err := gzip.NewReader(file); err == nil {
		src = unpacked
	} else if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	d := teehistorian.New(src, teehistorian.Options{})
	header, err := d.Header()
	if err != nil {
		t.Fatal(err)
	}
	g := &game{header: header}
	if course != "" {
		g.tiles = openMap(t, course)
	}
	for ev, err := range decoders.All(d) {
		if errors.Is(err, decoders.ErrTruncated) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch copied := *ev; ev.Kind {
		case teehistorian.KindConsoleCommand:
			args := copied.ConsoleCommand.Arguments
			copied.ConsoleCommand.Command = bytes.Clone(copied.ConsoleCommand.Command)
			copied.ConsoleCommand.Arguments = nil
			for _, arg := range args {
				copied.ConsoleCommand.Arguments = append(copied.ConsoleCommand.Arguments, bytes.Clone(arg))
			}
			g.events = append(g.events, &copied)
		case teehistorian.KindTick, teehistorian.KindPlayerDiff, teehistorian.KindPlayerNew, teehistorian.KindPlayerOld,
			teehistorian.KindInputNew, teehistorian.KindInputDiff, teehistorian.KindMessage, teehistorian.KindJoin,
			teehistorian.KindDrop, teehistorian.KindPlayerTeam, teehistorian.KindLoadSuccess, teehistorian.KindPlayerSwap,
			teehistorian.KindDamage, teehistorian.KindTeamPractice, teehistorian.KindPlayerFinish:
			g.events = append(g.events, &copied)
		}
	}
	return g
}

// play returns the results of a game.
func (g *game) play() (results []physics.Result) {
	world := physics.New(g.header, g.tiles, func(r *physics.Result) {
		kept := *r
		kept.Effects = nil
		results = append(results, kept)
	})
	for _, ev := range g.events {
		world.Apply(ev)
	}
	world.Close()
	return results
}

// count returns the number of ticks of each mark, and of deviations without a cause.
func count(results []physics.Result) (marks [3]int, broken int) {
	for _, r := range results {
		marks[r.Mark] += int(r.Ticks)
		if r.Mark == physics.Corrected && r.Cause == physics.CauseNone {
			broken++
		}
	}
	return marks, broken
}

func race(t testing.TB) *game { return open(t, raceDir+"race.teehistorian", raceDir+"course.map") }
