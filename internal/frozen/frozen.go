// Package frozen compares names that users write down with the names that the last release has frozen, as `buf breaking` does
// with the .proto files: frozen lines must not change, and lines may be added.
package frozen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Check compares lines, one for each thing that users rely on, with testdata/compat/NAME.txt of the repository at root. A line
// must contain everything that must not change, and no two things may have the same line. `make freeze` writes the file.
func Check(tb testing.TB, root, name string, lines []string) {
	tb.Helper()
	slices.Sort(lines)
	for i := 1; i < len(lines); i++ {
		if lines[i] == lines[i-1] {
			tb.Errorf("%s: twice: %s", name, lines[i])
		}
	}
	path := filepath.Join(root, "testdata", "compat", name+".txt")
	if os.Getenv("FREEZE") != "" {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // a file of the repository
			tb.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	broken := Broken(strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), lines)
	for _, line := range broken[:min(len(broken), 20)] {
		tb.Errorf("%s: was frozen, and is no more or has changed: %s", name, line)
	}
}

// Broken returns the frozen lines that are missing among the present ones, in order.
func Broken(frozen, present []string) (broken []string) {
	for _, line := range frozen {
		if _, there := slices.BinarySearch(present, line); !there {
			broken = append(broken, line)
		}
	}
	return broken
}
