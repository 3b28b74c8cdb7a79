package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longest is how many lines a file of code may have that people write. The .proto files are exempt: they are the reference, which
// a reader searches.
const longest = 600

var (
	codeFile  = regexp.MustCompile(`\.(go|ts|js|mjs|py|rs)$`)
	generated = regexp.MustCompile(`\.pb\.go$|\.gen\.go$|_pb2(_grpc)?\.py$|(^|/)(gen|dist)/|/replayd/events/`)
)

// TestFileLength: no file of code that people write is longer.
func TestFileLength(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "target"):
			return filepath.SkipDir
		case !d.Type().IsRegular() || !codeFile.MatchString(name) || generated.MatchString(name):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if lines := bytes.Count(text, []byte("\n")); lines > longest {
			t.Errorf("%s has %d lines, more than %d", name, lines, longest)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were looked at", files)
	}
}
