package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/replayd/replayd/cmd/internal/command"
	"github.com/replayd/replayd/decoders/decodertest"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
)

// TestMerge: workers stage replays, also one that was cut, in a bucket, and export does so in a directory. Merged, both have the same tables,
// and nothing staged is left.
func TestMerge(t *testing.T) {
	t.Parallel()
	const game = "4fa04b32-db1c-48f1-b0fe-ea831e23f409"
	server, store, from, to := hub(t), buckettest.New(t), t.TempDir(), t.TempDir()
	sample := decodertest.Sample(t, "teehistorian", "finished", game+".teehistorian")
	cut := bytes.ReplaceAll(sample[:len(sample)/2], []byte(game), []byte("5"+game[1:]))
	var files []string
	for name, data := range map[string][]byte{"a.teehistorian": sample, "b.teehistorian": cut} {
		files = append(files, filepath.Join(from, name))
		if err := os.WriteFile(files[len(files)-1], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	mustRun(t, 0, append([]string{"jobs", "add", "--nats", server, "--kind", "player_diff,message"}, files...)...)
	mustRun(t, 0, "work", "--nats", server, "--from", from, "--to", store.URL("archive"), "--workers", "2", "--until-done")
	mustRun(t, 0, append([]string{"export", "--to", to, "--staged", "--kind", "player_diff,message"}, files...)...)
	for _, place := range []string{store.URL("archive"), to} {
		if out := mustRun(t, 0, "merge", place); !strings.Contains(out, "2 replays added in 1 commits, 0 staged files not needed, 0 not readable") {
			t.Errorf("merge says %s", out)
		}
		if out := mustRun(t, 0, "merge", place); !strings.Contains(out, "0 replays added in 0 commits, 0 staged files not needed, 0 not readable, 0 files of tables rewritten, 0 unused") {
			t.Errorf("merge says %s", out)
		}
	}

	// Exports of before give the same tables.
	before, brought := t.TempDir(), t.TempDir()
	mustRun(t, 0, append([]string{"export", "--to", before, "--kind", "player_diff,message"}, files...)...)
	if out := mustRun(t, 0, "merge", brought, "--from", before); !strings.Contains(out, "2 replays added in 1 commits") {
		t.Errorf("merge says %s", out)
	}

	for _, table := range []string{"player_diff", "message"} {
		if got, want := schemasOf(t, brought, table), schemasOf(t, to, table); got != want || !strings.Contains(want, `"doc"`) {
			t.Errorf("the columns of %s are %s, want %s", table, got, want)
		}
	}

	// The attempt is in the names, and the names are in manifests.
	sums := func(names []string, read func(name string) []byte) (sums []string) {
		for _, name := range names {
			switch {
			case strings.HasSuffix(name, ".parquet"):
				sum := sha256.Sum256(read(name))
				sums = append(sums, path.Dir(name)+" "+hex.EncodeToString(sum[:]))
			case strings.HasPrefix(name, "staged/"):
				t.Errorf("%s is left", name)
			}
		}
		slices.Sort(sums)
		return sums
	}
	var below []string
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(to, path)
			below = append(below, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := sums(objects(t, store, "archive"), func(name string) []byte { return store.Get("archive/" + name) })
	want := sums(below, readBelow(t, to))
	if len(want) != 3 || !slices.Equal(without(got, "replays/data"), without(want, "replays/data")) { // rows of replays have when a file was written
		t.Errorf("%d files in the bucket, %d in the directory, or other ones", len(got), len(want))
	}
	if list := store.Get("archive/teehistorian/player_diff/metadata/snap-1.avro"); !bytes.Contains(list, []byte("s3://")) {
		t.Error("the list of manifests has no locations of objects")
	}
}

// schemasOf returns the schemas of a table of an archive with one commit.
func schemasOf(t *testing.T, archive, table string) string {
	t.Helper()
	var m struct {
		Schemas json.RawMessage `json:"schemas"`
	}
	if err := json.Unmarshal(readBelow(t, archive)("teehistorian/"+table+"/metadata/v1.metadata.json"), &m); err != nil {
		t.Fatal(err)
	}
	return string(m.Schemas)
}

// without leaves out texts that have another one in them.
func without(all []string, what string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.Contains(s, what) })
}

// TestJobsOfTables: a job may ask for a class of entities, or a name of game events, as a table with a column for each field or key, as export
// does; in files of each replay and, merged, in tables of many.
func TestJobsOfTables(t *testing.T) {
	t.Parallel()
	server, from := hub(t), t.TempDir()
	demo := filepath.Join(from, "a.dem")
	if err := os.WriteFile(demo, decodertest.Sample(t, "dem", "cs2.dem"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, to := map[string]string{}, map[string]string{}
	selections := map[string][]string{
		"CCSPlayerPawn":           {"--class", "CCSPlayerPawn", "--field", "m_iHealth", "--every", "8"},
		"game_event.player_death": {"--event", "player_death"},
	}
	for kind, selected := range selections {
		own[kind], to[kind] = t.TempDir(), t.TempDir()
		mustRun(t, 0, append([]string{"export", "--to", own[kind], demo}, selected...)...)
		mustRun(t, 0, append([]string{"jobs", "add", "--nats", server, demo}, selected...)...)
		mustRun(t, 0, "work", "--no-staged", "--nats", server, "--from", from, "--to", to[kind], "--until-done")
	}
	sum := func(dir, kind string) [sha256.Size]byte {
		files, _ := filepath.Glob(filepath.Join(dir, "format=dem", "kind="+kind, "*.parquet"))
		if len(files) != 1 {
			t.Fatalf("%s: %v", kind, files)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(data)
	}
	for kind := range selections {
		if sum(to[kind], kind) != sum(own[kind], kind) {
			t.Errorf("%s: the job's table is not the export's", kind)
		}
	}
	mustRun(t, command.ExitUsage, "jobs", "add", "--nats", server, "--event", "player_death", "--kind", "game_event", demo)
	archive := t.TempDir()
	mustRun(t, 0, "jobs", "add", "--nats", server, "--again", "--event", "player_death", demo)
	mustRun(t, 0, "work", "--nats", server, "--from", from, "--to", archive, "--until-done")
	if out := mustRun(t, 0, "merge", archive); !strings.Contains(out, "1 replays added in 1 commits") {
		t.Errorf("merge says %s", out)
	}
	if files, _ := filepath.Glob(filepath.Join(archive, "dem", "game_event.player_death", "data", "*.parquet")); len(files) != 1 {
		t.Errorf("the archive has %v", files)
	}
}
