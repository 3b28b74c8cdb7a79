package index_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/index"
)

// held is a store whose directories are not read until it is let go.
type held struct {
	objects
	free    chan struct{}
	without string // the file that it no longer has
	place   string
}

func (h held) Place() string { return h.place }

func (h held) ReadDir(ctx context.Context, dir string, each func(fs.FileInfo)) (fs.FileInfo, error) {
	select {
	case <-h.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return h.objects.ReadDir(ctx, dir, func(info fs.FileInfo) {
		if info.Name() != h.without {
			each(info)
		}
	})
}

// begun waits until the beginnings of all files of an index are read.
func begun(t *testing.T, x *index.Index, files int) *index.Index {
	t.Helper()
	await(t, "all are known", func() bool { return x.Figures().Identified == files })
	return x
}

// TestRecalled: objects that were known when the index was closed are found before their store is listed again, which then tells what has
// changed.
func TestRecalled(t *testing.T) {
	at := filepath.Join(t.TempDir(), "index")
	begin := func(h held) *index.Index {
		files, err := catalog.New([]catalog.Root{{Alias: "r", Store: h}}, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := tryOpen(t, nil, func(c *index.Config) { c.Files, c.Path = files, at })
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	all := func(x *index.Index) []string { return list(t, x, index.Query{Scope: index.Everything()}, 5000) }
	let := make(chan struct{})
	close(let)
	const gone, late = "r/d0000/00000007.teehistorian", "r/d0001/00000150.teehistorian"
	x := begun(t, begin(held{objects: 150, free: let, place: "here"}), 150)
	first := all(x)
	closed(t, x)

	h := held{objects: 151, free: make(chan struct{}), without: filepath.Base(gone), place: "here"}
	x = begin(h)
	if got := all(x); len(first) != 150 || !slices.Equal(got, first) {
		t.Errorf("%d are found before the store is listed, want the %d of before", len(got), len(first))
	}
	if e, err := x.InDirectory(t.Context(), "r/d0001", index.Everything()); err != nil || len(e) != 50 || !e[0].Identified {
		t.Errorf("%d are in a directory: %v", len(e), err)
	}
	close(h.free)
	want := append(slices.DeleteFunc(slices.Clone(first), func(name string) bool { return name == gone }), late)
	await(t, "what has changed is there", func() bool { return slices.Equal(all(x), want) })
	closed(t, begun(t, x, 150))

	h.free = make(chan struct{})
	x = begin(h)
	if got := all(x); !slices.Equal(got, want) {
		t.Errorf("%d are found after another start, want %d", len(got), len(want))
	}
	closed(t, x)

	for _, place := range []string{"there", "there", ""} { // what was known is of other files, or may be
		h.place = place
		x = begin(h)
		if n := x.Figures().Files; n > 0 {
			t.Errorf("%d files of another place are known in %q", n, place)
		}
		closed(t, x)
	}
	for place, want := range map[string]int{"there": 10, "": 0} {
		at = filepath.Join(t.TempDir(), "index")
		closed(t, begun(t, begin(held{objects: 150, free: let, place: "here"}), 150))
		closed(t, begun(t, begin(held{objects: 10, free: let, place: place}), 10))
		x = begin(held{objects: 10, free: make(chan struct{}), place: place})
		if n := x.Figures().Files; n != want {
			t.Errorf("%d files are known in %q, want %d", n, place, want)
		}
		closed(t, x)
	}
	at = filepath.Join(t.TempDir(), "index")
	closed(t, begun(t, begin(held{objects: 10, free: let}), 10))
	x = begin(held{objects: 10, free: make(chan struct{})})
	if n := x.Figures().Files; n > 0 {
		t.Errorf("%d files are known of a place that is not known", n)
	}
	closed(t, x)
}
