package docs_test

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

const module = "github.com/replayd/replayd/"

// rules reads the table of architecture.md: what each package may import. "..." is anything.
func rules(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		allowed := []string{}
		if strings.TrimSpace(cells[3]) == "anything" {
			allowed = []string{"..."}
		}
		for _, m := range code.FindAllStringSubmatch(cells[3], -1) {
			allowed = append(allowed, m[1])
		}
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			rules[m[1]] = allowed
		}
	}
	return rules
}

// row returns the row of the table that a package belongs to, "" for none.
func row(rules map[string][]string, pkg string) string {
	for ; pkg != "."; pkg = filepath.Dir(pkg) {
		if _, ok := rules[pkg]; ok {
			return pkg
		}
	}
	return ""
}

func mayImport(rules map[string][]string, pkg, imported string) bool {
	from := row(rules, pkg)
	if row(rules, imported) == from {
		return true
	}
	for _, allowed := range rules[from] {
		prefix, below := strings.CutSuffix(allowed, "...")
		if imported == allowed || below && (strings.HasPrefix(imported, prefix) || imported+"/" == prefix) {
			return true
		}
	}
	return false
}

// TestImports: each package has a row in the table of architecture.md, and imports no more than that says.
func TestImports(t *testing.T) {
	rules := rules(t)
	if len(rules) < 20 {
		t.Fatalf("the table has %d rows", len(rules))
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" && path != root+"/testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		pkg, _ := filepath.Rel(root, filepath.Dir(path))
		if row(rules, pkg) == "" {
			t.Errorf("%s has no row in docs/architecture.md", pkg)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if imported, ours := strings.CutPrefix(name, module); ours && !mayImport(rules, pkg, imported) {
				t.Errorf("%s imports %s, which docs/architecture.md does not let it", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMayImport: the table is understood as the page says.
func TestMayImport(t *testing.T) {
	rules := map[string][]string{"a": {}, "a/b": {"a"}, "c": {"a/..."}, "d": {"..."}, "e": {"a"}}
	for pair, want := range map[[2]string]bool{
		{"a", "c"}: false, {"a", "a/x"}: true, {"a", "a/b"}: false, {"a/b", "a"}: true, {"a/b/x", "a/b/y"}: true, {"c", "a"}: true,
		{"c/x", "a/b/x"}: true, {"d", "anything"}: true, {"e", "a/b"}: false, {"e", "ab"}: false,
	} {
		if got := mayImport(rules, pair[0], pair[1]); got != want {
			t.Errorf("%s imports %s: %v, want %v", pair[0], pair[1], got, want)
		}
	}
}
