package service_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/streamtest"
)

var borders = flag.Int("borders", 100, "how many cases TestBorders makes, rounded to hundreds")

// The tests of this file compare what a token gets from two daemons that serve the same files, of which one has roots beside them that the token
// cannot see. The files there are forged: they have the identities, names and maps of files that the token sees, and name them as their
// predecessors.

// The roots of a world. "double" is the directory of "own" under another alias, and "joined" belongs together with "own" in some worlds.
const (
	own, joinedRoot, hidden, double = "own", "joined", "hidden", "double"
)

// forged describes a file.
type forged struct {
	root, path string
	kind       string // players, carried, finished, growing, map, or other
	number     int    // of the identity
	prev       int    // of the predecessor, 0 for none
	server     string
	after      int // minutes, of its start
	ofMap      int // of the game, or of the map itself; 0 for none
	old        bool
	link       bool // the same file is in own, too
}

// mapNumber returns one of some maps, all of the same size.
func mapNumber(tb testing.TB, number int) []byte {
	data := slices.Clone(read(tb, samples("datafile", "sample.map")))
	data[len(data)-1] ^= byte(number)
	return data
}

const playersSample = "ef5c2009-cf60-40cb-9f39-33e9fdde371a.teehistorian"

// data returns the contents of a file.
func (f forged) data(tb testing.TB) []byte {
	tb.Helper()
	sample := read(tb, finishedSample)
	if f.kind == "players" { // in which three are at the end
		sample = read(tb, samples("teehistorian", "mapchange", playersSample))
	}
	end := bytes.IndexByte(sample[16:], 0) + 16
	header := map[string]any{}
	if err := json.Unmarshal(sample[16:end], &header); err != nil {
		tb.Fatal(err)
	}
	body := sample[end:]
	switch f.kind {
	case "map":
		return mapNumber(tb, f.ofMap)
	case "other":
		return []byte("something else")
	case "growing":
		body = body[:len(body)-1]
	case "carried": // three appear whom the file does not name
		header["version_minor"] = "9"
		body = []byte("\x00\x41\x00\x42\x00\x0a\x14\x42\x01\x0a\x14\x42\x02\x0a\x14\x41\x0a\x40")
	}
	header["game_uuid"], header["server_name"], header["server_port"] = uuidOf(f.number), f.server, "8303"
	header["start_time"] = time.Date(2026, 1, 2, 3, f.after, 0, 0, time.UTC).Format("2006-01-02T15:04:05-0700")
	if f.prev != 0 {
		header["prev_game_uuid"] = uuidOf(f.prev)
	}
	if f.ofMap != 0 {
		data := mapNumber(tb, f.ofMap)
		header["map_size"], header["map_sha256"] = fmt.Sprint(len(data)), fmt.Sprintf("%x", sha256.Sum256(data))
	}
	text, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	return slices.Concat(sample[:16], text, body)
}

// world is a set of directories, and what is served of them.
type world struct {
	*testing.T

	dirs     map[string]string // by root
	sees     map[string]bool   // the roots that the token sees
	lineages []string
	files    []forged
}

