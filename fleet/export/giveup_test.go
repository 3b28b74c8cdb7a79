package export_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/fleet/export"
	"github.com/replayd/replayd/replay/source"
)

// TestGiveUp: each time that an export is given up its manifest is another one, until a finished export is there.
func TestGiveUp(t *testing.T) {
	const name = "replays/format=dem/a.parquet.json"
	dir := t.TempDir()
	place := export.Dir{Path: dir}
	last := ""
	for range 2 {
		given, err := export.GiveUp(t.Context(), place, name)
		if err != nil || !given {
			t.Fatalf("given up: %v, %v", given, err)
		}
		now, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(now) == last {
			t.Fatalf("the manifest is the last one, %v", err)
		}
		last = string(now)
	}
	finished := []byte(`{"files":{"a.parquet":1}}`)
	if err := os.WriteFile(filepath.Join(dir, name), finished, 0o600); err != nil {
		t.Fatal(err)
	}
	given, err := export.GiveUp(t.Context(), place, name)
	if now, failed := os.ReadFile(filepath.Join(dir, name)); given || err != nil || failed != nil || !bytes.Equal(now, finished) {
		t.Errorf("a finished export is given up: %v, %v, %s", given, errors.Join(err, failed), now)
	}
}

// TestDamageOf: only what the contents of a replay are is damage, and not what happened to its file meanwhile.
func TestDamageOf(t *testing.T) {
	damaged := decoders.Errorf(decoders.Dem, 7, 0, "entity", decoders.ErrCorrupt, "it is odd")
	d := export.DamageOf(damaged, error.Error)
	if d == nil || d.Reason != "CORRUPT" || d.Offset == nil || *d.Offset != 7 {
		t.Errorf("%+v", d)
	}
	for _, other := range []error{source.ErrDirectory, source.ErrRemoved, source.ErrReplaced, source.ErrStore} {
		if d := export.DamageOf(errors.Join(damaged, other), error.Error); d != nil {
			t.Errorf("%v: %+v", other, d)
		}
	}
}
