package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"go.uber.org/goleak"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/replay/table/tablefile"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	samples = "../../testdata"
	game    = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
)

// run exports a file, by kinds if there are some.
func run(t *testing.T, path string, o export.Options, kinds ...string) {
	t.Helper()
	if err := exported(t.Context(), path, o, request(kinds...)); err != nil {
		t.Fatal(err)
	}
}

// request asks for kinds, for all if there are none.
func request(kinds ...string) *replaydv1.StreamEventsRequest {
	req := &replaydv1.StreamEventsRequest{Encoding: replaydv1.Encoding_ENCODING_ARROW}
	if len(kinds) > 0 {
		req.Include = []*replaydv1.EventFilter{{Kinds: kinds}}
	}
	return req
}

// exported exports a file. That it is damaged is no error.
func exported(ctx context.Context, path string, o export.Options, req *replaydv1.StreamEventsRequest) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	o.Name, o.Sum, o.Size, o.Tables = filepath.Base(path), hex.EncodeToString(sum[:]), int64(len(b)), describe.TableVersion
	replay, err := source.OpenLocal(path, source.Limits{})
	if err != nil {
		return err
	}
	e := export.New(o)
	defer e.Close()
	streamed := service.StreamColumns(ctx, replay, req, service.Local{Version: "v"}, func(f *frame.Frame) error {
		defer f.Free()
		return e.AddFrame(ctx, f)
	})
	damage := export.DamageOf(streamed, error.Error)
	if err := e.Conclude(ctx, streamed, damage); err != nil && (damage == nil || !errors.Is(err, streamed)) {
		return err
	}
	return nil
}

// stage stages the export of a file.
func stage(t *testing.T, dir, path string, kinds ...string) {
	t.Helper()
	run(t, path, export.Options{Place: place(dir), Staged: true}, kinds...)
}

// again writes the sample with another identity, whole or cut, and returns the file.
func again(t *testing.T, dir string, n int, whole bool) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(samples, "teehistorian", "finished", game+".teehistorian"))
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte(game), fmt.Appendf(nil, "%08x-0000-4000-8000-%012x", n, n))
	// Some games of another day, and some of none.
	at := bytes.Index(b, []byte(`"start_time":"`)) + len(`"start_time":"`)
	copy(b[at:], fmt.Sprintf("2026-11-%02d", 1+n%3))
	if !whole {
		b = b[:len(b)/2]
	}
	path := filepath.Join(dir, fmt.Sprintf("%d-%t.teehistorian", n, whole))
	if _, err := os.Stat(path); err == nil {
		return path // its time is in the rows
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// quick is a directory whose files need not survive a loss of power.
type quick struct{ archive.Dir }

func place(dir string) quick { return quick{archive.Dir{Dir: export.Dir{Path: dir}}} }

func (q quick) Put(_ context.Context, name, draft string) error {
	at := filepath.Join(q.Path, name)
	return errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Rename(draft, at))
}

func (quick) Sync([]string) error { return nil }

