package archive_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/archive"
)

// TestRewrite: small files become one, without the rows that were deleted. What was there before stays for queries that have begun, for the
// time that was promised, and not longer.
func TestRewrite(t *testing.T) {
	dir, games, want := t.TempDir(), t.TempDir(), t.TempDir()
	kinds := []string{"message", "finish"}
	for n := range 5 {
		stage(t, dir, again(t, games, 3*n, n != 0), kinds...) // of one day
		stage(t, want, again(t, games, 3*n, true), kinds...)
		if n == 3 { // some files have other columns
			stage(t, dir, filepath.Join(samples, "dem", "dota.dem"), "match_summary")
			stage(t, want, filepath.Join(samples, "dem", "dota.dem"), "match_summary")
		}
		merge(t, dir, archive.Options{})
	}
	merge(t, want, archive.Options{})
	stage(t, dir, again(t, games, 0, true), kinds...)
	merge(t, dir, archive.Options{SmallFiles: 100})
	before, files := rowsOf(t, dir), parquets(t, dir)
	compare(t, before, rowsOf(t, want))
	a := archive.New(place(dir), archive.Options{SmallFiles: 3, Keep: time.Hour})
	r, err := a.Merge(t.Context())
	if err != nil || r.Rewritten < 5 || r.Commits != 1 {
		t.Fatal(r, err)
	}
	compare(t, rowsOf(t, dir), before)
	for name := range files {
		if _, err := os.Stat(name); err != nil {
			t.Error("a query that has begun finds no", name)
		}
	}
	if r := merge(t, dir, archive.Options{SmallFiles: 3}); r != (archive.Report{}) {
		t.Errorf("another merge did %+v", r)
	}
	time.Sleep(2 * time.Millisecond)
	if r := merge(t, dir, archive.Options{SmallFiles: 3, Keep: 1}); r.Cleaned == 0 {
		t.Error("nothing was removed")
	}
	compare(t, rowsOf(t, dir), before)
	unnamed(t, dir)
	for name := range parquets(t, dir) {
		if files[name] && strings.Contains(name, "finish") {
			t.Error("it is still there:", name)
		}
	}
	// What is replaced is found where it was rewritten.
	stage(t, dir, again(t, games, 3, false), kinds...)
	stage(t, want, again(t, games, 3, false), kinds...)
	merge(t, dir, archive.Options{})
	merge(t, want, archive.Options{})
	compare(t, rowsOf(t, dir), rowsOf(t, want))
	for _, name := range deletesOf(t, dir, "finish") {
		rows := parquet(t, name)
		for i := range int(rows.NumRows()) {
			if _, err := os.Stat(text(t, rows, 0, i)); err != nil {
				t.Error("rows are deleted of a file that is gone:", err)
			}
		}
	}
}

// deletesOf returns the files of deleted positions that a table has.
func deletesOf(t *testing.T, dir, table string) (names []string) {
	t.Helper()
	m := metadataOf(t, filepath.Join(dir, "teehistorian", table, "metadata", "version-hint.text"))
	for _, at := range manifests(t, m.Snapshots[len(m.Snapshots)-1].List) {
		for _, f := range filesOf(t, at.path, at.length) {
			if f.content != 0 {
				names = append(names, f.path)
			}
		}
	}
	return names
}

