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

// longest is the largest length of an example, in bytes. Longer ones are cut.
const longest = 600

// examplesOf prints the samples of a format and returns one line per kind. It prefers the line with the most text among
// the first few. A format without samples has no examples.
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

// few is the number of lines of a kind to compare.
const few = 20

// better reports whether a is a better example than b. Lines that need no cutting are better, and among them longer
// ones.
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

// skipped reports whether to skip a file: a compressed copy of another sample, or an input of a fuzz test.
func skipped(path string) bool {
	switch filepath.Ext(path) {
	case ".gz", ".zst", ".xz", ".bz2":
		return true
	}
	return strings.Contains(path, "fuzz")
}

// cat prints a replay. It ignores errors of replayd, so that a damaged replay gives the lines before the damage, and a
// file that is not a replay gives none.
func cat(replayd, path string) ([]byte, error) {
	out, err := exec.Command(replayd, "cat", path).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return out, nil
	}
	return out, err
}
