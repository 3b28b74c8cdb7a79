package main

import (
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/internal/frozen"
)

// TestFrozenFlags: commands have the flags that they had.
func TestFrozenFlags(t *testing.T) {
	lines, err := newProgram().Flags()
	if err != nil {
		t.Fatal(err)
	}
	frozen.Check(t, filepath.Join("..", ".."), "replayd-fleet", lines)
}
