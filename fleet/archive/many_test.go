package archive_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/table/tablefile"
)

// plainMost is how many replays TestMany has in the layout of files for each replay.
const plainMost = 10000

// TestMany merges ARCHIVE_MANY games of 30 days that differ in their identities, 5,000 at a time, and compares the time of queries of DuckDB, and
// of Spark as in TestEngines, with that of the same queries over a file for each replay.
func TestMany(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("ARCHIVE_MANY"))
	if err != nil {
		t.Skip("no ARCHIVE_MANY, such as 100000")
	}
	dir, one := t.TempDir(), t.TempDir()
	sample := filepath.Join(samples, "teehistorian", "finished", game+".teehistorian")
	stage(t, one, sample)
	found, err := filepath.Glob(filepath.Join(one, "staged", "*", "*", "*.zip"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	whole, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	z, err := export.OpenStaged(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if tables[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	id := func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", i*0x9e3779b1&0xffffffff, i) }
	var merging time.Duration
	for from := 0; from < n; from += 5000 {
		for i := from; i < min(from+5000, n); i++ {
			var b bytes.Buffer
			w := zip.NewWriter(&b)
			for name, table := range tables {
				to, err := w.CreateHeader(&zip.FileHeader{Name: name})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := to.Write(bytes.ReplaceAll(table, []byte("teehistorian:"+game), []byte("teehistorian:"+id(i)))); err != nil {
					t.Fatal(err)
				}
			}
			at := filepath.Join(dir, export.Staged{Day: fmt.Sprintf("2026-11-%02d", 1+i*30/n), Format: "teehistorian", Base: id(i), Key: "0123"}.Name())
			if err := errors.Join(w.Close(), os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, b.Bytes(), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if r := merge(t, dir, archive.Options{}); r.Replays != min(5000, n-from) {
			t.Fatalf("%+v", r)
		}
		merging += time.Since(begun)
	}
	files, size := below(t, dir)
	t.Logf("%d games in %d files of %d bytes, merged in %v", n, files, size, merging)
	python := python(t)
	plain := t.TempDir()
	run(t, sample, export.Options{Place: place(plain), Format: tablefile.Parquet})
	for _, kind := range []string{"player_diff", "finish"} {
		found, err := filepath.Glob(filepath.Join(plain, "*", "kind="+kind, "*.parquet"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		b, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < min(n, plainMost); i++ {
			if err := os.WriteFile(filepath.Join(filepath.Dir(found[0]), id(i)+".parquet"), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(python string, more ...string) {
		args := append([]string{filepath.Join("testdata", "many.py"), dir, filepath.Join(plain, "format=teehistorian")}, more...)
		out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "a replay") {
			t.Fatalf("%v: %s", err, out)
		}
		t.Logf("%s", out)
	}
	ask(python)
	if spark := os.Getenv("SPARK_PYTHON"); spark != "" {
		ask(spark, os.Getenv("ICEBERG_JAR"))
	}
}

// below counts the files below a directory, and their bytes.
func below(t *testing.T, dir string) (files int, size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files++
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, size
}
