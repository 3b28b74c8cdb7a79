package decoders_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLayout checks rules of the source tree: no file written by hand has more than 600 lines, and the packages below
// dem do not import package dem.
func TestLayout(t *testing.T) {
	const decoder = "github.com/replayd/replayd/decoders/dem"
	parts := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(filepath.ToSlash(path), "dem/internal/") {
			return nil
		}
		parts++
		file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err != nil || name == decoder {
				t.Errorf("%s imports %s", path, spec.Path.Value)
			}
		}
		return nil
	})
	if err != nil || parts == 0 {
		t.Errorf("%d files of parts, %v", parts, err)
	}
}
