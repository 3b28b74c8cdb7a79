// Package demo plays a game for people who want to see live replays before they have a server: a recording of a race of six players, which
// it writes into a file as fast as a DDNet server wrote it, again and again. A real server has recorded that race, with real
// clients, on the map that is here too (e2e/record).
package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/replayd/replayd/decoders/teehistorian"
)

//go:embed race/course.map
var course []byte

//go:embed race/race.teehistorian
var race []byte

// ticksPerSecond is the speed of all DDNet games.
const ticksPerSecond = 50

// kept is how many finished games stay, the newest ones.
const kept = 3

// Player plays games in a directory. It is for one goroutine.
type Player struct {
	dir      string
	starts   []int // where the records of each tick begin; the header is before the first
	previous string
	finished []string
}

// New returns a Player whose games appear in a directory, with their map beside them.
func New(dir string) (*Player, error) {
	p := &Player{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "course.map"), course, 0o600); err != nil {
		return nil, err
	}
	if err := p.measure(); err != nil {
		return nil, err
	}
	return p, nil
}

// measure finds where the records of each tick begin in the recording.
func (p *Player) measure() error {
	d := teehistorian.New(bytes.NewReader(race), teehistorian.Options{})
	if _, err := d.Header(); err != nil {
		return fmt.Errorf("the recording of the demonstration: %w", err)
	}
	p.starts = []int{int(d.Position().Offset)}
	var ev teehistorian.Event
	for {
		at := d.Position().Offset
		switch err := d.Next(&ev); {
		case errors.Is(err, io.EOF):
			p.starts = append(p.starts, len(race))
			return nil
		case err != nil:
			return fmt.Errorf("the recording of the demonstration: %w", err)
		}
		for len(p.starts) <= int(ev.AtTick) {
			p.starts = append(p.starts, int(at))
		}
	}
}

// Play plays games, one after the other, until ctx ends. It returns an error if it cannot write them.
func (p *Player) Play(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := p.game(ctx); err != nil {
			return fmt.Errorf("playing the game of the demonstration: %w", err)
		}
	}
	return nil
}

// game plays one game. When ctx ends it leaves the game without an end, as a server does that is killed.
func (p *Player) game(ctx context.Context) (err error) {
	id := newGame()
	path := filepath.Join(p.dir, id+".teehistorian")
	file, err := os.Create(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	began := time.Now()
	if _, err := file.Write(header(race[:p.starts[0]], id, p.previous, began)); err != nil {
		return err
	}
	turn := time.NewTicker(time.Second / ticksPerSecond)
	defer turn.Stop()
	for written := 0; written < len(p.starts)-1; {
		due := min(int(time.Since(began)*ticksPerSecond/time.Second)+1, len(p.starts)-1)
		if _, err := file.Write(race[p.starts[written]:p.starts[due]]); err != nil {
			return err
		}
		written = due
		select {
		case <-ctx.Done():
			return nil
		case <-turn.C:
		}
	}
	p.previous = id
	p.finished = append(p.finished, path)
	for len(p.finished) > kept {
		_ = os.Remove(p.finished[0])
		p.finished = slices.Delete(p.finished, 0, 1)
	}
	return nil
}

var (
	uuidOf  = regexp.MustCompile(`"game_uuid":"[^"]*"`)
	startOf = regexp.MustCompile(`"start_time":"[^"]*"`)
	nameOf  = regexp.MustCompile(`"server_name":"[^"]*"`)
)

// header returns the header of the recording for another game.
func header(recorded []byte, id, previous string, began time.Time) []byte {
	identity := fmt.Sprintf(`"game_uuid":%q`, id)
	if previous != "" {
		identity += fmt.Sprintf(`,"prev_game_uuid":%q`, previous)
	}
	h := uuidOf.ReplaceAllLiteral(recorded, []byte(identity))
	h = startOf.ReplaceAllLiteral(h, []byte(began.UTC().Format(`"start_time":"2006-01-02T15:04:05-0700"`)))
	return nameOf.ReplaceAllLiteral(h, []byte(`"server_name":"replayd demo"`))
}

// newGame returns the random UUID of a game, as text.
func newGame() string {
	var id teehistorian.UUID
	_, _ = rand.Read(id[:]) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}