// newWorld makes the directories of a world.
func newWorld(t *testing.T, files []forged, joins, hides bool) *world {
	t.Helper()
	w := &world{T: t, dirs: map[string]string{}, sees: map[string]bool{own: true}, files: files}
	base := t.TempDir()
	for _, root := range []string{own, joinedRoot, hidden} {
		w.dirs[root] = filepath.Join(base, root)
		if err := os.MkdirAll(filepath.Join(w.dirs[root], "d"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.dirs[double] = w.dirs[own]
	if joins {
		w.sees[joinedRoot] = true
		w.lineages = append(w.lineages, own+","+joinedRoot)
	}
	if hides {
		w.lineages = append(w.lineages, hidden+","+double)
	}
	for _, f := range files {
		w.write(f)
	}
	return w
}

func (w *world) write(f forged) {
	w.Helper()
	path := filepath.Join(w.dirs[f.root], f.path)
	if f.link {
		_ = os.Remove(path)
		if err := os.Link(filepath.Join(w.dirs[own], f.path), path); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	_ = os.Remove(path) // it may be a link to another one
	write(w, path, f.data(w))
	if f.old {
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, past, past); err != nil {
			w.Fatal(err)
		}
	}
}

// serve starts a daemon that has only some of the roots. Its tokens are "all" and "some".
func (w *world) serve(roots ...string) *daemon {
	w.Helper()
	var list []catalog.Root
	known := map[string]bool{}
	for _, root := range roots {
		list = append(list, catalog.Root{Alias: root, Dir: w.dirs[root]})
		known[root] = false
	}
	var lineages []string
	for _, group := range w.lineages {
		if !slices.ContainsFunc(strings.Split(group, ","), func(alias string) bool { return !slices.Contains(roots, alias) }) {
			lineages = append(lineages, group)
		}
	}
	return start(w, w.dirs[own], func(c *service.Config) {
		var err error
		if c.Catalog, err = catalog.New(list, catalog.Options{}); err != nil {
			w.Fatal(err)
		}
		if c.Lineages, err = index.ParseLineages(lineages, known); err != nil {
			w.Fatal(err)
		}
		tokens := filepath.Join(filepath.Dir(w.dirs[own]), "tokens")
		write(w, tokens, []byte("all\nsome roots="+strings.Join(slices.Sorted(maps.Keys(w.sees)), ",")+"\n"))
		if c.Gate, err = access.NewGate(access.Options{TokenFile: tokens, Log: c.Log, Together: c.Lineages.Roots()}); err != nil {
			w.Fatal(err)
		}
		c.SurveyBudget = 0 // what is decoded depends on the requests alone
	})
}

// warm asks a daemon for everything, with a token that sees all roots.
func (w *world) warm(d *daemon) (cursors map[string][]byte) {
	w.Helper()
	cursors = map[string][]byte{}
	ctx := as(timeout(w), "all")
	list, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{})
	if err != nil {
		w.Fatal(err)
	}
	for range 2 { // the second time with what was found the first time
		for _, r := range list.GetReplays() {
			_, _ = d.client.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: r.GetName(), View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS})
			s := d.Session(ctx, &replaydv1.StreamEventsRequest{Replay: r.GetName()}, nil)
			cursors[r.GetName()] = streamtest.History{s}.Cursor()
		}
	}
	return cursors
}

// answers returns everything that the token gets, by what it asks for.
func (w *world) answers(d *daemon, cursors map[string][]byte) map[string]string {
	got := map[string]string{}
	ctx := as(timeout(w), "some")
	note := func(what string, m proto.Message, err error) {
		b, bad := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		got[what] = fmt.Sprintf("%v %v %s", err, bad, b)
	}
	stream := func(what string, req *replaydv1.StreamEventsRequest) {
		s := d.Session(ctx, req, nil)
		got[what] = fmt.Sprintf("%v %s", s.Err, bytes.Join(s.Responses, []byte("\n")))
	}
	views := []replaydv1.ReplayView{replaydv1.ReplayView_REPLAY_VIEW_PLAYERS, replaydv1.ReplayView_REPLAY_VIEW_FULL, replaydv1.ReplayView_REPLAY_VIEW_BASIC}
	for _, f := range w.files {
		name := f.root + "/" + f.path
		for _, view := range views {
			r, err := d.client.GetReplay(ctx, &replaydv1.GetReplayRequest{Replay: name, View: view})
			note(fmt.Sprint(view, " ", name), r, err)
		}
		report, err := d.client.GetReport(ctx, &replaydv1.GetReportRequest{Replay: name})
		note("report "+name, report, err)
		stream("events "+name, &replaydv1.StreamEventsRequest{Replay: name, ResolvePlayers: true, Start: &replaydv1.Start{WithState: true}})
		for _, directory := range []string{f.root, f.root + "/d"} {
			r, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{Directory: directory})
			note("list "+directory, r, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cursors)) {
		at := &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: cursors[name]}}
		stream("cursor of "+name, &replaydv1.StreamEventsRequest{Replay: own + "/gone", Start: at})
		stream("cursor of it for "+name, &replaydv1.StreamEventsRequest{Replay: name, Start: at})
	}
	filters := map[string]*replaydv1.ReplayFilter{"player": {PlayerName: "*a*"}, "server": {Server: "s*"}, "nothing": nil}
	for _, state := range []replaydv1.ReplayState{
		replaydv1.ReplayState_REPLAY_STATE_GROWING, replaydv1.ReplayState_REPLAY_STATE_SILENT,
		replaydv1.ReplayState_REPLAY_STATE_FINISHED, replaydv1.ReplayState_REPLAY_STATE_ABANDONED,
	} {
		filters[state.String()] = &replaydv1.ReplayFilter{States: []replaydv1.ReplayState{state}}
	}
	for what, filter := range filters {
		r, err := d.client.ListReplays(ctx, &replaydv1.ListReplaysRequest{Filter: filter, View: replaydv1.ReplayView_REPLAY_VIEW_PLAYERS})
		note("search for "+what, r, err)
	}
	watch, err := d.client.WatchReplays(ctx, &replaydv1.WatchReplaysRequest{})
	for err == nil {
		var r *replaydv1.WatchReplaysResponse
		if r, err = watch.Recv(); r.GetInitialDone() {
			note("watch", r, err)
			break
		}
	}
	got["upload"] = w.upload(d, forged{kind: "carried", number: 77, prev: 1, ofMap: 1, server: "s"}.data(w))
	return got
}

