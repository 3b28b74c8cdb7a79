package demo_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/replayd/replayd/cmd/internal/demo"
	"github.com/replayd/replayd/decoders/teehistorian"
)

// game is a file as a reader finds it.
type game struct {
	name   string
	header teehistorian.Header
	tick   int32
	ended  bool
}

func read(t *testing.T, dir string) (games []game) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		d := teehistorian.New(bytes.NewReader(data), teehistorian.Options{})
		header, err := d.Header()
		if err != nil {
			t.Fatal(err)
		}
		g := game{name: filepath.Base(name), header: *header}
		var ev teehistorian.Event
		for err = d.Next(&ev); err == nil; err = d.Next(&ev) {
			g.tick, g.ended = ev.AtTick, ev.Kind == teehistorian.KindFinish
		}
		if want := io.EOF; g.ended && !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		games = append(games, g)
	}
	return games
}

// TestPlay: a game grows as a server's does, tick by tick, on the map beside it, and others follow it.
func TestPlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p, err := demo.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- p.Play(ctx) }()

		time.Sleep(10 * time.Second)
		synctest.Wait()
		games := read(t, dir)
		if len(games) != 1 || games[0].ended || games[0].tick < 499 || games[0].tick > 501 {
			t.Fatalf("after 10 s: %+v, want one game at tick 500", games)
		}
		first := games[0].header
		course, err := os.ReadFile(filepath.Join(dir, "course.map"))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(course)); first.MapSHA256 != got {
			t.Errorf("the game is on the map %s, and beside it is %s", first.MapSHA256, got)
		}

		time.Sleep(10 * time.Minute)
		synctest.Wait()
		games = read(t, dir)
		previous, live := map[string]string{}, 0
		for _, g := range games {
			previous[g.header.GameUUID] = g.header.PrevGameUUID
			if !g.ended {
				live++
			}
		}
		if live != 1 || len(games) != 4 || len(previous) != 4 {
			t.Errorf("after ten minutes: %+v, want one game that goes on and three that are over", games)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
