package opened_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/checkpoint"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/registry"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
	"github.com/replayd/replayd/service/temporary"
	"github.com/replayd/replayd/service/watch"
)

// house is an Opener of a directory, and what it takes.
type house struct {
	*opened.Opener
	admission *admission.Control
	dir       string
	drain     chan struct{}
}

// sample copies a sample to the directory.
func (h *house) sample(tb testing.TB, from, to string) {
	tb.Helper()
	data := decodertest.Sample(tb, from)
	if err := os.WriteFile(filepath.Join(h.dir, to), data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func build(tb testing.TB, limits admission.Amounts) *house {
	tb.Helper()
	h := &house{dir: tb.TempDir(), drain: make(chan struct{}), admission: admission.New(admission.Limits{All: limits})}
	h.sample(tb, "teehistorian/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian", "game")
	h.sample(tb, "teehistorian/gzipped/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian.gz", "packed")
	h.sample(tb, "datafile/sample.map", "map")
	h.sample(tb, "dem/dota.dem", "demo")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(h.dir, "demo"), old, old); err != nil { // the newest is the game
		tb.Fatal(err)
	}
	files, err := catalog.New([]catalog.Root{{Alias: "r", Dir: h.dir}, {Alias: "away", Store: away(h.dir)}}, catalog.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	watcher, err := watch.New(watch.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	x, err := index.Open(index.Config{Files: files, Watcher: watcher, Log: log, Codec: registry.Of, Describe: describe.Replay})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := x.InDirectory(tb.Context(), "r", index.Everything()); err != nil { // reads all headers
		tb.Fatal(err)
	}
	store := temporary.New()
	h.Opener = opened.New(opened.Config{
		Catalog: files, Temporary: store, Watcher: watcher, Index: x, Checkpoints: checkpoint.NewStore(1 << 20), Admission: h.admission,
		Successions: &succession.Finder{Index: x, Writer: func(ctx context.Context, e *index.Entry) (source.Writer, time.Time) {
			return files.Writer(ctx, e.Name, e.ID)
		}},
		Log: log, Drain: h.drain, Complete: func(context.Context, source.Info, *replaydv1.Replay) error { return nil },
	})
	tb.Cleanup(func() {
		h.Close()
		store.Close()
		if err := errors.Join(x.Close(), watcher.Close()); err != nil {
			tb.Error(err)
		}
	})
	return h
}

// call returns the context of a call. Its ticket is returned after the test, so that memory is given back by its owner alone.
func (h *house) call(tb testing.TB) context.Context {
	tb.Helper()
	t, err := h.admission.Enter(admission.Who{}, admission.Streams)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(t.Return)
	return admission.With(tb.Context(), t)
}

// open returns the open files below the directory.
func (h *house) open(tb testing.TB) (files []string) {
	tb.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Skip("open files are listed on Linux only")
	}
	for _, fd := range list {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, h.dir+"/") {
			files = append(files, to)
		}
	}
	return files
}

// nothing checks that no memory, feed or file is left. The index may have a file open for a moment.
func (h *house) nothing(tb testing.TB) {
	tb.Helper()
	files := h.open(tb)
	for range 1000 {
		if len(files) == 0 {
			break
		}
		time.Sleep(time.Millisecond)
		files = h.open(tb)
	}
	memory, taken, feeds := h.admission.Taken(admission.Memory), h.admission.Taken(admission.Feeds), h.Feeds()
	if memory != 0 || taken != 0 || feeds != 0 || len(files) > 0 {
		tb.Errorf("%d bytes and %d feeds are taken, there are %d feeds, and %v is open", memory, taken, feeds, files)
	}
}

const enough = 1 << 30

// TestOwner: whatever a request asks for, nothing of what was opened for it is left when opening it has failed, or when its
// stream has ended.
func TestOwner(t *testing.T) {
	bad := []*replaydv1.EventFilter{{Kinds: []string{"no such kind"}}}
	arrow := replaydv1.Encoding_ENCODING_ARROW
	for what, test := range map[string]struct {
		req    *replaydv1.StreamEventsRequest
		memory int64
		field  string // of a bad request
		err    error
	}{
		"as it is":           {req: &replaydv1.StreamEventsRequest{Replay: "r/game"}},
		"tables":             {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Encoding: arrow}},
		"names of players":   {req: &replaydv1.StreamEventsRequest{Replay: "r/game", ResolvePlayers: true}},
		"random access":      {req: &replaydv1.StreamEventsRequest{Replay: "r/map"}},
		"compressed, a feed": {req: &replaydv1.StreamEventsRequest{Replay: "r/packed", Follow: true}},
		"compressed, alone":  {req: &replaydv1.StreamEventsRequest{Replay: "r/packed", Follow: true, Encoding: arrow}},
		"compressed, and on": {req: &replaydv1.StreamEventsRequest{Replay: "r/packed", Follow: true, FollowSuccessors: true}},
		"a map never grows":  {req: &replaydv1.StreamEventsRequest{Replay: "r/map", Follow: true}},
		"followed by a feed": {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Follow: true}},
		"followed alone":     {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Follow: true, Encoding: arrow}},
		"the newest":         {req: &replaydv1.StreamEventsRequest{Replay: "r", Follow: true, FollowSuccessors: true}},
		"left for the next": {req: &replaydv1.StreamEventsRequest{
			Replay: "r/game", Follow: true, FollowSuccessors: true, SuccessorRule: replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY,
		}},
		"no such file":        {req: &replaydv1.StreamEventsRequest{Replay: "r/none"}, err: catalog.ErrNotFound},
		"a bad filter":        {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Include: bad}, field: "include[0].kinds[0]"},
		"a bad filter, live":  {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Include: bad, Follow: true}, field: "include[0].kinds[0]"},
		"a bad column":        {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Columns: []string{"none"}, Encoding: arrow}, field: "columns"},
		"names of nobody":     {req: &replaydv1.StreamEventsRequest{Replay: "r/map", ResolvePlayers: true}, field: "resolve_players"},
		"no successors":       {req: &replaydv1.StreamEventsRequest{Replay: "r/map", Follow: true, FollowSuccessors: true}, field: "follow_successors"},
		"an unknown rule":     {req: &replaydv1.StreamEventsRequest{Replay: "r/game", SuccessorRule: 99}, field: "successor_rule"},
		"no memory":           {req: &replaydv1.StreamEventsRequest{Replay: "r/game"}, memory: 1 << 10, err: errRefused},
		"no memory, tables":   {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Encoding: arrow}, memory: 600 << 10, err: errRefused},
		"no memory, a store":  {req: &replaydv1.StreamEventsRequest{Replay: "away/game"}, memory: 600 << 10, err: errRefused},
		"no memory of a feed": {req: &replaydv1.StreamEventsRequest{Replay: "r/game", Follow: true}, memory: 1 << 20, err: errRefused},
	} {
		t.Run(what, func(t *testing.T) {
			if test.memory == 0 {
				test.memory = enough
			}
			h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: test.memory})
			ctx, cancel := context.WithCancel(h.call(t))
			defer cancel()
			c, err := h.Open(ctx, test.req)
			if err == nil {
				if len(h.open(t)) == 0 {
					t.Error("no file is open")
				}
				grows := test.req.GetReplay() == "r/game" || test.req.GetReplay() == "r"
				if live := test.req.GetFollow() && grows; c.Replay.Live != live || (c.Replay.Follower != nil) != live {
					t.Errorf("it is live: %t", c.Replay.Live)
				}
				err = stream.Run(ctx, c, func(f *frame.Frame) error {
					f.Free()
					if test.req.GetFollow() {
						cancel()
					}
					return nil
				})
				if ctx.Err() != nil {
					err = nil
				}
			}
			check(t, err, test.field, test.err)
			h.nothing(t)
		})
	}
}

