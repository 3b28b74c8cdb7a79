package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/source"
)

// list returns the names of all pages.
func list(tb testing.TB, c *catalog.Catalog, dir string, size int, formats ...decoders.Format) []string {
	tb.Helper()
	var names []string
	for token := ""; ; {
		page, err := c.List(tb.Context(), dir, formats, token, size)
		if err != nil {
			tb.Fatal(err)
		}
		if len(page.Replays) > size || len(page.Replays) < size && page.Next != "" {
			tb.Fatalf("%d replays on a page of %d; next %q", len(page.Replays), size, page.Next)
		}
		for _, r := range page.Replays {
			names = append(names, r.Name)
		}
		if token = page.Next; token == "" {
			return names
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	write(t, one, map[string]string{
		"a/x": teehistorian, "a-b": demo, "a.gz": zipped(teehistorian), "b": gameMap, "c/d/e/f": demo,
		".hidden": teehistorian, ".git/x": teehistorian, "text": "hello", "empty": "", "broken": "\x1f\x8b\x08broken----------",
		"back\\slash": teehistorian, "a\xff": teehistorian, "new\nline": teehistorian, "d/": "",
	})
	write(t, two, map[string]string{"z": demo})
	for link, target := range map[string]string{"link": "b", "dirlink": "c", "out": two + "/z", "loop": "."} {
		if err := os.Symlink(target, filepath.Join(one, link)); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, map[string]string{"one": one, "one-more": two, "two": two})
	all := []string{
		"one-more/z", // '-' comes before '/'
		"one/a-b", "one/a.gz", "one/a/x", "one/b", "one/c/d/e/f", "one/link", "one/new\nline", "two/z",
	}
	if !slices.IsSorted(all) {
		t.Fatal("the test itself is out of order")
	}
	for size := 1; size < len(all)+2; size++ {
		if diff := cmp.Diff(all, list(t, c, "", size)); diff != "" {
			t.Errorf("pages of %d: %s", size, diff)
		}
	}
	for _, test := range []struct {
		dir     string
		formats []decoders.Format
		want    []string
	}{
		{"one/a", nil, []string{"one/a/x"}},
		{"one/c", nil, []string{"one/c/d/e/f"}},
		{"one/d", nil, nil},
		{"one/dirlink", nil, []string{"one/dirlink/d/e/f"}}, // asked for, it is followed
		{"two", nil, []string{"two/z"}},
		{"", []decoders.Format{decoders.Teehistorian}, []string{"one/a.gz", "one/a/x", "one/new\nline"}},
		{"one", []decoders.Format{decoders.Datafile, decoders.Dem}, []string{"one/a-b", "one/b", "one/c/d/e/f", "one/link"}},
		{"", []decoders.Format{decoders.SC2Replay}, nil},
	} {
		if diff := cmp.Diff(test.want, list(t, c, test.dir, 2, test.formats...)); diff != "" {
			t.Errorf("%q %v: %s", test.dir, test.formats, diff)
		}
	}
	for dir, want := range map[string]error{
		"one/b": catalog.ErrNotDirectory, "one/missing": catalog.ErrNotFound, "three": catalog.ErrNotFound, "/": catalog.ErrOutside,
		"one/..": catalog.ErrOutside, "one/out": catalog.ErrOutside, "one/": catalog.ErrName,
		"one/.git": catalog.ErrNotFound,
	} {
		if _, err := c.List(t.Context(), dir, nil, "", 10); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", dir, err, want)
		}
	}
	page, err := c.List(t.Context(), "one", nil, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []error{
		second(c.List(t.Context(), "", nil, page.Next, 1)),
		second(c.List(t.Context(), "one", []decoders.Format{decoders.Dem}, page.Next, 1)),
		second(c.List(t.Context(), "one", nil, page.Next+"A", 1)),
		second(c.List(t.Context(), "one", nil, "x", 1)),
		second(c.List(t.Context(), "one", nil, "!", 1)),
	} {
		if !errors.Is(bad, catalog.ErrToken) {
			t.Errorf("a bad token: %v", bad)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.List(ctx, "", nil, "", 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestListedOnceWhileOthersComeAndGo: whatever happens between pages, what is there all the time is listed exactly once
// and in order.
func TestListedOnceWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		name := rapid.StringMatching(`[ab.-]{0,2}[ab](/[ab-]{1,2}){0,2}`)
		put := func(name string) bool {
			path := filepath.Join(dir, name)
			return os.MkdirAll(filepath.Dir(path), 0o700) == nil && os.WriteFile(path, []byte(demo), 0o600) == nil
		}
		var stay []string
		for _, n := range rapid.SliceOfNDistinct(name, 1, 8, rapid.ID).Draw(rt, "stay") {
			if put(n) && !slices.Contains(stay, "r/"+n) && n[0] != '.' {
				stay = append(stay, "r/"+n)
			}
		}
		slices.Sort(stay)
		c := open(t, map[string]string{"r": dir})
		var got []string
		for token := ""; ; {
			page, err := c.List(t.Context(), "", nil, token, rapid.IntRange(1, 3).Draw(rt, "size"))
			if err != nil {
				rt.Fatal(err)
			}
			for _, r := range page.Replays {
				got = append(got, r.Name)
			}
			if token = page.Next; token == "" {
				break
			}
			other := name.Draw(rt, "other")
			if stat, err := os.Lstat(filepath.Join(dir, other)); err != nil {
				put(other)
			} else if !stat.IsDir() && !slices.Contains(stay, "r/"+other) {
				_ = os.Remove(filepath.Join(dir, other))
			}
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			rt.Fatalf("out of order or twice: %q", got)
		}
		for _, n := range stay {
			if !slices.Contains(got, n) {
				rt.Fatalf("%q is missing in %q", n, got)
			}
		}
	})
}

func TestALargeDirectoryIsListedInBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	const files = 10_000
	dir := t.TempDir()
	var want []string
	for i := range files {
		name := fmt.Sprintf("file-%07d", (i*7919)%files)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(teehistorian), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, "r/"+name)
	}
	slices.Sort(want)
	c := open(t, map[string]string{"r": dir})
	got := list(t, c, "r", 1000)
	if !slices.Equal(got, want) {
		t.Fatalf("%d names of %d, or out of order", len(got), len(want))
	}
	for size, budget := range map[int]uint64{1: 6 << 20, 1000: 12 << 20} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := c.List(t.Context(), "r", nil, "", size); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > budget {
			t.Errorf("a page of %d allocated %d bytes in all", size, used)
		}
	}
}

