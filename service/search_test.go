package service_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/decoders/dem/demtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
)

// names returns the names of the replays that a search finds, page by page.
func (d *daemon) names(t *testing.T, f *replaydv1.ReplayFilter, size int32) (found []string) {
	t.Helper()
	for token := ""; ; {
		r, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Filter: f, PageSize: size, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, replay := range r.GetReplays() {
			found = append(found, filepath.Base(replay.GetName()))
		}
		if token = r.GetNextPageToken(); token == "" {
			return found
		}
	}
}

// searched waits until the index has examined all files.
func (d *daemon) searched(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Filter: &replaydv1.ReplayFilter{PlayerName: "*"}})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.GetCoverage(); c.GetTotalFiles() > 0 && c.GetTotalFiles() == c.GetSearchedFiles() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %v was searched", r.GetCoverage())
		}
	}
}

// TestOrder lists replays in each order, in pages of each size, which equals sorting what a list by name describes.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1_700_000_000, 0)
	for i := range 9 {
		g := gameOf{number: i + 1, server: strings.Repeat("s", 1+i*7%4), start: at.Add(time.Duration(i*5%7) * time.Hour), killed: i%4 == 1}
		write(t, filepath.Join(dir, g.file()), g.data(t))
		age(t, filepath.Join(dir, g.file()), time.Hour)
	}
	d := start(t, dir)
	d.searched(t)
	all, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for order, value := range map[replaydv1.ReplayOrder]func(*replaydv1.Replay) int64{
		replaydv1.ReplayOrder_REPLAY_ORDER_NEWEST:  func(r *replaydv1.Replay) int64 { return r.GetStartTime().AsTime().UnixNano() },
		replaydv1.ReplayOrder_REPLAY_ORDER_LONGEST: func(r *replaydv1.Replay) int64 { return int64(r.GetDuration().AsDuration()) },
		replaydv1.ReplayOrder_REPLAY_ORDER_LARGEST: (*replaydv1.Replay).GetSizeBytes,
	} {
		want := slices.Clone(all.GetReplays())
		slices.SortStableFunc(want, func(a, b *replaydv1.Replay) int { return cmp.Compare(value(b), value(a)) })
		for _, size := range []int32{1, 4, 9, 1000} {
			var got []string
			for token := ""; ; {
				r, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Order: order, PageSize: size, PageToken: token})
				if err != nil {
					t.Fatal(err)
				}
				if c := r.GetCoverage(); c.GetMatchingFiles() != 9 || c.GetTotalFiles() != 9 {
					t.Errorf("%v: coverage %v", order, c)
				}
				for _, replay := range r.GetReplays() {
					got = append(got, replay.GetName())
				}
				if token = r.GetNextPageToken(); token == "" || len(got) > 9 {
					break
				}
				if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageToken: token}); status.Code(err) != codes.InvalidArgument {
					t.Errorf("a token of another order: %v", err)
				}
			}
			for i, r := range want {
				if i >= len(got) || got[i] != r.GetName() || len(got) != len(want) {
					t.Errorf("%v, pages of %d: %q, want %v", order, size, got, want)
					break
				}
			}
		}
	}
	found, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{
		Order: replaydv1.ReplayOrder_REPLAY_ORDER_NEWEST, PageSize: 2, Filter: &replaydv1.ReplayFilter{Text: "ss:"},
	})
	if err != nil || len(found.GetReplays()) != 2 || found.GetCoverage().GetMatchingFiles() == 9 {
		t.Errorf("with words: %v, %v", found, err)
	}
	if _, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{Order: 99}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an unknown order: %v", err)
	}
}

