package command

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// pythonWith returns the Python of `make generate`, if it has some modules.
func pythonWith(t *testing.T, modules string) (python string, ok bool) {
	t.Helper()
	python = filepath.Join("..", "..", "..", ".cache", "python", "bin", "python")
	return python, exec.CommandContext(t.Context(), python, "-c", "import "+modules).Run() == nil
}

// TestExportedTables exports every third sample, or with TABLES=DIR every replay below a directory, and compares all values that pyarrow,
// DuckDB and polars read with those that replayd cat prints. It needs these in the Python of `make generate`. With TABLES_DONE=FILE it
// continues where a run with this file ended.
func TestExportedTables(t *testing.T) {
	python, ok := pythonWith(t, "duckdb, polars, pyarrow, numpy")
	if !ok {
		t.Skip("no Python with duckdb, polars and pyarrow")
	}
	replayd := build(t)
	dir := filepath.Join("..", "..", "..", "testdata")
	each := 3
	if named := os.Getenv("TABLES"); named != "" {
		dir, each = named, 1
	}
	var replays []string
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		for _, suffix := range []string{".teehistorian", ".teehistorian.gz", ".map", ".dem", ".SC2Replay"} {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, suffix) {
				if n++; n%each == 1%each {
					replays = append(replays, path)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{filepath.Join("testdata", "tables.py"), replayd}, replays...)
	out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the same by pyarrow, DuckDB and polars") {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// TestFlightClients reads flights by pyarrow's client, and hands them to DuckDB and polars.
func TestFlightClients(t *testing.T) {
	python, ok := pythonWith(t, "duckdb, polars, pyarrow.flight")
	if !ok {
		t.Skip("no Python with duckdb, polars and pyarrow")
	}
	addr := commandtest.FreeAddr(t)
	cmd := program(t, "serve", "--listen", addr, "--log-level", "error", "--root", "games="+filepath.Join("..", "..", "..", "testdata", "teehistorian"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := replaydv1.NewReplayServiceClient(commandtest.ClientOf(t, addr).Conn).ListReplays(inTime(t), &replaydv1.ListReplaysRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(inTime(t), python, filepath.Join("testdata", "flight.py"), addr,
		"games/finished/4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "flights are read") {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestManyReplays exports 12 distinct replays, or as many as MANY says, and asks DuckDB about all of them, as docs/cookbook.md does.
func TestManyReplays(t *testing.T) {
	python, ok := pythonWith(t, "duckdb")
	if !ok {
		t.Skip("no Python with duckdb")
	}
	number := cmp.Or(os.Getenv("MANY"), "12")
	replayd := build(t)
	sample := filepath.Join("..", "..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "many.py"), replayd, sample, number).CombinedOutput()
	if err != nil || !strings.Contains(string(out), number+" replays are one table") {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// TestExportClass: with a class and no kind, an export has a table of the class with a column for each field, and with a game event one of its
// keys.
func TestExportClass(t *testing.T) {
	demo := filepath.Join("..", "..", "..", "testdata", "dem", "cs2.dem")
	for kind, args := range map[string][]string{
		"CCSPlayerPawn":  {"--class", "CCSPlayerPawn", "--field", "m_iHealth", "--every", "64"},
		"sample_entity":  {"--class", "CCSPlayer*", "--field", "m_iHealth,m_iszPlayerName"},
		"entity_updated": {"--class", "CCSPlayerPawn", "--field", "m_iHealth", "--kind", "entity_updated"},

		"game_event.player_death": {"--event", "player_death"},
	} {
		dir := t.TempDir()
		if err := program(t, append([]string{"export", demo, "--to", dir, "--format", "csv"}, args...)...).Run(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "format=dem", "kind="+kind, "*.csv"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v %v", kind, files, err)
		}
		text, err := os.ReadFile(files[0])
		column := map[string]string{"entity_updated": "fields", "game_event.player_death": "attacker_name"}[kind]
		if head, _, _ := strings.Cut(string(text), "\n"); err != nil || !strings.Contains(head, cmp.Or(column, "m_iHealth")) {
			t.Errorf("%s: the columns are %s, %v", kind, head, err)
		}
	}
}
