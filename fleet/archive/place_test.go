package archive_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/fleet/export"
)

// attempts are the parts of names that differ from one attempt to the next.
var attempts = regexp.MustCompile(`-[0-9A-Z]{8}-`)

// namesOf returns the names of all files of a place without attempts.
func namesOf(t *testing.T, p archive.Place) (names []string) {
	t.Helper()
	if err := p.List(t.Context(), ".", func(f archive.File) error {
		names = append(names, attempts.ReplaceAllString(f.Name, "-"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// TestBucket: merging in a bucket makes the files that it makes in a directory, also where it rewrites, and does not replace what another process has
// put meanwhile.
func TestBucket(t *testing.T) {
	store, games, dir := buckettest.New(t), t.TempDir(), t.TempDir()
	at, err := bucket.Parse(store.URL("archive"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(t.Context(), at, bucket.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drafts := t.TempDir()
	there := archive.Bucket{Bucket: b, Temp: drafts}
	o := archive.Options{SmallFiles: 2, Keep: 1}
	for n := range 3 {
		var reports [2]archive.Report
		for i, p := range []archive.Place{there, place(dir)} {
			run(t, again(t, games, 3*min(n, 1), n != 1), export.Options{Place: p, Staged: true}, "finish")
			if reports[i], err = archive.New(p, o).Merge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if reports[0] != reports[1] || reports[0].Replays != 1 {
			t.Errorf("in a bucket %+v, in a directory %+v", reports[0], reports[1])
		}
		if got, want := namesOf(t, there), namesOf(t, place(dir)); !slices.Equal(got, want) || len(want) < 10 {
			t.Errorf("in a bucket %v, in a directory %v", got, want)
		}
	}
	if left, err := os.ReadDir(drafts); err != nil || len(left) > 0 {
		t.Error("drafts are left:", left, err)
	}
	const name = "commits/00000001.json"
	record := store.Get("archive/" + name)
	for _, version := range []string{"", "another"} {
		draft := filepath.Join(drafts, "draft")
		if err := os.WriteFile(draft, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := there.Commit(t.Context(), name, draft, version, nil); !errors.Is(err, export.ErrMoved) {
			t.Errorf("a record is replaced: %v", err)
		}
	}
	size, err := there.Size(t.Context(), name)
	r, closer, opened := there.Open(t.Context(), name)
	if err := errors.Join(err, opened); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err := errors.Join(err, closer.Close()); err != nil || !slices.Equal(got, record) {
		t.Errorf("the record is %q, was %q: %v", got, record, err)
	}
	if version, err := there.Version(t.Context(), "none"); version != "" || err != nil {
		t.Error(version, err)
	}
}
