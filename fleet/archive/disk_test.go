package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/replayd/replayd/fleet/archive"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/internal/faulttest"
)

// TestDisk: a disk has room for some bytes more while a process stages and merges, from none to enough. Errors say that it is full. Readers have of each
// replay what was there before or what is to be there. When there is room, the same process goes on, and nothing else is left.
func TestDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
	const page = 4 << 10
	disk := faulttest.NewDisk(t, 4<<20)
	if disk == nil {
		t.Skip("this user may not mount a disk")
	}
	games, want := t.TempDir(), t.TempDir()
	for n := range 3 {
		stage(t, want, again(t, games, 3*n, true), "finish")
	}
	merge(t, want, archive.Options{})
	after := rowsOf(t, want)
	for room := int64(0); ; room += 7 * page {
		dir := filepath.Join(disk.Dir, strconv.FormatInt(room, 10))
		at := archive.Dir{Dir: export.Dir{Path: dir}}
		a := archive.New(at, archive.Options{SmallFiles: 2, CommitReplays: 1, Keep: 1, Lease: lease})
		stage(t, dir, again(t, games, 0, false), "finish")
		if _, err := a.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := rowsOf(t, dir)
		for n := range 2 {
			stage(t, dir, again(t, games, 3*n, true), "finish")
		}
		disk.Fill(t, room)
		last := func() error {
			return exported(t.Context(), again(t, games, 6, true), export.Options{Place: at, Staged: true}, request("finish"))
		}
		staged := last()
		_, merged := a.Merge(t.Context())
		for _, err := range []error{staged, merged} {
			if err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		for table, replays := range rowsOf(t, dir) {
			for replay, rows := range replays {
				if !slices.Equal(rows, before[table][replay]) && !slices.Equal(rows, after[table][replay]) {
					t.Errorf("with %d bytes, %s has %d rows of %s", room, table, len(rows), replay)
				}
			}
		}
		disk.Free(t)
		if staged != nil {
			if err := last(); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := a.Merge(t.Context()); err != nil || r.Bad > 0 {
			t.Fatal(r, err)
		}
		compare(t, rowsOf(t, dir), after)
		unnamed(t, dir)
		for _, below := range []string{"", "*", "*/*", "*/*/*"} {
			if drafts, err := filepath.Glob(filepath.Join(dir, below, ".*.part")); err != nil || len(drafts) > 0 {
				t.Error("drafts are left:", drafts, err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if staged == nil && merged == nil {
			t.Logf("%d bytes are enough", room)
			return
		}
	}
}