// TestSearch searches replays by each condition, and with an index that another process stored, in one page and in many.
func TestSearch(t *testing.T) {
	dir, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	at := time.Unix(1_700_000_000, 0)
	for i := range 6 {
		g := gameOf{number: i + 1, server: fmt.Sprint("server ", i%2), start: at.Add(time.Duration(i) * time.Hour), killed: i == 5}
		write(t, filepath.Join(dir, fmt.Sprint("s", i%2), g.file()), g.data(t))
	}
	age(t, filepath.Join(dir, "s1", gameOf{number: 6}.file()), time.Hour)
	write(t, filepath.Join(dir, "notes.txt"), []byte("no replay, and long enough to be recognized as none: a file of a few bytes may become one"))
	game := func(numbers ...int) (files []string) {
		for _, n := range numbers {
			files = append(files, gameOf{number: n}.file())
		}
		return files
	}
	for _, run := range []string{"at first", "from the stored index"} {
		d := start(t, dir, func(c *service.Config) { c.IndexPath = index })
		d.searched(t)
		for what, test := range map[string]struct {
			filter *replaydv1.ReplayFilter
			want   []string
		}{
			"everything":          {&replaydv1.ReplayFilter{}, game(1, 3, 5, 2, 4, 6)},
			"a server":            {&replaydv1.ReplayFilter{Server: "SERVER 1:*"}, game(2, 4, 6)},
			"a server, in full":   {&replaydv1.ReplayFilter{Server: "server 1"}, nil},
			"a time":              {&replaydv1.ReplayFilter{EarliestStartTime: timestamppb.New(at.Add(time.Hour)), LatestStartTime: timestamppb.New(at.Add(3 * time.Hour))}, game(3, 2, 4)},
			"a player":            {&replaydv1.ReplayFilter{PlayerName: "Alice"}, game(1, 3, 5, 2, 4, 6)},
			"nobody":              {&replaydv1.ReplayFilter{PlayerName: "mallory"}, nil},
			"what is over":        {&replaydv1.ReplayFilter{States: []replaydv1.ReplayState{replaydv1.ReplayState_REPLAY_STATE_FINISHED}}, game(1, 3, 5, 2, 4)},
			"what may go on":      {&replaydv1.ReplayFilter{States: []replaydv1.ReplayState{replaydv1.ReplayState_REPLAY_STATE_SILENT}}, game(6)},
			"a map":               {&replaydv1.ReplayFilter{MapName: "no*"}, nil},
			"words":               {&replaydv1.ReplayFilter{Text: "aLICE  server s1/"}, game(2, 4, 6)},
			"a word of a name":    {&replaydv1.ReplayFilter{Text: "/s0/"}, game(1, 3, 5)},
			"words, one nowhere":  {&replaydv1.ReplayFilter{Text: "alice mallory"}, nil},
			"words, no pattern":   {&replaydv1.ReplayFilter{Text: "al*"}, nil},
			"a player and server": {&replaydv1.ReplayFilter{PlayerName: "a?ice", Server: "*0:8303"}, game(1, 3, 5)},
		} {
			for _, size := range []int32{1, 4, 1000} {
				if got := d.names(t, test.filter, size); !slices.Equal(got, test.want) {
					t.Errorf("%s, %s, pages of %d: %q, want %q", run, what, size, got, test.want)
				}
			}
		}
		// New files are found everywhere, and removed files are not.
		late := gameOf{number: 9, server: "late", start: at}
		write(t, filepath.Join(dir, "new", "deep", late.file()), late.data(t))
		if got := d.names(t, nil, 100); !slices.Contains(got, late.file()) {
			t.Errorf("%s: a new file is not listed: %q", run, got)
		}
		if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if got := d.names(t, nil, 100); len(got) != 6 {
			t.Errorf("%s: after it went: %q", run, got)
		}
		first, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{PageSize: 1, Filter: &replaydv1.ReplayFilter{Server: "server 0:*"}})
		if err != nil || first.GetNextPageToken() == "" {
			t.Fatalf("%v, %v", first, err)
		}
		if r, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{
			PageSize: 1, Filter: &replaydv1.ReplayFilter{Server: "server 1:*"}, PageToken: first.GetNextPageToken(),
		}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: a token of another search: %v, %v", run, r, err)
		}
		d.stop()
	}
	// Another game was written over a game while no daemon ran. For the file system it is the same file.
	write(t, filepath.Join(dir, "s0", gameOf{number: 1}.file()), gameOf{number: 77, server: "other", start: at}.data(t))
	d := start(t, dir, func(c *service.Config) { c.IndexPath = index })
	d.searched(t)
	if got := d.names(t, &replaydv1.ReplayFilter{Server: "other:*"}, 10); !slices.Equal(got, game(1)) {
		t.Errorf("what was written over: %q", got)
	}
}

