// Command record generates the recordings under testdata/teehistorian, and the game of `replayd demo`. It runs
// a real DDNet server with real clients on loopback, and keeps the files that
// the server has written. Each scenario below becomes one directory. Without the names of some, all of them are recorded.
//
//	go run ./e2e/record testdata/teehistorian [SCENARIO...]
//	go run ./e2e/record cmd/internal/demo race
//	go run ./e2e/record decoders/teehistorian/physics/testdata rooms
//	go run ./e2e/record DIRECTORY snapshots
//
// It takes a few minutes. It requires Node with npm, and either an installed
// DDNet server or root with apt-get. Each run gives new recordings, with other
// names, ticks and positions.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/replayd/replayd/decoders/teehistorian"
	"github.com/replayd/replayd/e2e/ddnet"
)

// scenario describes the run of one server.
type scenario struct {
	dir     string // under the output directory
	title   string
	mapName string // the first map; empty for the default
	play    func(ctx context.Context, srv *ddnet.Server, bots *ddnet.Bots) error
	end     func(*ddnet.Server) error
	// gzip keeps a compressed copy of each recording too, in a directory of its own.
	gzip bool
	// draw writes maps into a directory: for the server, and beside the recordings.
	draw func(dir string) error
	// byMap names the recordings, which are compressed, by their maps.
	byMap    bool
	settings []string
	// demos keeps what the server itself tells of its games, its own demos, under the names of their maps.
	demos bool
}

var scenarios = []scenario{
	{
		dir:     "finished",
		title:   "everything a client does",
		mapName: "Sunny Side Up", // allows teams, unlike the default
		play:    everything,
		end:     (*ddnet.Server).Stop,
		gzip:    true,
	},
	{dir: "mapchange", title: "one map after another", play: changeMap, end: (*ddnet.Server).Stop},
	{dir: "race", title: "a race that goes on and on", mapName: courseName, play: race, end: (*ddnet.Server).Stop, draw: drawRace},
	{
		dir: "rooms", title: "rooms full of tiles", mapName: roomNames[0], play: playRooms, end: (*ddnet.Server).Stop, draw: drawRooms, byMap: true,
		settings: []string{"sv_solo_server 1", "sv_kill_delay 0"},
	},
	{
		dir: "snapshots", title: "rooms, as the server tells them", mapName: roomNames[0], play: playRooms, end: (*ddnet.Server).Stop, draw: drawRooms, byMap: true, demos: true,
		settings: []string{"sv_solo_server 1", "sv_kill_delay 0", "sv_high_bandwidth 1"},
	},
	{dir: "killed", title: "killed in the middle", play: wander, end: (*ddnet.Server).Kill},
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: record DIRECTORY [SCENARIO...]")
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	for _, s := range scenarios {
		if len(os.Args) > 2 && !slices.Contains(os.Args[2:], s.dir) || len(os.Args) == 2 && s.demos { // which no test needs
			continue
		}
		if err := s.record(ctx, os.Args[1]); err != nil {
			fmt.Fprintf(os.Stderr, "record: %s: %v\n", s.dir, err)
			os.Exit(1) //nolint:gocritic // Nothing is left to cancel.
		}
	}
}

// everything makes three players do everything that a recording can contain.
func everything(ctx context.Context, _ *ddnet.Server, bots *ddnet.Bots) error {
	return bots.Run(ctx, `
		alice join
		sleep 1s
		alice right
		sleep 600ms
		alice jump
		sleep 200ms
		alice jump off
		alice aim 120 -80
		alice hook
		sleep 400ms
		alice hook off
		alice stop
		bob join
		carol join
		alice say hello, this line is not recorded
		bob say /emote happy 3
		# A team of two, a saved game that is loaded again, practice.
		alice say /team 1
		bob say /team 1
		sleep 1s
		alice say /swap bob
		sleep 500ms
		bob say /swap alice
		sleep 1s
		alice say /save throwaway-save
		sleep 2s
		alice say /load throwaway-save
		sleep 2s
		alice say /practice
		bob say /practice
		sleep 1s
		bob emote 5
		bob weapon 2
		bob fire
		bob aim -200 10
		carol rename Carol der Große
		carol say /timeout throwaway-code
		alice wander on
		bob wander on
		sleep 6s
		bob kill
		sleep 2s
		carol team -1
		sleep 1s
		carol spectate 0
		sleep 500ms
		carol team 0
		alice login `+ddnet.Password+`
		sleep 1s
		alice rcon say recorded as a console command
		alice rcon tune gravity 0.4
		sleep 3s
		alice rcon tune gravity 0.5
		carol wander on
		alice rcon logout
		sleep 4s
		bob leave
		bob join
		bob say /me is back
		sleep 2s
		# Nobody moves: a long stretch without a record.
		* wander off
		sleep 3s
		carol leave
		bob leave
		alice leave
		sleep 1s
	`)
}