func TestNewestAndSince(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, map[string]string{"r": dir})
	if _, err := c.Newest(t.Context(), "r", nil); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an empty directory: %v", err)
	}
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	age := func(name, content string, seconds int) {
		write(t, dir, map[string]string{name: content})
		at := start.Add(time.Duration(seconds) * time.Second)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	age("old", teehistorian, 1)
	age("middle", demo, 2)
	age("new-a", teehistorian, 3)
	age("new-b", teehistorian, 3)
	age("text", "hello", 4)
	age("below/newer", teehistorian, 5)
	age(".hidden", teehistorian, 6)
	for i := range 1500 { // more than are held at once
		age(fmt.Sprint("noise", i), "", 7+i%3)
	}
	names := func(infos []source.Info) (names []string) {
		for _, i := range infos {
			if i.Format != decoders.Unknown {
				names = append(names, i.Name)
			}
		}
		return names
	}
	of := func(format decoders.Format) func(*source.Info) bool {
		return func(info *source.Info) bool { return info.Format == format }
	}
	for name, test := range map[string]struct {
		wanted func(*source.Info) bool
		want   string
	}{
		"any":  {nil, "r/new-b"},
		"one":  {of(decoders.Dem), "r/middle"},
		"none": {of(decoders.SC2Replay), ""},
	} {
		info, err := c.Newest(t.Context(), "r", test.wanted)
		if info.Name != test.want || (test.want == "") != errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("%s: %q, %v; want %q", name, info.Name, err, test.want)
		}
	}
	since, err := c.Since(t.Context(), "r", start.Add(2*time.Second))
	if diff := cmp.Diff([]string{"r/new-b", "r/new-a", "r/middle"}, names(since)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if len(since) != 1504 {
		t.Errorf("%d files, with what is no replay", len(since))
	}
	if _, err := c.Since(t.Context(), "r/old", start); !errors.Is(err, catalog.ErrNotDirectory) {
		t.Error(err)
	}
}

func TestACatalogIsUsedByMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 100 {
		write(t, dir, map[string]string{fmt.Sprint(i): teehistorian})
	}
	c, err := catalog.New([]catalog.Root{{Alias: "r", Dir: dir}}, catalog.Options{Remember: 10})
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i := range 100 {
		if err := os.Chtimes(filepath.Join(dir, fmt.Sprint(i)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if n := len(list(t, c, "", 7)); n != 100 {
				t.Errorf("listed %d", n)
			}
		})
	}
	wg.Wait()
}

func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(teehistorian), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for i := range 10_000 {
		_ = os.Chtimes(filepath.Join(dir, fmt.Sprint(i)), old, old)
	}
	c := open(b, map[string]string{"r": dir})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.List(b.Context(), "r", nil, "", 100); err != nil {
			b.Fatal(err)
		}
	}
}