func merge(t *testing.T, dir string, o archive.Options) archive.Report {
	t.Helper()
	r, err := archive.New(place(dir), o).Merge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rowsOf returns the rows of all tables as a reader of Iceberg finds them: FORMAT/KIND to replay to lines of JSON.
func rowsOf(t *testing.T, dir string) map[string]map[string][]string {
	t.Helper()
	all := map[string]map[string][]string{}
	hints, err := filepath.Glob(filepath.Join(dir, "*", "*", "metadata", "version-hint.text"))
	if err != nil {
		t.Fatal(err)
	}
	for _, hint := range hints {
		m := metadataOf(t, hint)
		now := m.Snapshots[len(m.Snapshots)-1]
		if now.ID != m.Current {
			t.Errorf("%s: the last snapshot is not the current one", hint)
		}
		var data []string
		deleted := map[string]map[int64]bool{}
		for _, manifest := range manifests(t, now.List) {
			for _, f := range filesOf(t, manifest.path, manifest.length) {
				rows := parquet(t, f.path)
				if rows.NumRows() != f.rows {
					t.Errorf("%s has %d rows, the manifest says %d", f.path, rows.NumRows(), f.rows)
				}
				if f.content == 0 {
					data = append(data, f.path)
					continue
				}
				for i := range int(rows.NumRows()) {
					name := text(t, rows, 0, i)
					if deleted[name] == nil {
						deleted[name] = map[int64]bool{}
					}
					n, err := strconv.ParseInt(text(t, rows, 1, i), 10, 64)
					if err != nil || deleted[name][n] {
						t.Errorf("row %d of %s is deleted twice", n, name)
					}
					deleted[name][n] = true
				}
			}
		}
		table, err := filepath.Rel(dir, m.Location)
		if err != nil {
			t.Fatal(err)
		}
		all[table] = map[string][]string{}
		for _, name := range data {
			rows := parquet(t, name)
			for i := range int(rows.NumRows()) {
				if deleted[name][int64(i)] {
					continue
				}
				var line []string
				for c := range int(rows.NumCols()) {
					line = append(line, rows.Schema().Field(c).Name+"="+text(t, rows, c, i))
				}
				replay := text(t, rows, 0, i)
				all[table][replay] = append(all[table][replay], strings.Join(line, " "))
			}
		}
	}
	return all
}

// metadata is the metadata of a table.
type metadata struct {
	Location  string     `json:"location"`
	Schema    int        `json:"current-schema-id"`
	Schemas   []fieldsOf `json:"schemas"`
	Current   int64      `json:"current-snapshot-id"`
	Snapshots []struct {
		ID   int64  `json:"snapshot-id"`
		List string `json:"manifest-list"`
	} `json:"snapshots"`
}

// metadataOf reads the metadata of a table, by its hint.
func metadataOf(t *testing.T, hint string) (m metadata) {
	t.Helper()
	version, err := os.ReadFile(hint)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(hint), "v"+string(version)+".metadata.json"))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// parquet reads a file.
func parquet(t *testing.T, name string) arrow.Table {
	t.Helper()
	rows, _ := parquetOf(t, name)
	return rows
}

// parquetOf also returns the identity of the replay, if the file has only one.
func parquetOf(t *testing.T, name string) (arrow.Table, string) {
	t.Helper()
	r, err := file.OpenParquetFile(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	identity := ""
	if found := r.MetaData().KeyValueMetadata().FindValue("replayd.identity"); found != nil {
		identity = *found
	}
	return rows, identity
}

func text(t *testing.T, rows arrow.Table, c, i int) string {
	t.Helper()
	for _, chunk := range rows.Column(c).Data().Chunks() {
		if i < chunk.Len() {
			return chunk.ValueStr(i)
		}
		i -= chunk.Len()
	}
	t.Fatal("no such row")
	return ""
}

// avro reads what comes after the header of an Avro file.
type avro struct {
	*bytes.Reader
	t *testing.T
}

func open(t *testing.T, path string) *avro {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &avro{bytes.NewReader(b), t}
	if _, err := a.Seek(4, io.SeekStart); err != nil || string(b[:4]) != "Obj\x01" {
		t.Fatalf("%s is no Avro file", path)
	}
	for range a.long() {
		a.text()
		a.text()
	}
	a.long()
	if _, err := a.Seek(16, io.SeekCurrent); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *avro) long() int64 {
	v, err := binary.ReadVarint(a)
	if err != nil {
		a.t.Fatal(err)
	}
	return v
}

func (a *avro) longs(n int) {
	for range n {
		a.long()
	}
}

func (a *avro) text() string {
	b := make([]byte, a.long())
	if _, err := io.ReadFull(a, b); err != nil {
		a.t.Fatal(err)
	}
	return string(b)
}

type manifest struct {
	path   string
	length int64
}

// manifests reads a list of manifests.
func manifests(t *testing.T, path string) (all []manifest) {
	t.Helper()
	a := open(t, path)
	n := a.long()
	a.long()
	for range n {
		all = append(all, manifest{a.text(), a.long()})
		a.longs(11 + 2)
		a.longs(1) // whether a day is unknown: 0 and 1 are small numbers, too
		a.longs(1)
		a.longs(1)
		for range 2 {
			if a.long() != 0 {
				a.text()
			}
		}
		a.long()
	}
	return all
}

type entry struct {
	path          string
	content, rows int64
}

// filesOf reads a manifest.
func filesOf(t *testing.T, path string, length int64) (all []entry) {
	t.Helper()
	if stat, err := os.Stat(path); err != nil || stat.Size() != length {
		t.Fatalf("%s: %v, or not %d bytes", path, err, length)
	}
	a := open(t, path)
	n := a.long()
	a.long()
	for range n {
		a.longs(7)
		e := entry{content: a.long(), path: a.text()}
		a.text()
		if a.long() != 0 {
			a.long()
		}
		e.rows = a.long()
		size := a.long()
		if stat, err := os.Stat(e.path); err != nil || stat.Size() != size {
			t.Fatalf("%s: %v, or not %d bytes", e.path, err, size)
		}
		for range 2 {
			a.long()
			for range a.long() {
				a.long()
				a.text()
			}
			a.long()
		}
		all = append(all, e)
	}
	return all
}

// TestRows: the tables have the rows that an export of each replay has.
func TestRows(t *testing.T) {
	dir, plain := t.TempDir(), t.TempDir()
	for _, name := range []string{"dem/dota.dem", "datafile/sample.map", "teehistorian/finished/" + game + ".teehistorian"} {
		stage(t, dir, filepath.Join(samples, name))
		run(t, filepath.Join(samples, name), export.Options{Place: place(plain), Format: tablefile.Parquet})
	}
	if r := merge(t, dir, archive.Options{}); r.Replays != 3 || r.Bad != 0 {
		t.Fatalf("merged %+v", r)
	}
	got := rowsOf(t, dir)
	tables := 0
	err := filepath.WalkDir(plain, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		format, kind := filepath.Base(filepath.Dir(filepath.Dir(path))), filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(kind, "format=") {
			format, kind = kind, "kind=replays"
		}
		table := strings.TrimPrefix(format, "format=") + "/" + strings.TrimPrefix(kind, "kind=")
		rows, identity := parquetOf(t, path)
		tables++
		lines := got[table][identity]
		if len(lines) != int(rows.NumRows()) {
			t.Errorf("%s of %s has %d rows, want %d", table, identity, len(lines), rows.NumRows())
			return nil
		}
		for i := range int(rows.NumRows()) {
			for c := range int(rows.NumCols()) {
				if want := rows.Schema().Field(c).Name + "=" + text(t, rows, c, i); !strings.Contains(lines[i], want) {
					t.Errorf("%s: row %d is %s, want %s", table, i, lines[i], want)
					return nil
				}
			}
		}
		return nil
	})
	if err != nil || tables < 60 {
		t.Errorf("%d tables: %v", tables, err)
	}
}

