package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// longest is how long an example is at most; longer ones are cut.
const longest = 600

// examplesOf prints the samples of a format and returns one line of each kind: the first that says something, that is,
// the one with the most text of the first few. A format without samples has no examples.
func examplesOf(replayd, dir string, kinds []string) (map[string]string, error) {
	best := map[string]string{}
	seen := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || skipped(path) {
			return err
		}
		lines, err := cat(replayd, path)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(lines) {
			var event struct {
				Kind string `json:"kind"`
			}
			if err := json.Unmarshal(line, &event); err != nil {
				return fmt.Errorf("%s: %q: %w", path, line, err)
			}
			text := strings.TrimSpace(string(line))
			if !slices.Contains(kinds, event.Kind) || seen[event.Kind] == few {
				continue
			}
			seen[event.Kind]++
			if better(text, best[event.Kind]) {
				best[event.Kind] = text
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return best, err
}

// few is how many lines of a kind are looked at.
const few = 20

// better prefers lines that need no cutting, and of those the longer one.
func better(a, b string) bool {
	switch {
	case b == "":
		return true
	case len(a) > longest || len(b) > longest:
		return len(a) < len(b)
	default:
		return len(a) > len(b)
	}
}

// skipped leaves out compressed copies of other samples, and inputs of fuzz tests.
func skipped(path string) bool {
	switch filepath.Ext(path) {
	case ".gz", ".zst", ".xz", ".bz2":
		return true
	}
	return strings.Contains(path, "fuzz")
}

// cat prints a replay. What is printed of one that is cut or damaged counts too; of what is no replay that is nothing.
func cat(replayd, path string) ([]byte, error) {
	out, err := exec.Command(replayd, "cat", path).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out, nil
	}
	return out, err
}
