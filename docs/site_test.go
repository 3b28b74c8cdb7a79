package docs_test

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write llms.txt")

const repository = "https://github.com/replayd/replayd/"

// here is a link of a package's page, which is also read elsewhere, to a file of the repository.
var here = regexp.MustCompile(`^` + regexp.QuoteMeta(repository) + `(?:blob|tree|raw)/main/(.+)$`)

// TestReachable: each page can be reached from the README by links.
func TestReachable(t *testing.T) {
	all := pages(t)
	generated, err := filepath.Glob(filepath.Join("events", "*.md"))
	if err != nil || len(generated) < 5 {
		t.Fatal(generated, err)
	}
	for _, name := range generated {
		text, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		all[path.Join("docs", filepath.ToSlash(name))] = string(text)
	}
	reached := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if readme := path.Join(name, "README.md"); all[readme] != "" {
			name = readme
		}
		if reached[name] || all[name] == "" {
			return
		}
		reached[name] = true
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(all[name], ""), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if own := here.FindStringSubmatch(to); own != nil {
				if !exists(root, own[1]) {
					t.Errorf("%s links to %s, which is not there", name, m[1])
				}
				visit(path.Clean(own[1]))
			} else if to != "" && !strings.Contains(to, "://") {
				visit(path.Join(path.Dir(name), to))
			}
		}
	}
	visit("README.md")
	for name := range all {
		if strings.HasSuffix(name, ".md") && !reached[name] {
			t.Errorf("no links lead from README.md to %s", name)
		}
	}
}

var (
	section = regexp.MustCompile(`(?m)^\*\*(.*)\*\*$`)
	wrapped = regexp.MustCompile(`\n  +`)
)

// TestLLMs: llms.txt lists the pages of docs/README.md, for assistants; `go test ./docs -run TestLLMs -update` writes it again.
func TestLLMs(t *testing.T) {
	all := pages(t)
	_, about, _ := strings.Cut(all["README.md"], "\n\n")
	about, _, _ = strings.Cut(about, "\n\n")
	_, list, _ := strings.Cut(all["docs/README.md"], "\n\n")
	list = wrapped.ReplaceAllString(section.ReplaceAllString(list, "## $1"), " ")
	list = link.ReplaceAllStringFunc(list, func(m string) string {
		to := path.Join("docs", m[2:len(m)-1])
		if info, err := os.Stat(filepath.Join(root, to)); err == nil && info.IsDir() {
			if to = path.Join(to, "README.md"); !exists(root, to) {
				return "](" + repository + "tree/main/" + path.Dir(to) + ")"
			}
		}
		return "](" + repository + "raw/main/" + to + ")"
	})
	want := "# replayd\n\n> " + strings.ReplaceAll(about, "\n", " ") + "\n\n" + strings.ReplaceAll(list, "\n* ", "\n- ")
	if *update {
		if err := os.WriteFile("llms.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("llms.txt"); err != nil || string(got) != want {
		t.Errorf("llms.txt is not of docs/README.md: %v", err)
	}
}