// TestDemosOver: a demo that has its end is over, compressed too, and its length is known. One that was cut has neither. The index keeps it.
func TestDemosOver(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "index")
	data := read(t, samples("dem", "dota.dem"))
	write(t, filepath.Join(dir, "whole.dem"), data)
	write(t, filepath.Join(dir, "packed.dem.gz"), decodertest.Gzip(t, data))
	write(t, filepath.Join(dir, "cut.dem"), data[:len(data)/2])
	age(t, filepath.Join(dir, "cut.dem"), time.Hour)
	for _, run := range []string{"at first", "from the stored index"} {
		d := start(t, dir, func(c *service.Config) { c.IndexPath = kept })
		d.searched(t)
		for state, want := range map[replaydv1.ReplayState][]string{
			replaydv1.ReplayState_REPLAY_STATE_FINISHED: {"packed.dem.gz", "whole.dem"},
			replaydv1.ReplayState_REPLAY_STATE_SILENT:   {"cut.dem"},
		} {
			if got := d.names(t, &replaydv1.ReplayFilter{States: []replaydv1.ReplayState{state}}, 10); !slices.Equal(got, want) {
				t.Errorf("%s, %v: %q, want %q", run, state, got, want)
			}
		}
		get := func(file string) *replaydv1.Replay {
			r, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: name(file)})
			if err != nil {
				t.Fatal(err)
			}
			return r.GetReplay()
		}
		whole, packed := get("whole.dem"), get("packed.dem.gz")
		if whole.GetLastTick() == 0 || whole.GetDuration().AsDuration() == 0 || whole.GetTicksPerSecond() == 0 ||
			packed.GetLastTick() != whole.GetLastTick() || packed.GetDuration().AsDuration() != whole.GetDuration().AsDuration() ||
			packed.GetTicksPerSecond() != whole.GetTicksPerSecond() {
			t.Errorf("%s: %v, compressed %v", run, whole, packed)
		}
		d.stop()
	}
}

// TestLineups: a list says who played, as a description does, without the header of each file being read for it. A demo says it when its end
// is there, and the index keeps it.
func TestLineups(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "index")
	copyIn(t, dir, samples("sc2replay", "battle.SC2Replay"))
	write(t, filepath.Join(dir, "game.teehistorian"), gameOf{number: 1, server: "ctf", start: time.Unix(1_700_000_000, 0)}.data(t))
	data := read(t, samples("dem", "dota.dem"))
	want := map[string]string{
		"battle.SC2Replay": "Alice (Terran) vs Bob (Zerg), Alice won", "game.teehistorian": "alice, bob, carol, Carol der Große", "live.dem": "somebody (npc_dota_hero_axe) vs another (npc_dota_hero_lina), somebody won",
	}
	lineups := func(d *daemon) map[string]string {
		r, err := d.client.ListReplays(timeout(t), &replaydv1.ListReplaysRequest{})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, replay := range r.GetReplays() {
			found[filepath.Base(replay.GetName())] = replay.GetLineup()
		}
		return found
	}
	w := create(t, dir, "live.dem")
	w.write(data[:len(data)/2])
	for _, run := range []string{"at first", "from the stored index"} {
		d := start(t, dir, func(c *service.Config) { c.IndexPath = kept })
		d.searched(t)
		if run == "at first" {
			if got := lineups(d)["live.dem"]; got != "" {
				t.Errorf("a demo without its end says %q", got)
			}
			w.write(data[len(data)/2:])
		}
		for deadline := time.Now().Add(time.Minute); !maps.Equal(lineups(d), want); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %q, want %q", run, lineups(d), want)
			}
		}
		for file, lineup := range want {
			r, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: name(file)})
			if err != nil || r.GetReplay().GetLineup() != lineup {
				t.Errorf("%s, %s: %q, %v", run, file, r.GetReplay().GetLineup(), err)
			}
		}
		d.stop()
	}
}