// parquets returns the files of tables below a directory.
func parquets(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*", "data", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// TestWorn: a file of which many rows are deleted is written again, and then nothing says any more that they are.
func TestWorn(t *testing.T) {
	dir, games := t.TempDir(), t.TempDir()
	for n := range 4 {
		stage(t, dir, again(t, games, 3*n, true), "player_diff")
	}
	merge(t, dir, archive.Options{})
	for n := range 2 {
		stage(t, dir, again(t, games, 3*n, false), "player_diff")
	}
	if r := merge(t, dir, archive.Options{}); r.Rewritten != 2 || r.Replays != 2 { // of rows, and of replays
		t.Errorf("%+v", r)
	}
	want := t.TempDir()
	for n := range 4 {
		stage(t, want, again(t, games, 3*n, n >= 2), "player_diff")
	}
	merge(t, want, archive.Options{})
	compare(t, rowsOf(t, dir), rowsOf(t, want))
	for _, table := range []string{"player_diff", "replays"} {
		if names := deletesOf(t, dir, table); len(names) > 0 {
			t.Errorf("%v have deleted positions of files that are gone", names)
		}
	}
}

// TestDamagedTable: a file that is damaged on the disk keeps nobody from merging.
func TestDamagedTable(t *testing.T) {
	dir, games := t.TempDir(), t.TempDir()
	for n := range 3 {
		stage(t, dir, again(t, games, 3*n, true), "finish")
		merge(t, dir, archive.Options{})
	}
	for name := range parquets(t, dir) {
		if strings.Contains(name, "finish") {
			if err := os.WriteFile(name, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if r := merge(t, dir, archive.Options{SmallFiles: 2}); r.Rewritten != 3+2 {
		t.Errorf("%+v", r)
	}
}

// stopped is the place of a process that stops before it puts its record, and goes on when it may.
type stopped struct {
	quick

	once        *sync.Once
	reached, on chan struct{}
	still       *atomic.Bool
}

func (s stopped) Commit(ctx context.Context, name, draft, version string, files map[string]int64) error {
	if strings.HasPrefix(name, "commits/") {
		s.once.Do(func() { s.still.Store(true); close(s.reached); <-s.on; s.still.Store(false) })
	}
	for s.still.Load() { // nor does it renew its lease
		time.Sleep(time.Millisecond)
	}
	return s.Dir.Commit(ctx, name, draft, version, files)
}

// TestFence: after the files of a process that stopped were removed, it can no longer commit them.
func TestFence(t *testing.T) {
	dir, games := t.TempDir(), t.TempDir()
	stage(t, dir, again(t, games, 0, true), "finish")
	merge(t, dir, archive.Options{})
	want := rowsOf(t, dir)
	stage(t, dir, again(t, games, 3, true), "finish")
	p := stopped{place(dir), &sync.Once{}, make(chan struct{}), make(chan struct{}), &atomic.Bool{}}
	slow := make(chan error)
	go func() {
		_, err := archive.New(p, archive.Options{Lease: lease}).Merge(t.Context())
		slow <- err
	}()
	<-p.reached
	if err := os.RemoveAll(filepath.Join(dir, "staged")); err != nil { // so that nobody else commits it
		t.Fatal(err)
	}
	r, err := archive.Report{}, archive.ErrBusy
	for errors.Is(err, archive.ErrBusy) { // it may have renewed its lease just before it stopped
		r, err = archive.New(place(dir), archive.Options{Lease: lease}).Merge(t.Context())
	}
	if err != nil || r.Cleaned == 0 || r.Replays != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	close(p.on)
	if err := <-slow; err == nil {
		t.Error("it committed files that were removed")
	}
	compare(t, rowsOf(t, dir), want)
}

// full is a place whose disk is full after some files, until there is room again.
type full struct {
	quick

	left *atomic.Int64
}

func (f full) room() error {
	if f.left.Add(-1) < 0 {
		return &os.PathError{Op: "write", Path: f.Path, Err: syscall.ENOSPC}
	}
	return nil
}

func (f full) Drafts(name string) (string, error) {
	if err := f.room(); err != nil {
		return "", err
	}
	return f.quick.Drafts(name)
}

func (f full) Put(ctx context.Context, name, draft string) error {
	return errors.Join(f.room(), f.quick.Put(ctx, name, draft))
}

// TestFull: wherever a disk becomes full, the error says so, and the same process goes on when there is room.
func TestFull(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
	games, want := t.TempDir(), t.TempDir()
	for n := range 3 {
		stage(t, want, again(t, games, 3*n, true), "finish")
	}
	merge(t, want, archive.Options{})
	rows := rowsOf(t, want)
	for most := int64(0); ; most += 13 {
		dir := t.TempDir()
		var left atomic.Int64
		left.Store(1 << 30)
		a := archive.New(full{place(dir), &left}, archive.Options{SmallFiles: 2, CommitReplays: 1, Keep: 1, Lease: lease})
		stage(t, dir, again(t, games, 0, false), "finish")
		if _, err := a.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			stage(t, dir, again(t, games, 3*n, true), "finish")
		}
		left.Store(most)
		_, err := a.Merge(t.Context())
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		failed := err != nil
		left.Store(1 << 30)
		if _, err := a.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		compare(t, rowsOf(t, dir), rows)
		if !failed {
			return
		}
	}
}