// TestReplace: a replay with other contents replaces its rows, however often, and what is there already changes nothing.
func TestReplace(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
	dir, games, want := t.TempDir(), t.TempDir(), t.TempDir()
	kinds := []string{"player_diff", "message", "finish"}
	steps := [][]bool{{true, true, true}, {false, true, true}, {false, false, true}, {true, false, true}}
	for step, whole := range steps {
		for n, whole := range whole {
			stage(t, dir, again(t, games, n, whole), kinds...)
		}
		replaced := 0
		for n := range whole {
			if step == 0 || steps[step-1][n] != whole[n] {
				replaced++
			}
		}
		if r := merge(t, dir, archive.Options{CommitReplays: 2}); r.Replays != replaced || r.Removed != len(whole)-replaced || r.Cleaned != 0 {
			t.Errorf("step %d: %+v, want %d replaced", step, r, replaced)
		}
	}
	for n, whole := range steps[len(steps)-1] {
		stage(t, want, again(t, games, n, whole), kinds...)
	}
	merge(t, want, archive.Options{})
	compare(t, rowsOf(t, dir), rowsOf(t, want))
}

// TestDamaged: files that follow from the log and were lost or zeroed by the file system are written again by the next merge.
func TestDamaged(t *testing.T) {
	dir, games := t.TempDir(), t.TempDir()
	stage(t, dir, again(t, games, 0, true), "finish")
	merge(t, dir, archive.Options{})
	want := rowsOf(t, dir)
	hints, err := filepath.Glob(filepath.Join(dir, "*", "*", "metadata", "version-hint.text"))
	if err != nil || len(hints) == 0 {
		t.Fatal(hints, err)
	}
	for _, damage := range []func(string) error{
		os.Remove, func(hint string) error { return os.Truncate(hint, 0) }, func(hint string) error { return os.WriteFile(hint, make([]byte, 1), 0o600) },
	} {
		for _, hint := range hints {
			if err := damage(hint); err != nil {
				t.Fatal(err)
			}
		}
		merge(t, dir, archive.Options{})
		compare(t, rowsOf(t, dir), want)
	}
}