// TestPlayersOfDemos: players whom no header names are found in lists, descriptions and searches, by name, in a demo that has ended, in a
// compressed one, in one that was sent, and in one that grows. Of one in which there are none yet nobody is known.
func TestPlayersOfDemos(t *testing.T) {
	dir := t.TempDir()
	ended, grows := demtest.Players("csgo"), demtest.Players("citadel")
	write(t, filepath.Join(dir, "ended.dem"), ended)
	write(t, filepath.Join(dir, "packed.dem.gz"), decodertest.Gzip(t, ended))
	nobody := read(t, samples("dem", "dota.dem"))
	write(t, filepath.Join(dir, "nobody.dem"), nobody[:len(nobody)/2])
	d := start(t, dir)
	w := create(t, dir, "live.dem")
	w.write(grows[:len(grows)/2])
	view := func(replay string, view replaydv1.ReplayView) *replaydv1.Replay {
		t.Helper()
		r, err := d.client.GetReplay(timeout(t), &replaydv1.GetReplayRequest{Replay: replay, View: view})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetReplay()
	}
	d.searched(t)
	if r := view(name("nobody.dem"), replaydv1.ReplayView_REPLAY_VIEW_PLAYERS); len(r.GetPlayers()) > 0 || r.PlayersTick != nil || r.GetLineup() != "" {
		t.Errorf("before anybody plays: %v", r)
	}
	w.write(grows[len(grows)/2:])
	sent, err := createReplay(timeout(t), d.client, nil, ended)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); len(d.names(t, &replaydv1.ReplayFilter{PlayerName: "ANOTHER"}, 10)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the players of the live demo are not found")
		}
	}
	for _, test := range []struct {
		filter *replaydv1.ReplayFilter
		want   string
	}{
		{&replaydv1.ReplayFilter{PlayerName: "larr?"}, "[ended.dem packed.dem.gz]"}, {&replaydv1.ReplayFilter{Text: "LARRY"}, "[ended.dem packed.dem.gz]"},
		{&replaydv1.ReplayFilter{PlayerName: "some*"}, "[ended.dem live.dem packed.dem.gz]"}, {&replaydv1.ReplayFilter{PlayerName: "watcher"}, "[]"},
	} {
		if found := fmt.Sprint(d.names(t, test.filter, 10)); found != test.want {
			t.Errorf("%v: %s, want %s", test.filter, found, test.want)
		}
	}
	for replay, want := range map[string]string{
		name("ended.dem"): "somebody vs Larry", name("packed.dem.gz"): "somebody vs Larry", sent.GetName(): "somebody vs Larry",
		name("live.dem"): "somebody vs another",
	} {
		for _, how := range []replaydv1.ReplayView{
			replaydv1.ReplayView_REPLAY_VIEW_BASIC, replaydv1.ReplayView_REPLAY_VIEW_FULL, replaydv1.ReplayView_REPLAY_VIEW_PLAYERS,
			replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS,
		} {
			basic := how == replaydv1.ReplayView_REPLAY_VIEW_BASIC
			if replay == sent.GetName() && how != replaydv1.ReplayView_REPLAY_VIEW_PARTICIPANTS {
				continue // nothing decodes it in the background
			}
			r := view(replay, how)
			if r.GetLineup() != want || (len(r.GetPlayers()) != 2 || r.PlayersTick == nil) != basic {
				t.Errorf("%s, %v: %v", replay, how, r)
			}
			if (r.GetHeader() != nil) != (how == replaydv1.ReplayView_REPLAY_VIEW_FULL) {
				t.Errorf("%s, %v: header %v", replay, how, r.GetHeader())
			}
		}
	}
}
