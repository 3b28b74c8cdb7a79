package export_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/decoders/teehistorian/teetest"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/internal/daemontest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/frame"
)

// TestMemory: with next to no memory, all rows wait in files or are row groups at once, and the tables have the same rows. No such file has
// a name, also if the export is given up.
func TestMemory(t *testing.T) {
	c := connect(t)
	for _, name := range []string{
		"r/dem/dota.dem", "r/sc2replay/5.0.SC2Replay", "r/datafile/sample.map",
		"r/teehistorian/finished/" + game,
	} {
		want := tables(t, write(t, c, name, 0))
		if len(want) < 5 {
			t.Errorf("%s has %d tables", name, len(want))
		}
		for _, most := range []int{1, 16 << 10} {
			if most > 1 && testing.Short() {
				continue
			}
			got := tables(t, write(t, c, name, most))
			if len(got) != len(want) {
				t.Errorf("%s with %d bytes: %d tables, want %d", name, most, len(got), len(want))
			}
			for file, rows := range want {
				if got[file] == nil || !array.TableEqual(got[file], rows) {
					t.Errorf("%s with %d bytes: %s has other rows", name, most, file)
				}
			}
		}
	}
}

// TestFrames: columns of this process make the same files as tables that a daemon sends, also if rows have to wait.
func TestFrames(t *testing.T) {
	c := connect(t)
	for _, name := range []string{"dem/dota.dem", "sc2replay/5.0.SC2Replay", "datafile/sample.map", "teehistorian/finished/" + game} {
		request := func(name string) *replaydv1.StreamEventsRequest {
			return &replaydv1.StreamEventsRequest{
				Replay: name, Encoding: replaydv1.Encoding_ENCODING_ARROW, MaxBatchEvents: 50,
			}
		}
		run := func(add func(*export.Export) error) (files map[string]arrow.Table, events uint64) {
			dir := t.TempDir()
			e := export.New(export.Options{Name: name, Place: export.Dir{Path: dir}, Format: tablefile.Parquet, Memory: 16 << 10, Tables: describe.TableVersion})
			defer e.Close()
			if err := add(e); err != nil {
				t.Fatal(err)
			}
			if err := e.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			return tables(t, dir), e.Events()
		}
		want, events := run(func(e *export.Export) error {
			for r, err := range c.Stream(t.Context(), request("r/"+name)).Responses() {
				if err == nil {
					err = e.Add(t.Context(), r)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		got, counted := run(func(e *export.Export) error {
			file, err := source.OpenLocal(filepath.Join("..", "..", "testdata", name), source.Limits{})
			if err != nil {
				return err
			}
			return service.StreamColumns(t.Context(), file, request(name), service.Local{}, func(f *frame.Frame) error {
				defer f.Free()
				return e.AddFrame(t.Context(), f)
			})
		})
		if len(got) != len(want) || counted != events || events == 0 {
			t.Errorf("%s: %d tables with %d events, want %d with %d", name, len(got), counted, len(want), events)
		}
		for file, rows := range want {
			if !strings.HasPrefix(file, "replays") && (got[file] == nil || !array.TableEqual(got[file], rows)) {
				t.Errorf("%s: %s has other rows", name, file)
			}
		}
	}
}

// TestLargeBatches: rows are in order, whether their batches are copied or written at once.
func TestLargeBatches(t *testing.T) {
	sample, err := os.ReadFile(filepath.Join("..", "..", "testdata", "teehistorian", "finished", game))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "long.teehistorian")
	if err := os.WriteFile(path, teetest.Repeat(sample, 300<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(events uint32) map[string]arrow.Table {
		dir := t.TempDir()
		e := export.New(export.Options{Name: "long", Place: export.Dir{Path: dir}, Format: tablefile.Parquet, Tables: describe.TableVersion})
		defer e.Close()
		file, err := source.OpenLocal(path, source.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		request := &replaydv1.StreamEventsRequest{Replay: "long", Encoding: replaydv1.Encoding_ENCODING_ARROW, MaxBatchEvents: events}
		if err := service.StreamColumns(t.Context(), file, request, service.Local{}, func(f *frame.Frame) error {
			defer f.Free()
			return e.AddFrame(t.Context(), f)
		}); err != nil {
			t.Fatal(err)
		}
		if err := e.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		return tables(t, dir)
	}
	want := of(50)
	for _, most := range []uint32{3820, 20000} { // of the first, some batches have manyRows moves, and some fewer
		got := of(most)
		for file, rows := range want {
			if !strings.HasPrefix(file, "replays") && (got[file] == nil || !array.TableEqual(got[file], rows)) {
				t.Errorf("batches of %d events: %s has other rows", most, file)
			}
		}
	}
}

// TestThere: an export of the same contents and selection is there already, and so is one that another worker has finished between the
// first look and the claim. Anything else that was selected, or other contents, are exported.
func TestThere(t *testing.T) {
	c := connect(t)
	dir := t.TempDir()
	run := func(o export.Options) error {
		o.Name, o.Place, o.Format, o.Size = "r/teehistorian/finished/"+game, export.Dir{Path: dir}, tablefile.Parquet, 12392
		o.Tables = func(string) string { return "" }
		e := export.New(o)
		defer e.Close()
		req := &replaydv1.StreamEventsRequest{Replay: o.Name, Encoding: replaydv1.Encoding_ENCODING_ARROW, Include: client.Kinds("join")}
		for r, err := range c.Stream(t.Context(), req).Responses() {
			if err == nil {
				err = e.Add(t.Context(), r)
			}
			if err != nil {
				return err
			}
		}
		return e.Finish(t.Context())
	}
	another := func(context.Context, string) error { return run(export.Options{Sum: "b", Selection: "joins"}) }
	for i, test := range []struct {
		o     export.Options
		there bool
	}{
		{export.Options{Sum: "a", Selection: "joins"}, false},
		{export.Options{Sum: "a", Selection: "joins"}, true},
		{export.Options{Sum: "a", Selection: "moves"}, false},
		{export.Options{Sum: "a", Selection: "joins", Again: true}, false},
		{export.Options{Selection: "joins"}, false},
		{export.Options{Sum: "b", Selection: "joins", Claim: another}, true},
	} {
		if err := run(test.o); errors.Is(err, export.ErrThere) != test.there || err != nil && !test.there {
			t.Errorf("%d: %v", i, err)
		}
	}
	for i := range 8 { // the same export writes the same manifest
		if err := run(export.Options{Sum: "a", Selection: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
		var manifest struct {
			Replaced []string `json:"replaced"`
		}
		data, err := os.ReadFile(filepath.Join(dir, find(t, dir, "replays/*/*.json")[0]))
		if err := errors.Join(err, json.Unmarshal(data, &manifest)); err != nil {
			t.Fatal(err)
		}
		if len(manifest.Replaced) < 2 || !slices.IsSorted(manifest.Replaced) {
			t.Errorf("replaced: %q, want some in their order", manifest.Replaced)
		}
	}
}

// TestFactsVersion: an export with facts of another version is exported again, under other names, and one without facts is not.
func TestFactsVersion(t *testing.T) {
	dir := t.TempDir()
	run := func(version uint32, kinds ...string) (names []string, err error) {
		req := &replaydv1.StreamEventsRequest{Include: client.Kinds(kinds...)}
		key, err := export.Selection(req, 0)
		if err != nil {
			t.Fatal(err)
		}
		e := export.New(export.Options{
			Place: export.Dir{Path: dir}, Format: tablefile.Parquet, Sum: "a", Selection: key, Facts: export.HasFacts(req), Tables: func(string) string { return "" },
		})
		defer e.Close()
		start := &replaydv1.StreamStart{Replay: &replaydv1.Replay{Identity: "x:" + key}, FactsVersion: version}
		err = e.Add(t.Context(), client.Response{Message: &replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_Start{Start: start}}})
		if err == nil {
			err = e.Finish(t.Context())
		}
		return e.Names(), err
	}
	var before []string
	for i, test := range []struct {
		version uint32
		there   bool
	}{{1, false}, {1, true}, {2, false}, {2, true}} {
		names, err := run(test.version, "join", "fact_session")
		if errors.Is(err, export.ErrThere) != test.there || err != nil && !test.there {
			t.Errorf("facts, %d: %v", i, err)
		}
		if i == 2 && slices.Equal(names, before) {
			t.Errorf("facts of another version have the names %v, too", names)
		}
		before = names
		if _, err := run(test.version, "join"); errors.Is(err, export.ErrThere) != (i > 0) || err != nil && i == 0 {
			t.Errorf("no facts, %d: %v", i, err)
		}
	}
}

// TestFenced: an export that stalled before any of its steps, while others have finished the same and then another selection, changes
// nothing of what the manifest names, and says that it was late.
func TestFenced(t *testing.T) {
	c := connect(t)
	run := func(place export.Place, kind string) error {
		o := export.Options{
			Name: "r/teehistorian/finished/" + game, Place: place, Format: tablefile.CSV, Sum: "a", Size: 12392, Selection: kind,
			Tables: func(string) string { return "" },
		}
		e := export.New(o)
		defer e.Close()
		req := &replaydv1.StreamEventsRequest{Replay: o.Name, Encoding: replaydv1.Encoding_ENCODING_ARROW, Include: client.Kinds("join", kind)}
		for r, err := range c.Stream(t.Context(), req).Responses() {
			if err == nil {
				err = e.Add(t.Context(), r)
			}
			if errors.Is(err, export.ErrThere) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return e.Finish(t.Context())
	}
	// The manifest, and the files that it names.
	valid := func(dir string) map[string]string {
		names := find(t, dir, "replays/*/*.json")
		if len(names) != 1 {
			t.Fatal(names)
		}
		all := map[string]string{}
		read := func(name string) []byte {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Error("the manifest names it:", err)
			}
			all[name] = string(b)
			return b
		}
		var m struct {
			Files map[string]int64 `json:"files"`
		}
		if err := json.Unmarshal(read(names[0]), &m); err != nil || len(m.Files) < 2 {
			t.Fatal(m, err)
		}
		for name := range m.Files {
			read(name)
		}
		return all
	}
	for steps := 0; ; steps++ {
		dir := t.TempDir()
		if err := run(export.Dir{Path: dir}, "drop"); err != nil {
			t.Fatal(err)
		}
		var want map[string]string
		p := &stalling{Dir: export.Dir{Path: dir}, left: steps, stall: func() {
			for _, kind := range []string{"player_diff", "drop"} {
				if err := run(export.Dir{Path: dir}, kind); err != nil {
					t.Fatal(err)
				}
			}
			want = valid(dir)
		}}
		err := run(p, "player_diff")
		if p.left >= 0 { // it ended before it stalled
			if steps < 6 || err != nil {
				t.Error(steps, err)
			}
			return
		}
		if !errors.Is(err, export.ErrMoved) && p.committed == 0 {
			t.Errorf("%d: it ended with %v", steps, err)
		}
		if got := valid(dir); !maps.Equal(got, want) {
			t.Errorf("%d: the manifest or its files have changed", steps)
		}
	}
}

// stalling is a directory that calls stall before a step.
type stalling struct {
	export.Dir

	left, committed int
	stall           func()
}

func (p *stalling) step() {
	if p.left--; p.left == -1 {
		p.stall()
	}
}

func (p *stalling) Put(ctx context.Context, name, draft string) error {
	p.step()
	return p.Dir.Put(ctx, name, draft)
}

func (p *stalling) Prune(ctx context.Context, manifest string, names []string) error {
	p.step()
	return p.Dir.Prune(ctx, manifest, names)
}

func (p *stalling) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	p.step()
	err := p.Dir.Commit(ctx, name, draft, version, files)
	if err == nil {
		p.committed++
	}
	return err
}

func (p *stalling) Sync(names []string) error {
	p.step()
	return p.Dir.Sync(names)
}

func (p *stalling) Remove(ctx context.Context, name string) error {
	p.step()
	return p.Dir.Remove(ctx, name)
}

// game is the name of a sample.
const game = "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"

// write exports a replay to a directory, after an export of it that was given up. Neither may leave drafts.
func write(t *testing.T, c *client.Client, name string, most int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, room := range []bool{false, true} {
		place := &place{Dir: export.Dir{Path: dir}, room: room}
		e := export.New(export.Options{
			Name: name, Place: place, Format: tablefile.Parquet, Memory: most, Tables: func(string) string { return "" },
		})
		req := &replaydv1.StreamEventsRequest{Replay: name, Encoding: replaydv1.Encoding_ENCODING_ARROW, MaxBatchEvents: 50}
		for r, err := range c.Stream(t.Context(), req).Responses() {
			if err == nil {
				err = e.Add(t.Context(), r)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		err := e.Finish(t.Context())
		e.Close()
		if room != (err == nil) {
			t.Fatal(err)
		}
		for _, left := range find(t, dir, "*/*/.*") {
			t.Errorf("%s: %s is left behind", name, left)
		}
		if most == 1 && !place.waiting || most == 0 && place.waiting {
			t.Errorf("%s with %d bytes: rows wait in files: %v", name, most, place.waiting)
		}
	}
	return dir
}

// place is a directory that may have no room.
type place struct {
	export.Dir

	room    bool
	put     bool
	waiting bool // drafts beside the row of the replay were made before anything was put: rows wait in them
}

func (p *place) Drafts(name string) (string, error) {
	p.waiting = p.waiting || !p.put && strings.HasPrefix(name, "replays/")
	return p.Dir.Drafts(name)
}

func (p *place) Put(ctx context.Context, name, draft string) error {
	if p.put = true; !p.room {
		return errors.New("no room")
	}
	return p.Dir.Put(ctx, name, draft)
}

// find returns the files below a directory whose names match a pattern.
// connect returns a client of a daemon that serves the samples as the root r.
func connect(t *testing.T) *client.Client {
	t.Helper()
	d := daemontest.New("r", filepath.Join("..", "..", "testdata"))
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	c, err := client.Dial(d.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func find(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tables reads the tables of a directory.
func tables(t *testing.T, dir string) map[string]arrow.Table {
	t.Helper()
	all := map[string]arrow.Table{}
	for _, name := range find(t, dir, "*/*/*.parquet") {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		r, err := file.NewParquetReader(f)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = columns.ReadTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
