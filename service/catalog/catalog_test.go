package catalog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
)

const (
	teehistorian = "\x69\x9d\xb1\x7b\x8e\xfb\x34\xff\xb1\xd8\xda\x6f\x60\xc1\x5d\xd1"
	demo         = "PBDEMS2\x00 and so on"
	gameMap      = "DATA\x04\x00\x00\x00 and so on"
)

// write makes files below a directory: names to contents. A name that ends with a slash is a directory.
func write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				tb.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// open makes a catalog of roots; the map is from alias to directory.
func open(tb testing.TB, roots map[string]string) *catalog.Catalog {
	tb.Helper()
	var list []catalog.Root
	for alias, dir := range roots {
		list = append(list, catalog.Root{Alias: alias, Dir: dir})
	}
	c, err := catalog.New(list, catalog.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func TestNewRefusesWhatCannotBeServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"file": ""})
	for _, c := range []struct {
		name  string
		roots []catalog.Root
	}{
		{"an empty alias", []catalog.Root{{Alias: "", Dir: dir}}},
		{"a slash in an alias", []catalog.Root{{Alias: "a/b", Dir: dir}}},
		{"dots for an alias", []catalog.Root{{Alias: "..", Dir: dir}}},
		{"a dot for an alias", []catalog.Root{{Alias: ".", Dir: dir}}},
		{"an alias twice", []catalog.Root{{Alias: "a", Dir: dir}, {Alias: "a", Dir: t.TempDir()}}},
		{"a file", []catalog.Root{{Alias: "a", Dir: filepath.Join(dir, "file")}}},
	} {
		if _, err := catalog.New(c.roots, catalog.Options{}); err == nil {
			t.Errorf("%s is accepted", c.name)
		}
	}
	c := open(t, map[string]string{"b": dir, "a": dir}) // a directory by two names
	if r := c.Roots(); len(r) != 2 || r[0].Alias != "a" || r[1].Alias != "b" {
		t.Errorf("roots %v", r)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret": teehistorian})
	write(t, dir, map[string]string{
		"a.bin": teehistorian, "d/b": zipped(demo), "d/empty": "", "text": "hello", "broken.gz": "\x1f\x8b\x08broken----------",
		"back\\slash": teehistorian, ".hidden": teehistorian, ".git/a": teehistorian, "d/.hidden": teehistorian, "...": teehistorian,
	})
	for link, target := range map[string]string{
		"in": "d/b", "d/up": "../a.bin", "out": filepath.Join(outside, "secret"), "out-missing": filepath.Join(outside, "missing"),
		"out-dir": outside, "relative-out": "../" + filepath.Base(outside) + "/secret", "relative-missing": "../missing",
		"dangling": "nothing", "loop": "loop", "absolute-in": filepath.Join(dir, "a.bin"), "dir": "d",
		"shown": ".hidden",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := net.ListenConfig{}
	socket, err := listen.Listen(t.Context(), "unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })

	c := open(t, map[string]string{"r": dir, "dev": "/dev"})
	for _, test := range []struct {
		name   string
		format decoders.Format
		err    error
	}{
		{name: "r/a.bin", format: decoders.Teehistorian},
		{name: "r/d/b", format: decoders.Dem},
		{name: "r/d/empty"},
		{name: "r/text"},
		{name: "r/in", format: decoders.Dem},
		{name: "r/d/up", format: decoders.Teehistorian},
		{name: "r/dir/b", format: decoders.Dem},
		{name: "r/shown", format: decoders.Teehistorian}, // the operator's link
		{name: "r/broken.gz", err: decoders.ErrCorrupt},

		{name: "r", err: source.ErrDirectory},
		{name: "r/d", err: source.ErrDirectory},
		{name: "r/dir", err: source.ErrDirectory},
		{name: "r/fifo", err: source.ErrIrregular},
		{name: "r/socket", err: source.ErrIrregular},
		{name: "dev/null", err: source.ErrIrregular},
		{name: "dev/zero", err: source.ErrIrregular},

		{name: "r/missing", err: catalog.ErrNotFound},
		{name: "r/missing/a", err: catalog.ErrNotFound},
		{name: "r/a.bin/a", err: catalog.ErrNotFound},
		{name: "r/dangling", err: catalog.ErrNotFound},
		{name: "r/loop", err: catalog.ErrNotFound},
		{name: "other/a", err: catalog.ErrNotFound},
		{name: "R/a.bin", err: catalog.ErrNotFound},
		{name: "r/.hidden", err: catalog.ErrNotFound},
		{name: "r/.git/a", err: catalog.ErrNotFound},
		{name: "r/d/.hidden", err: catalog.ErrNotFound},
		{name: "r/...", err: catalog.ErrNotFound},
		{name: "r/" + strings.Repeat("x", 300), err: catalog.ErrNotFound},
		{name: "r/" + strings.Repeat("x/", 3000) + "x", err: catalog.ErrNotFound},

		{name: "r/out", err: catalog.ErrOutside},
		{name: "r/out-missing", err: catalog.ErrOutside},
		{name: "r/out-dir/secret", err: catalog.ErrOutside},
		{name: "r/relative-out", err: catalog.ErrOutside},
		{name: "r/relative-missing", err: catalog.ErrOutside},
		{name: "r/absolute-in", err: catalog.ErrOutside},
		{name: "/etc/passwd", err: catalog.ErrOutside},
		{name: "/", err: catalog.ErrOutside},
		{name: "..", err: catalog.ErrOutside},
		{name: "../x", err: catalog.ErrOutside},
		{name: "r/..", err: catalog.ErrOutside},
		{name: "r/../r/a.bin", err: catalog.ErrOutside},
		{name: "r/d/../a.bin", err: catalog.ErrOutside},
		{name: "r/d/..", err: catalog.ErrOutside},

		{name: "", err: catalog.ErrName},
		{name: ".", err: catalog.ErrName},
		{name: "r/.", err: catalog.ErrName},
		{name: "r/", err: catalog.ErrName},
		{name: "r/a.bin/", err: catalog.ErrName},
		{name: "r/dir/", err: catalog.ErrName},
		{name: "r//a.bin", err: catalog.ErrName},
		{name: "r/./a.bin", err: catalog.ErrName},
		{name: "r/a.bin\x00", err: catalog.ErrName},
		{name: "r/a\xff", err: catalog.ErrName},
		{name: `r\a.bin`, err: catalog.ErrName},
		{name: `r/back\slash`, err: catalog.ErrName},
		{name: `r/..\..\etc\passwd`, err: catalog.ErrName},
		{name: `C:\x`, err: catalog.ErrName},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file, err := c.Open(test.name)
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if err != nil {
				if strings.Contains(strings.ReplaceAll(err.Error(), test.name, ""), outside) {
					t.Errorf("%v says what lies outside", err)
				}
				return
			}
			defer file.Close()
			look, dir, err := c.Look(test.name)
			if got := file.Info(); got.Format != test.format || got.Name != test.name || err != nil || dir ||
				look != (catalog.File{Name: got.Name, ID: got.ID, Size: got.Size, Modified: got.Modified}) {
				t.Errorf("opened %+v; it looks like %+v, %v; want %v", got, look, err, test.format)
			}
			if (file.Recognized() == nil) != (test.format != decoders.Unknown) {
				t.Errorf("recognized: %v", file.Recognized())
			}
			path, err := c.Locate(test.name)
			if err != nil || path != file.Path() {
				t.Errorf("path %q, %v, not %q", path, err, file.Path())
			}
		})
	}
}

func TestARootMayBeHidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{".root/a": teehistorian})
	c := open(t, map[string]string{"r": filepath.Join(dir, ".root"), ".alias": filepath.Join(dir, ".root")})
	for _, name := range []string{"r/a", ".alias/a"} {
		if _, _, err := c.Look(name); err != nil {
			t.Error(err)
		}
	}
}

func TestVerbatimNamesAreWhateverFilesAreCalled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{".hidden": teehistorian, ".git/a": teehistorian, `back\slash`: teehistorian})
	c, err := catalog.New([]catalog.Root{{Alias: "r", Dir: dir}}, catalog.Options{Verbatim: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"r/.hidden": nil, "r/.git/a": nil, `r/back\slash`: nil, "r/../x": catalog.ErrOutside, "r/a\x00": catalog.ErrName, "r//a": catalog.ErrName,
	} {
		file, err := c.Open(name)
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
		if err == nil {
			_ = file.Close()
		}
	}
	if names := inDir(t, c, "r"); len(names) != 0 {
		t.Errorf("listed %q", names)
	}
}

// inDir is the names of what is in a directory, those of directories with a slash at their end.
func inDir(tb testing.TB, c *catalog.Catalog, name string) (names []string) {
	tb.Helper()
	d, err := c.ReadDir(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range d.Files {
		names = append(names, f.Name)
	}
	for _, dir := range d.Dirs {
		names = append(names, dir+"/")
	}
	slices.Sort(names)
	return names
}

func TestReadDir(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	write(t, one, map[string]string{
		"a/x": teehistorian, "a-b": demo, "a.gz": zipped(teehistorian), "c/d/e/f": demo, ".hidden": teehistorian, ".git/x": teehistorian,
		"text": "hello", "empty": "", "back\\slash": teehistorian, "a\xff": teehistorian, "new\nline": teehistorian, "d/": "",
	})
	write(t, two, map[string]string{"z": demo})
	for link, target := range map[string]string{
		"link": "a-b", "dirlink": "c", "out": two + "/z", "out-dir": two, "loop": ".", "dangling": "nothing", "shown": ".hidden",
	} {
		if err := os.Symlink(target, filepath.Join(one, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(one, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, map[string]string{"r": one})
	for name, want := range map[string][]string{
		"r": {
			"r/a-b", "r/a.gz", "r/a/", "r/c/", "r/d/", "r/empty", "r/link", "r/new\nline", "r/shown", "r/text",
		},
		"r/a": {"r/a/x"}, "r/d": nil, "r/c/d": {"r/c/d/e/"}, "r/dirlink": {"r/dirlink/d/"},
	} {
		if got := inDir(t, c, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]error{
		"r/text": catalog.ErrNotDirectory, "r/fifo": catalog.ErrNotDirectory, "r/missing": catalog.ErrNotFound, "x": catalog.ErrNotFound,
		"r/.git": catalog.ErrNotFound, "r/out-dir": catalog.ErrOutside, "r/..": catalog.ErrOutside, "r//a": catalog.ErrName,
	} {
		if _, err := c.ReadDir(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ReadDir(ctx, "r"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOutsideSoundsTheSameWhetherItExistsOrNot(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"there": teehistorian})
	c := open(t, map[string]string{"r": dir})
	link := filepath.Join(dir, "link")
	texts := map[string]bool{}
	for _, target := range []string{"there", "missing", "there/below"} {
		if err := os.Symlink(filepath.Join(outside, target), link); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{second(c.Open("r/link")), second(c.IsDir("r/link")), second(c.ReadDir(t.Context(), "r/link"))} {
			texts[err.Error()] = true
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if len(texts) != 1 {
		t.Errorf("different texts: %v", texts)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAPipeDoesNotBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, map[string]string{"r": dir})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range []string{"r/pipe", "r/pipe/x"} {
			_ = second(c.Open(name))
			_ = second(c.ReadDir(t.Context(), name))
		}
		_ = second(c.ReadDir(t.Context(), "r"))
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("blocked")
	}
}

func TestWhatMayNotBeReadIsDenied(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": teehistorian, "d/b": teehistorian, "z": teehistorian})
	for _, path := range []string{"a", "d"} {
		if err := os.Chmod(filepath.Join(dir, path), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "d"), 0o700) })
	c := open(t, map[string]string{"r": dir})
	for _, name := range []string{"r/a", "r/d/b"} {
		if _, err := c.Open(name); !errors.Is(err, catalog.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.ReadDir(t.Context(), "r/d"); !errors.Is(err, catalog.ErrDenied) {
		t.Error(err)
	}
}

func TestARootThatIsReplacedIsServedAsItIsNow(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	write(t, dir, map[string]string{"a": teehistorian})
	c := open(t, map[string]string{"r": dir, "s": t.TempDir()})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open("r/a"); !errors.Is(err, catalog.ErrNotFound) {
		t.Error(err)
	}
	if names := inDir(t, c, "r"); len(names) > 0 {
		t.Errorf("a root that is not there is not empty: %q", names)
	}
	write(t, dir, map[string]string{"b": demo})
	if names := inDir(t, c, "r"); !slices.Equal(names, []string{"r/b"}) {
		t.Errorf("%q", names)
	}
}

// FuzzName opens whatever name: nothing outside the root is reached, and only valid names lead anywhere.
func FuzzName(f *testing.F) {
	outside, dir := f.TempDir(), f.TempDir()
	write(f, outside, map[string]string{"secret": demo})
	write(f, dir, map[string]string{"a": teehistorian, "d/b": teehistorian, "x\\y": teehistorian})
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"r/a", "r/d/b", "r/out/secret", "r/../a", "r/d/../../x", "/", "r/x\\y", "r/a/", "r\x00", "s/.."} {
		f.Add(name)
	}
	c := open(f, map[string]string{"r": dir, "s": dir})
	f.Fuzz(func(t *testing.T, name string) {
		file, err := c.Open(name)
		if err == nil {
			defer file.Close()
			if file.Info().Format != decoders.Teehistorian {
				t.Errorf("%q leads to something else", name)
			}
			if name != "r/a" && name != "s/a" && name != "r/d/b" && name != "s/d/b" {
				t.Errorf("%q is another name of a file", name)
			}
			return
		}
		for _, known := range []error{
			catalog.ErrName, catalog.ErrNotFound, catalog.ErrOutside, source.ErrDirectory, source.ErrIrregular,
		} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Errorf("%q: %v", name, err)
	})
}