// upload returns what the token gets of an upload.
func (w *world) upload(d *daemon, data []byte) (got string) {
	w.Helper()
	up, err := d.client.DecodeReplay(as(timeout(w), "some"))
	if err != nil {
		w.Fatal(err)
	}
	options := &replaydv1.StreamEventsRequest{ResolvePlayers: true, Start: &replaydv1.Start{WithState: true}}
	_ = up.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: options}})
	_ = up.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: data}})
	_ = up.CloseSend()
	for {
		r, err := up.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				got += err.Error()
			}
			return got
		}
		for _, list := range [][]byte{marshal(r.GetStart().GetReplay()), marshal(r.GetState()), marshal(r.GetBatch().GetTeehistorian())} {
			got += string(list)
		}
	}
}

func marshal(m proto.Message) []byte {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return b
}

// drawFile draws a file of a root.
func drawFile(t *rapid.T, root string) forged {
	f := forged{
		root: root, path: rapid.SampledFrom([]string{"a", "b", "c", "d/a", "d/b"}).Draw(t, "path"),
		kind:   rapid.SampledFrom([]string{"players", "players", "carried", "carried", "finished", "growing", "map", "other"}).Draw(t, "kind"),
		number: rapid.IntRange(1, 4).Draw(t, "number"), prev: rapid.IntRange(0, 4).Draw(t, "prev"),
		server: rapid.SampledFrom([]string{"s", "t"}).Draw(t, "server"), after: rapid.IntRange(0, 50).Draw(t, "after"),
		ofMap: rapid.IntRange(0, 2).Draw(t, "map"), old: rapid.Bool().Draw(t, "old"),
	}
	f.link = root != own && rapid.IntRange(0, 5).Draw(t, "link") == 0
	return f
}

// TestBorders: what a token gets has the same bytes as if the roots that it cannot see were not there.
func TestBorders(t *testing.T) {
	t.Parallel()
	runs := max(*borders/100, 1)
	if streamtest.Race {
		runs = 1
	}
	for range runs {
		rapid.Check(t, func(r *rapid.T) {
			var files []forged
			for _, root := range []string{own, own, own, joinedRoot, joinedRoot, hidden, hidden, hidden, hidden} {
				files = append(files, drawFile(r, root))
			}
			joins, hides := rapid.Bool().Draw(r, "joined"), rapid.Bool().Draw(r, "hidden is joined")
			different := ""
			t.Run("case", func(t *testing.T) { different = newWorld(t, files, joins, hides).compare() })
			if different != "" {
				r.Fatal(different)
			}
		})
	}
}

// compare returns how the answers of a daemon with all roots and of one with those that the token sees differ.
func (w *world) compare() string {
	all, bare := w.serve(own, joinedRoot, hidden, double), w.serve(slices.Sorted(maps.Keys(w.sees))...)
	cursors := w.warm(all)
	w.warm(bare)
	// The index learns of a file in the background; what it knows at last counts.
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got, want := w.answers(all, cursors), w.answers(bare, cursors)
		different := ""
		for _, what := range slices.Sorted(maps.Keys(want)) {
			if got[what] != want[what] {
				different += fmt.Sprintf("%s\nwith the roots that the token cannot see: %q\nwithout them: %q\n", what, got[what], want[what])
			}
		}
		if different == "" || time.Now().After(deadline) {
			return different
		}
	}
}

// followed is what a stream of a live game has told, without the times at which it did.
type followed struct {
	mu     sync.Mutex
	Events []string
	Names  []string // of replays to which it went, or may go
	End    string
	ends   int // FINISH events
}