// changeMap changes the map twice while players stay, by the remote console and
// by the server's own console.
func changeMap(ctx context.Context, srv *ddnet.Server, bots *ddnet.Bots) error {
	if err := bots.Run(ctx, `
		alice join
		bob join
		* wander on
		sleep 5s
		alice login `+ddnet.Password+`
		sleep 1s
		alice rcon change_map dm1
		sleep 4s
		bob emote 2
		carol join
		sleep 2s
	`); err != nil {
		return err
	}
	if err := srv.ChangeMap(ctx, "LearnToPlay"); err != nil {
		return err
	}
	return bots.Run(ctx, `
		sleep 4s
		* leave
		sleep 500ms
	`)
}

// race has players run from the start of the course to its finish, for a minute and a half.
func race(ctx context.Context, _ *ddnet.Server, bots *ddnet.Bots) error {
	return bots.Run(ctx, `
		Ada join
		Grace join
		* race on
		sleep 2s
		Linus join
		Margaret join
		Linus race on
		Margaret race on
		Ada say hi all
		sleep 3s
		Edsger join
		Edsger race on
		Barbara join
		Barbara race on
		sleep 15s
		Margaret say who is first?
		sleep 20s
		Grace emote 2
		Linus say gg
		sleep 20s
		Ada say one more round
		sleep 15s
		Edsger leave
		sleep 5s
		Edsger join
		Edsger race on
		sleep 10s
		* leave
		sleep 500ms
	`)
}

// wander leaves two players moving.
func wander(ctx context.Context, _ *ddnet.Server, bots *ddnet.Bots) error {
	return bots.Run(ctx, `
		alice join
		bob join
		* wander on
		sleep 8s
		bob emote 1
		sleep 2s
	`)
}

func (s scenario) record(ctx context.Context, out string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	home, err := os.MkdirTemp("", "replayd-record-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()

	if s.draw != nil {
		if err := s.draw(filepath.Join(home, "maps")); err != nil {
			return err
		}
	}
	// Use the default port of DDNet servers, because the header contains it.
	srv, err := ddnet.Start(ctx, ddnet.Config{Dir: home, Name: "replayd samples: " + s.title, Map: s.mapName, Port: 8303, Settings: s.settings})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Kill()) }()
	bots, err := srv.Bots(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bots.Close()) }()
	if err := s.play(ctx, srv, bots); err != nil {
		return err
	}
	if err := s.end(srv); err != nil {
		return err
	}
	return s.keep(out, srv)
}

// keep replaces the scenario's recordings by the files that the server has written.
func (s scenario) keep(out string, srv *ddnet.Server) error {
	dir := filepath.Join(out, s.dir)
	if err := emptyDir(dir); err != nil {
		return err
	}
	gzipped := filepath.Join(out, "gzipped")
	if s.gzip {
		if err := emptyDir(gzipped); err != nil {
			return err
		}
	}
	if s.draw != nil {
		if err := s.draw(dir); err != nil {
			return err
		}
	}
	if s.demos {
		if err := keepDemos(dir, srv.DemoDir()); err != nil {
			return err
		}
	}
	for _, game := range srv.Games() {
		path := game.Recording
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if hit := private.Find(data); hit != nil {
			return fmt.Errorf("%s must not be published: it contains %q", filepath.Base(path), hit)
		}
		if s.byMap {
			if err := keepByMap(dir, data); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s/%s: %d bytes\n", s.dir, filepath.Base(path), len(data))
		if s.gzip {
			if err := writeGzip(filepath.Join(gzipped, filepath.Base(path)+".gz"), data); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepDemos keeps the demos of a directory, compressed, under the names of their maps.
func keepDemos(dir, from string) error {
	paths, err := filepath.Glob(filepath.Join(from, "*.demo"))
	if err != nil {
		return err
	}
	const begin, size = 7 + 1 + 64, 64 // of the map's name
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil || len(data) < begin+size {
			return fmt.Errorf("%s: %d bytes: %w", path, len(data), err)
		}
		name, _, _ := bytes.Cut(data[begin:begin+size], []byte{0})
		if err := writeGzip(filepath.Join(dir, string(name)+".demo.gz"), data); err != nil {
			return err
		}
	}
	return nil
}

// keepByMap keeps a compressed recording under the name of its map.
func keepByMap(dir string, data []byte) error {
	header, err := teehistorian.New(bytes.NewReader(data), teehistorian.Options{}).Header()
	if err != nil {
		return err
	}
	return writeGzip(filepath.Join(dir, header.MapName+".teehistorian.gz"), data)
}

// private matches text that a published recording must not contain: paths of
// the recording machine and the throw-away password. The server omits passwords.
var private = regexp.MustCompile(regexp.QuoteMeta(ddnet.Password) + `["\x00]|` + regexp.QuoteMeta(strings.TrimRight(os.TempDir(), "/")) + `/`)

func emptyDir(dir string) error {
	return errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

func writeGzip(path string, data []byte) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	packed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(packed, strings.NewReader(string(data))); err != nil {
		return err
	}
	return packed.Close()
}