// TestTooShort: opening waits for a file of which too little is there, and leaves nothing when the daemon shuts down.
func TestTooShort(t *testing.T) {
	h := build(t, admission.Amounts{})
	if err := os.WriteFile(filepath.Join(h.dir, "short"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	close(h.drain)
	_, err := h.Open(t.Context(), &replaydv1.StreamEventsRequest{Replay: "r/short", Follow: true})
	check(t, err, "", stream.ErrDraining)
	h.nothing(t)
}

// TestStateFilter: a filter applies to a state that the request or its cursor asks for.
func TestStateFilter(t *testing.T) {
	h := build(t, admission.Amounts{})
	players := []*replaydv1.EventFilter{{Players: []int32{1}}}
	for _, start := range []*replaydv1.Start{
		{WithState: true}, {At: &replaydv1.Start_Cursor{Cursor: cursor.Cursor{Format: decoders.Teehistorian, Replay: 1, State: true}.Append(nil)}}, {},
	} {
		c, err := h.Open(t.Context(), &replaydv1.StreamEventsRequest{Replay: "r/game", Start: start, Include: players})
		if err != nil {
			t.Fatal(err)
		}
		if asked := start.GetWithState() || start.GetAt() != nil; (c.Replay.Options.StateFilter != nil) != asked {
			t.Errorf("%v: filtered is %t", start, !asked)
		}
		c.Replay.Close()
	}
}

// TestLeave: by the rule NextInDirectory a stream leaves a replay that may still grow as soon as another one begins.
func TestLeave(t *testing.T) {
	h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: enough})
	if err := os.Mkdir(filepath.Join(h.dir, "games"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(h.dir, "games", "first")
	h.sample(t, "teehistorian/mapchange/147533b5-1a14-4293-904b-b8266ebc336e.teehistorian", "games/first")
	if stat, err := os.Stat(first); err != nil || os.Truncate(first, stat.Size()*2/3) != nil { // it is still written
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.call(t), time.Minute)
	defer cancel()
	c, err := h.Open(ctx, &replaydv1.StreamEventsRequest{
		Replay: "r/games/first", Follow: true, FollowSuccessors: true, SuccessorRule: replaydv1.SuccessorRule_SUCCESSOR_RULE_NEXT_IN_DIRECTORY,
	})
	if err != nil {
		t.Fatal(err)
	}
	next := ""
	err = stream.Run(ctx, c, func(f *frame.Frame) error {
		defer f.Free()
		status := f.Response().GetFollowStatus()
		switch status.GetState() {
		case replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP:
			h.sample(t, "teehistorian/killed/d3a324eb-75e3-43b2-8684-d2cb343e85ec.teehistorian", "games/next")
		case replaydv1.FollowState_FOLLOW_STATE_SUCCESSOR:
			next = status.GetSuccessor().GetName()
			return io.EOF
		}
		return nil
	})
	if !errors.Is(err, io.EOF) || next != "r/games/next" {
		t.Errorf("%v: it went on to %q", err, next)
	}
	h.nothing(t)
}

// TestRenamedAgain: a replay whose file is renamed again while its new name is looked for is not taken for removed.
func TestRenamedAgain(t *testing.T) {
	h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: enough})
	data := decodertest.Sample(t, "teehistorian/mapchange/147533b5-1a14-4293-904b-b8266ebc336e.teehistorian")
	half := len(data) * 2 / 3 // the header is long
	path := func(i int) string { return filepath.Join(h.dir, fmt.Sprint("game ", i)) }
	if err := os.WriteFile(path(0), data[:half], 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.call(t), time.Minute)
	defer cancel()
	c, err := h.Open(ctx, &replaydv1.StreamEventsRequest{Replay: "r/game 0", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	var names sync.WaitGroup
	rename := func() {
		const often = 100
		for i := range often {
			if err := os.Rename(path(i), path(i+1)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
		file, err := os.OpenFile(path(often), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = file.Write(data[half:])
		if err := errors.Join(err, file.Close()); err != nil {
			t.Error(err)
		}
	}
	var end *replaydv1.StreamEnd
	err = stream.Run(ctx, c, func(f *frame.Frame) error {
		defer f.Free()
		if f.Response().GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
			names.Go(rename)
		}
		end = f.Response().GetEnd()
		return nil
	})
	names.Wait()
	if err != nil || end.GetReason() != replaydv1.EndReason_END_REASON_FINISHED {
		t.Errorf("%v, %v", err, end)
	}
	h.nothing(t)
}

// errRefused stands for any *admission.RefusedError.
var errRefused = errors.New("refused")

// check compares an error: a bad field, or one that is or stands for want.
func check(tb testing.TB, err error, field string, want error) {
	tb.Helper()
	bad, isBad := errors.AsType[*fault.Error](err)
	_, refused := errors.AsType[*admission.RefusedError](err)
	switch {
	case field != "" && (!isBad || !strings.HasPrefix(bad.Message, field+": ")) && (err == nil || !strings.HasPrefix(err.Error(), field+": ")):
		tb.Errorf("%v, want an error of %s", err, field)
	case errors.Is(want, errRefused) && !refused:
		tb.Errorf("%v, want a refusal", err)
	case field == "" && !errors.Is(want, errRefused) && !errors.Is(err, want):
		tb.Errorf("%v, want %v", err, want)
	}
}

// sent is an upload that counts how often it is closed.
type sent struct {
	io.Reader

	closed int
}

func (s *sent) Close() error {
	s.closed++
	return nil
}

// TestUpload: an upload is closed once, by its stream or when it is refused, and its bytes are followed as they arrive unless the
// format needs random access.
func TestUpload(t *testing.T) {
	h := build(t, admission.Amounts{admission.Streams: 10, admission.Memory: enough})
	for what, test := range map[string]struct {
		file    string
		req     *replaydv1.StreamEventsRequest
		follows bool
		field   string
	}{
		"read as it arrives": {file: "game", req: &replaydv1.StreamEventsRequest{}, follows: true},
		"spooled":            {file: "map", req: &replaydv1.StreamEventsRequest{}},
		"refused":            {file: "game", req: &replaydv1.StreamEventsRequest{NarrowColumns: true}, field: "narrow_columns"},
	} {
		t.Run(what, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(h.dir, test.file))
			if err != nil {
				t.Fatal(err)
			}
			ctx := h.call(t)
			up := &sent{Reader: bytes.NewReader(data)}
			c, err := h.Upload(ctx, test.req, func() (*source.File, error) {
				return source.FromReadCloser(up, "", source.Limits{Budget: admission.Of(ctx)})
			})
			if err == nil {
				if follows := c.Replay.Follower != nil; follows != test.follows || c.Replay.Live || c.Replay.Ahead {
					t.Errorf("it is followed: %t, live: %t, read ahead: %t", follows, c.Replay.Live, c.Replay.Ahead)
				}
				err = stream.Run(ctx, c, func(f *frame.Frame) error { f.Free(); return nil })
			}
			check(t, err, test.field, nil)
			h.nothing(t)
			if up.closed != 1 {
				t.Errorf("the upload was closed %d times", up.closed)
			}
		})
	}
}

// TestBadUpload: nothing is received for a request that is not valid.
func TestBadUpload(t *testing.T) {
	h := build(t, admission.Amounts{})
	for field, req := range map[string]*replaydv1.StreamEventsRequest{"slow_consumer": {SlowConsumer: 99}, "field_columns": {FieldColumns: true}} {
		_, err := h.Upload(t.Context(), req, func() (*source.File, error) {
			t.Errorf("%s: the upload was received", field)
			return nil, io.EOF
		})
		check(t, err, field, nil)
	}
}

// TestAlone: a file without a daemon is streamed, and closed in each case.
func TestAlone(t *testing.T) {
	h := build(t, admission.Amounts{})
	for _, columns := range [][]string{nil, {"none"}} {
		file, err := source.OpenLocal(filepath.Join(h.dir, "game"), source.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		req := &replaydv1.StreamEventsRequest{Columns: columns, Encoding: replaydv1.Encoding_ENCODING_ARROW}
		c, err := opened.Alone(t.Context(), file, req, codec.Secrets{}, "")
		if (err != nil) != (columns != nil) {
			t.Fatal(err)
		}
		if err == nil {
			if err := stream.Run(t.Context(), c, func(f *frame.Frame) error { f.Free(); return nil }); err != nil {
				t.Error(err)
			}
		}
		h.nothing(t)
	}
}

// away is a Store whose files wait for a network.
type away string

func (a away) String() string     { return string(a) }
func (away) Path(string) string   { return "" }
func (away) Every() time.Duration { return time.Hour }
func (a away) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	return os.Stat(filepath.Join(string(a), path))
}

func (a away) Open(_ context.Context, path string) (source.Handle, error) {
	f, err := os.Open(filepath.Join(string(a), path))
	return waiting{f}, err
}

func (a away) ReadDir(_ context.Context, path string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	list, err := os.ReadDir(filepath.Join(string(a), path))
	for _, entry := range list {
		if info, err := entry.Info(); err == nil {
			each(info)
		}
	}
	if err != nil {
		return nil, err
	}
	return os.Stat(filepath.Join(string(a), path))
}

type waiting struct{ *os.File }

func (waiting) OnWait(func(<-chan struct{}) error) {}

func (waiting) Cost() int64 { return 1 << 20 }

// TestAhead: other goroutines may read ahead in files that are there, and not where reads wait for a network.
func TestAhead(t *testing.T) {
	h := build(t, admission.Amounts{})
	for root, want := range map[string]bool{"r": true, "away": false} {
		c, err := h.Open(t.Context(), &replaydv1.StreamEventsRequest{Replay: root + "/demo"})
		if err != nil {
			t.Fatal(err)
		}
		if c.Replay.Ahead != want {
			t.Errorf("%s: %t", root, c.Replay.Ahead)
		}
		c.Replay.Close()
	}
}
