// Package docs_test holds the documentation to the repository: what it names is there.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = ".."

// pages returns the pages that people write: those of the repository's root, of docs and of packages, with their contents. Pages in
// docs/events are generated, and third parties' notices are theirs.
func pages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || name == "docs/events"):
			return filepath.SkipDir
		case !d.Type().IsRegular() || filepath.Ext(name) != ".md" || name == "THIRD_PARTY_NOTICES.md":
			return nil
		}
		text, err := os.ReadFile(path)
		pages[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func exists(elem ...string) bool {
	found, err := filepath.Glob(filepath.Join(elem...))
	return err == nil && len(found) > 0
}

var (
	onGitHub = regexp.MustCompile(`^https://github\.com/replayd/replayd/(?:tree|blob)/main/(.+)$`)

	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code   = regexp.MustCompile("`([^`\n]+)`")
	fenced = regexp.MustCompile("(?s)```.*?\n```")
	// Directories of the root, by which a path is recognised in running text; it ends where something else begins.
	inRoot   = regexp.MustCompile(`^(?:\./)?((?:\.ci|\.github|bench|clients|cmd|decoders|docs|e2e|examples|fleet|internal|packaging|page|proto|replay|service|testdata|tools)/[\w./*-]*)$`)
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+\b`)
	target   = regexp.MustCompile("`(?:[A-Z]+=\\S+ )*make ([a-z][a-z0-9-]*)")
)

// published are pages that registries show, where a relative link leads nowhere.
var published = []string{"clients/python/README.md", "clients/typescript/README.md"}

// TestLinks follows each link to a file of the repository, also by its address on GitHub, and to a heading in it.
func TestLinks(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			path := filepath.Join(filepath.Dir(name), to)
			own := onGitHub.FindStringSubmatch(to)
			switch {
			case own != nil:
				path = filepath.FromSlash(own[1])
			case strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:"):
				continue
			case to == "":
				path = name
			case slices.Contains(published, filepath.ToSlash(name)):
				t.Errorf("%s links to %s, which a registry does not have", name, m[1])
			}
			if !exists(root, path) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if anchor != "" && all[path] != "" && !hasHeading(all[path], anchor) {
				t.Errorf("%s links to %s, and there is no such heading", name, m[1])
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(text) {
		if title := strings.TrimLeft(line, "#"); title != line {
			title = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			if strings.ReplaceAll(title, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}

// TestPaths: each path that a page names in code font is there. Paths may have wildcards.
func TestPaths(t *testing.T) {
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" { // which also names what is gone
			continue
		}
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			for word := range strings.FieldsSeq(m[1]) {
				path := strings.TrimSuffix(word, "/...")
				if inRoot.MatchString(path) && !exists(root, path) && !exists(filepath.Dir(filepath.Join(root, name)), path) {
					t.Errorf("%s names %s, which is not there", name, word)
				}
			}
		}
	}
}

// TestNames: each test, fuzz target and benchmark that a page names by its whole name is there, and so is each target of make.
func TestNames(t *testing.T) {
	var source strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		source.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" {
			continue
		}
		for _, test := range testName.FindAllString(text, -1) {
			if !strings.Contains(source.String(), "func "+test) { // also the beginning of a name, as -run takes it
				t.Errorf("%s names %s, which is not there", name, test)
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which is not there", name, m[1])
			}
		}
	}
}

// TestQuestionsAreShort: thirty blocks of the cookbook, without those that show the API itself, take at most three lines each. CI runs all
// blocks.
func TestQuestionsAreShort(t *testing.T) {
	short := 0
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(pages(t)["docs/cookbook.md"], -1) {
		lines := 0
		for line := range strings.Lines(m[1]) {
			if line != "EOF\n" && !strings.HasSuffix(line, "<<'EOF'\n") {
				lines++
			}
		}
		if lines <= 3 && !strings.Contains(m[1], "grpcurl") {
			short++
		}
	}
	if short < 30 {
		t.Errorf("only %d questions are answered by three lines", short)
	}
}
