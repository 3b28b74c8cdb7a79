package catalog_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/replayd/replayd/service/catalog"
)

// TestPrevious: what stands beside a file is read, unless it is no identity; and it is found by the name of that file alone.
func TestPrevious(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"d/a.dem": demo, "d/.a.dem.previous": "dem:1\n", "d/long.dem": demo, "d/.long.dem.previous": strings.Repeat("x", 257),
		"d/binary.dem": demo, "d/.binary.dem.previous": "\xff", "d/dir.dem": demo, "d/.dir.dem.previous/": "", "none.dem": demo,
		"top.dem": demo, ".top.dem.previous": "dem:2",
	})
	write(t, filepath.Dir(dir), map[string]string{".out.dem.previous": "dem:3"})
	c := open(t, map[string]string{"r": dir})
	for name, want := range map[string]string{
		"r/d/a.dem": "dem:1", "r/top.dem": "dem:2", "r/d/long.dem": "", "r/d/binary.dem": "", "r/d/dir.dem": "", "r/none.dem": "",
		"r/../out.dem": "", "r": "", "r/d/.a.dem": "", "s/a.dem": "",
	} {
		if got := c.Previous(t.Context(), name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if catalog.PreviousName("a.dem") != ".a.dem.previous" {
		t.Error("the name is documented")
	}
}

// TestOver: why nothing more is written stands beside a file, and in a directory.
func TestOver(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"d/a.dem": demo, "d/.a.dem.over": "gone\n", "d/b.dem": demo, "d/.over": "never begun\n", ".over": "of all",
		"d/long.dem": demo, "d/.long.dem.over": strings.Repeat("x", 257),
	})
	c := open(t, map[string]string{"r": dir})
	for name, want := range map[string]string{"r/d/a.dem": "gone", "r/d/b.dem": "", "r/d/long.dem": "", "r/d": "", "r": "", "r/../r/d/a.dem": ""} {
		if got := c.Over(t.Context(), name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, want := range map[string]string{"r/d": "never begun", "r": "of all", "r/d/a.dem": "", "r/none": "", "s": ""} {
		if got := c.OverIn(t.Context(), name); got != want {
			t.Errorf("in %s: %q", name, got)
		}
	}
}

// TestSentence: whatever the text, what is written of it is read again.
func TestSentence(t *testing.T) {
	dir := t.TempDir()
	c := open(t, map[string]string{"r": dir})
	for _, text := range []string{"short", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("é", 1000), "a\xffb"} {
		write(t, dir, map[string]string{"a.dem": demo, catalog.OverName("a.dem"): catalog.Sentence(text) + "\n"})
		got := c.Over(t.Context(), "r/a.dem")
		if got != catalog.Sentence(text) || got == "" || len(text) < 256 && utf8.ValidString(text) && got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}
