package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
)

// archive is a directory of replays in which much happens.
type archive struct {
	*testing.T

	dir     string
	want    map[string]seen   // by identity
	where   map[string]string // of those that are written completely: the file
	playing []*played
	bad     int
	clients []*subscriberOf
}

// played is the games of a server, one after another. The last one has an end, and the others a successor.
type played struct {
	identities []string
	games      [][]byte
	path       string
	written    int // of the first of games
	total, all int // written, and to be written, of all
}

func newArchive(t *testing.T, servers, over int) *archive {
	a := &archive{T: t, dir: t.TempDir(), want: map[string]seen{}, where: map[string]string{}}
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	uuid := func(n int) string { return fmt.Sprintf("%08d-db1c-48f1-b0fe-ea831e23f409", n) }
	game := func(n, previous int) []byte {
		return bytes.Replace(sample, []byte(`"game_uuid":"4fa04b32-db1c-48f1-b0fe-ea831e23f409"`),
			fmt.Appendf(nil, `"game_uuid":%q,"prev_game_uuid":%q`, uuid(n), uuid(previous)), 1)
	}
	whole := a.whole(game(0, 99_000_000))
	part := whole[:len(whole)-1] // without its end
	sum := func(events []placed) (s seen) {
		for _, e := range events {
			s.add(e)
		}
		s.ended = true
		return s
	}
	const matches = 2
	n := 0
	for range servers {
		p := &played{path: filepath.Join(a.dir, "live", fmt.Sprint(n, ".teehistorian"))}
		previous := 99_000_000
		for match := range matches {
			n++
			data, want := game(n, previous), sum(whole)
			if match < matches-1 {
				data, want = data[:len(data)-1], sum(part)
			}
			previous = n
			p.games, p.identities = append(p.games, data), append(p.identities, "teehistorian:"+uuid(n))
			p.all += len(data)
			a.want["teehistorian:"+uuid(n)] = want
		}
		a.playing = append(a.playing, p)
	}
	for i := range over {
		n++
		path := filepath.Join(a.dir, "old", fmt.Sprint(i%20), fmt.Sprint(n, ".teehistorian"))
		a.write(path, game(n, 99_000_000))
		a.want["teehistorian:"+uuid(n)], a.where["teehistorian:"+uuid(n)] = sum(whole), path
	}
	for range 3 {
		n++
		packed := decodertest.Gzip(a, game(n, 99_000_000))
		path, past := filepath.Join(a.dir, "old", fmt.Sprint("bad", n, ".gz")), time.Now().Add(-time.Hour) // it is not being copied
		a.write(path, packed[:len(packed)/2])
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		a.bad++
	}
	return a
}

// whole returns the events of a game, as replayd prints them.
func (a *archive) whole(data []byte) (events []placed) {
	path := filepath.Join(a.TempDir(), "game.teehistorian")
	a.write(path, data)
	out, err := commandtest.Self(a.T, "replayd", "cat", "--kind", strings.Join(scaleKinds, ","), path).Output()
	if err != nil {
		a.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var e placed
		if err := json.Unmarshal(line, &e); err != nil {
			a.Fatal(err)
		}
		events = append(events, e)
	}
	if len(events) < 5 || events[len(events)-1].Kind != "finish" {
		a.Fatalf("the events are %v", events)
	}
	return events
}

// write writes a file as a whole.
func (a *archive) write(path string, data []byte) {
	hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(hidden, data, 0o600), os.Rename(hidden, path)); err != nil {
		a.Error(err)
	}
}

// step plays a share of all games, and lets something happen to the files.
func (a *archive) step(share float64) {
	for i, p := range a.playing {
		n := int(share*float64(p.all)) - p.total
		if len(p.games) == 0 || n <= 0 {
			continue
		}
		n = min(1+rand.IntN(n), len(p.games[0])-p.written)
		if share == 1 {
			n = len(p.games[0]) - p.written
		}
		err := os.MkdirAll(filepath.Dir(p.path), 0o750)
		file, opened := os.OpenFile(p.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err := errors.Join(err, opened); err != nil {
			a.Error(err)
			return
		}
		_, err = file.Write(p.games[0][p.written : p.written+n])
		if err := errors.Join(err, file.Close()); err != nil {
			a.Error(err)
		}
		p.written, p.total = p.written+n, p.total+n
		if p.written == len(p.games[0]) {
			a.where[p.identities[0]] = p.path
			p.games, p.identities, p.written = p.games[1:], p.identities[1:], 0
			p.path = filepath.Join(a.dir, "live", fmt.Sprint(i, "-", len(p.games), ".teehistorian"))
		} else if rand.IntN(40) == 0 {
			a.move(&p.path)
		}
	}
	for range 1 + len(a.where)/200 {
		for of, path := range a.where { // any one
			switch what := rand.IntN(3); {
			case what == 0 && filepath.Ext(path) != ".gz":
				data, err := os.ReadFile(path)
				if err != nil {
					a.Error(err)
				}
				a.write(path+".gz", decodertest.Gzip(a, data))
				a.where[of] = path + ".gz"
				_ = os.Remove(path)
			case what == 1:
				a.move(&path)
				a.where[of] = path
			case what == 2 && !slices.ContainsFunc(a.clients, func(s *subscriberOf) bool { return !s.of(of).ended }):
				_ = os.Remove(path)
				delete(a.where, of)
			}
			break
		}
	}
}

// move renames a file, below another directory.
func (a *archive) move(path *string) {
	to := filepath.Join(a.dir, "moved", strconv.Itoa(rand.IntN(20)), filepath.Base(*path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o750), os.Rename(*path, to)); err != nil {
		a.Error(err)
	}
	*path = to
}

// complete reports whether all clients have stored everything.
func (a *archive) complete() bool {
	for _, s := range a.clients {
		s.mu.Lock()
		ended := 0
		for _, one := range s.replays {
			if one.ended {
				ended++
			}
		}
		failed := len(s.failed)
		s.mu.Unlock()
		if ended < len(a.want) || failed < a.bad {
			return false
		}
	}
	return true
}
