package export_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/fleet/export"
)

// TestWhile: a place that is not held any more is not changed; it can still be read.
func TestWhile(t *testing.T) {
	dir, drafts := t.TempDir(), t.TempDir()
	lost := errors.New("lost")
	var held error
	p := export.While(func() error { return held }, export.Dir{Path: dir, Temp: drafts})
	draft := func(text string) string {
		name := filepath.Join(drafts, "draft")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := p.Put(t.Context(), "a", draft("mine")); err != nil {
		t.Fatal(err)
	}
	held = lost
	for what, err := range map[string]error{
		"Commit": p.Commit(t.Context(), "a", draft("not mine"), "", nil),
		"Prune":  p.Prune(t.Context(), "a", []string{"a"}),
		"Put":    p.Put(t.Context(), "a", draft("not mine")),
		"Remove": p.Remove(t.Context(), "a"),
		"Sync":   p.Sync([]string{"a"}),
	} {
		if !errors.Is(err, lost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := p.Read(t.Context(), "a", 100); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	held = nil
	if err := errors.Join(p.Sync([]string{"a"}), p.Remove(t.Context(), "a")); err != nil {
		t.Error(err)
	}
}