// take notes a response.
func (f *followed) take(r *replaydv1.StreamEventsResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ev := range r.GetBatch().GetTeehistorian().GetEvents() {
		f.Events = append(f.Events, string(marshal(ev)))
		if ev.GetFinish() != nil {
			f.ends++
		}
	}
	for _, name := range append(r.GetFollowStatus().GetWaiting().GetLikelySuccessors(), r.GetFollowStatus().GetSuccessor().GetName()) {
		if name != "" && !slices.Contains(f.Names, name) {
			f.Names = append(f.Names, name)
		}
	}
	if r.GetEnd() != nil {
		f.End = r.GetEnd().GetReason().String()
	}
}

func (f *followed) state() (events, ends int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.Events), f.ends
}

// follow follows a live game with a token until the stream ends, or a second game of it has.
func (w *world) follow(d *daemon, token string, req *replaydv1.StreamEventsRequest) (f *followed, wait func()) {
	f = &followed{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := d.Session(as(timeout(w), token), req, func(r *replaydv1.StreamEventsResponse) bool {
			f.take(r)
			_, ends := f.state()
			return ends < 2
		})
		if s.Err != nil {
			f.End += s.Err.Error()
		}
	}()
	return f, func() { <-done }
}

// TestBordersFollowed: a live game ends, and goes on, as if the files in roots that the token cannot see were not there; so it is for
// an administrator who sees them. Files with another daemon's answers come while the game is followed.
func TestBordersFollowed(t *testing.T) {
	t.Parallel()
	for range max(*borders/100, 1) {
		for _, joins := range []bool{false, true} {
			t.Run(fmt.Sprint("joined ", joins), func(t *testing.T) {
				t.Parallel()
				live := forged{root: own, path: "live", kind: "growing", number: 9, server: "s"}
				w := newWorld(t, []forged{live}, joins, true)
				all, bare := w.serve(own, joinedRoot, hidden, double), w.serve(slices.Sorted(maps.Keys(w.sees))...)
				present := len(offline(t, filepath.Join(w.dirs[own], "live"), &replaydv1.StreamEventsRequest{}).Events)
				type pair struct {
					got, want         *followed
					waitGot, waitWant func()
				}
				pairs := map[string]*pair{}
				for what, req := range map[string]*replaydv1.StreamEventsRequest{
					"": {}, "resolved, ": {ResolvePlayers: true}, "successors, ": {FollowSuccessors: true},
				} {
					req.Replay, req.Follow = own+"/live", true
					for _, token := range []string{"all", "some"} {
						p := &pair{}
						p.got, p.waitGot = w.follow(all, token, req)
						p.want, p.waitWant = w.follow(bare, token, req)
						pairs[what+token] = p
					}
				}
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
					least := present
					for _, p := range pairs {
						got, _ := p.got.state()
						want, _ := p.want.state()
						least = min(least, got, want)
					}
					if least == present {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("a follower has %d of %d events", least, present)
					}
				}
				if n := all.meter(t, "replayd_feeds", ""); n != 4 { // of each of two tokens: with players, and without
					t.Errorf("%v feeds", n)
				}

				for _, f := range []forged{
					{root: hidden, path: "d/next", kind: "players", number: 10, prev: 9, server: "s", after: 5},
					{root: hidden, path: "copy", kind: "players", number: 9, server: "s"},
					{root: hidden, path: "live", kind: "finished", number: 11, prev: 9, server: "s", after: 6},
				} {
					w.write(f)
					if _, err := all.client.GetReplay(as(timeout(t), "all"), &replaydv1.GetReplayRequest{Replay: f.root + "/" + f.path}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(200 * time.Millisecond) // for what must not happen
				file, err := os.OpenFile(filepath.Join(w.dirs[own], "live"), os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = file.WriteString("\x40")
					err = errors.Join(err, file.Close())
				}
				if err != nil {
					t.Fatal(err)
				}
				w.write(forged{root: own, path: "next", kind: "finished", number: 12, prev: 9, server: "s", after: 7})
				for what, p := range pairs {
					p.waitGot()
					p.waitWant()
					slices.Sort(p.got.Names)
					slices.Sort(p.want.Names)
					if !reflect.DeepEqual(p.got, p.want) {
						t.Errorf("%s: %d events, names %q, end %s; without the other roots %d, %q, %s", what,
							len(p.got.Events), p.got.Names, p.got.End, len(p.want.Events), p.want.Names, p.want.End)
					}
				}
			})
		}
	}
}