// compare compares the rows of two archives.
func compare(t *testing.T, got, want map[string]map[string][]string) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(want)) {
		for replay, rows := range want[table] {
			if !slices.Equal(got[table][replay], rows) {
				t.Errorf("%s: %s has %d rows, want %d", table, replay, len(got[table][replay]), len(rows))
			}
		}
		if len(got[table]) != len(want[table]) {
			t.Errorf("%s has rows of %d replays, want %d", table, len(got[table]), len(want[table]))
		}
	}
	for table, replays := range got {
		if want[table] == nil && len(replays) > 0 {
			t.Errorf("there is a table %s", table)
		}
	}
}

// TestBad: what is no staged export stays, and disturbs no other.
func TestBad(t *testing.T) {
	dir, games := t.TempDir(), t.TempDir()
	for n := range 3 {
		stage(t, dir, again(t, games, n, true), "finish")
	}
	staged, err := filepath.Glob(filepath.Join(dir, "staged", "*", "*", "*.zip"))
	if err != nil || len(staged) != 3 {
		t.Fatal(staged, err)
	}
	b, err := os.ReadFile(staged[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 0x55
	if err := errors.Join(os.WriteFile(staged[0], b, 0o600), os.WriteFile(staged[1], []byte("nothing"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if r := merge(t, dir, archive.Options{}); r.Replays != 1 || r.Bad != 2 {
		t.Errorf("merged %+v", r)
	}
	if got := rowsOf(t, dir); len(got["teehistorian/replays"]) != 1 {
		t.Errorf("rows of %d replays", len(got["teehistorian/replays"]))
	}
}

// python returns the Python of `make generate`, if it has the engines.
func python(t *testing.T) string {
	t.Helper()
	name := filepath.Join("..", "..", ".cache", "python", "bin", "python")
	if err := exec.CommandContext(t.Context(), name, "-c", "import pyiceberg, pyarrow, duckdb_extension_iceberg").Run(); err != nil {
		t.Skip("no Python with pyiceberg and DuckDB")
	}
	return name
}

// TestEngines: pyiceberg and DuckDB read the same rows, also after some were rewritten, and some replaced. With SPARK_PYTHON, a Python that has pyspark,
// Dask and pyiceberg, and ICEBERG_JAR, Iceberg's runtime for Spark, so do Spark and Dask.
func TestEngines(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
	python := python(t)
	dir, games := t.TempDir(), t.TempDir()
	kinds := []string{"player_diff", "message", "finish"}
	for n := range 4 {
		stage(t, dir, again(t, games, n, n > 0), kinds...)
	}
	// Values of all types.
	stage(t, dir, filepath.Join(samples, "dem", "dota.dem"), "combat_log", "match_summary", "voice", "game_event", "player_info", "user_cmd")
	stage(t, dir, filepath.Join(samples, "datafile", "sample.map"), "layer_bounds", "envelope_points")
	pawns(t, dir, "cs2.dem", "m_iHealth", "CBodyComponent.m_cellX")
	if r := merge(t, dir, archive.Options{CommitReplays: 2, SmallFiles: 2}); r.Rewritten == 0 {
		t.Error("nothing is rewritten")
	}
	stage(t, dir, again(t, games, 0, true), kinds...)
	pawns(t, dir, "round.dem", "CBodyComponent.place", "CBodyComponent.m_cellX") // other fields
	merge(t, dir, archive.Options{})
	counts := map[string]int{}
	for table, replays := range rowsOf(t, dir) {
		for _, rows := range replays {
			counts[table] += len(rows)
		}
	}
	b, err := json.Marshal(counts)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "engines.py"), dir, string(b)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "tables are the same by pyiceberg and DuckDB") {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
	spark := os.Getenv("SPARK_PYTHON")
	if spark == "" {
		return
	}
	for engine, args := range map[string][]string{"Spark": {"spark.py", os.Getenv("ICEBERG_JAR"), dir, string(b)}, "Dask": {"dask_tables.py", dir, string(b)}} {
		args[0] = filepath.Join("testdata", args[0])
		cmd := exec.CommandContext(t.Context(), spark, args...)
		cmd.Env = append(os.Environ(), "TZ=UTC")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "tables are the same by pyiceberg and "+engine) {
			t.Errorf("%s: %v: %s", engine, err, out)
		}
	}
}
