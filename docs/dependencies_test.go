package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// dependency is a row of the table of dependencies.md.
type dependency struct{ released, licence, reason string }

// dependencies reads the table: what each of go, npm and pypi gives.
func dependencies(t *testing.T) (rows map[string]map[string]dependency, lookedAt time.Time) {
	t.Helper()
	text, err := os.ReadFile("dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string]map[string]dependency{"go": {}, "npm": {}, "pypi": {}}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if from := rows[cells[0]]; from != nil && len(cells) == 5 {
			from[cells[1]] = dependency{cells[2], cells[3], cells[4]}
		}
	}
	m := regexp.MustCompile(`looked at in (\d{4}-\d{2})`).FindSubmatch(text)
	if m == nil {
		t.Fatal("dependencies.md does not say when it was looked at")
	}
	lookedAt, err = time.Parse("2006-01", string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return rows, lookedAt
}

// asked returns what the project asks for itself, by the same names; of Go with what the go command knows of it.
func asked(t *testing.T) (names map[string][]string, modules map[string]moduleInfo) {
	t.Helper()
	names, modules = map[string][]string{}, map[string]moduleInfo{}
	list := exec.Command("go", "list", "-mod=readonly", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.Time}}{{end}}", "all")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 4 {
			names["go"] = append(names["go"], f[0])
			modules[f[0]] = moduleInfo{f[2], f[3]}
		}
	}
	var packed struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	text, err := os.ReadFile(filepath.Join(root, "clients", "typescript", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &packed); err != nil {
		t.Fatal(err)
	}
	for name := range packed.Dependencies {
		names["npm"] = append(names["npm"], name)
	}
	text, err = os.ReadFile(filepath.Join(root, "clients", "python", "pyproject.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range regexp.MustCompile(`(?ms)^(?:dependencies|arrow|pandas|polars) = \[(.*?)\]$`).FindAllSubmatch(text, -1) {
		for _, m := range regexp.MustCompile(`"([\w.-]+)`).FindAllSubmatch(list[1], -1) {
			if name := string(m[1]); name != "replayd" { // an extra that contains another one
				names["pypi"] = append(names["pypi"], name)
			}
		}
	}
	return names, modules
}

// moduleInfo is a module's directory and the day of its version, both "" where the module cache does not have them.
type moduleInfo struct{ dir, time string }

// What each licence says, in words that no other one has.
var licences = map[string]string{
	"Apache-2.0": "Apache License", "BSD-3-Clause": "Redistributions of source code", "MIT": "free of charge", "MPL-2.0": "Mozilla Public License",
}

// TestDependencies: what the project asks for itself is in the table of dependencies.md, and nothing else; with the licence that it has,
// and a reason where it was not released within two years.
func TestDependencies(t *testing.T) {
	rows, lookedAt := dependencies(t)
	names, modules := asked(t)
	if len(names["go"]) < 20 || len(names["npm"]) < 3 || len(names["pypi"]) < 5 {
		t.Fatalf("the project asks for %v", names)
	}
	for from, wanted := range names {
		for name := range rows[from] {
			if !slices.Contains(wanted, name) {
				t.Errorf("dependencies.md has %s of %s, which nothing asks for", name, from)
			}
		}
		for _, name := range wanted {
			row, ok := rows[from][name]
			if !ok {
				t.Errorf("dependencies.md does not have %s of %s", name, from)
				continue
			}
			released, err := time.Parse("2006-01", row.released)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if released.AddDate(2, 0, 0).Before(lookedAt) && row.reason == "" {
				t.Errorf("%s was released in %s: dependencies.md has no reason", name, row.released)
			}
			if row.licence == "" {
				t.Errorf("%s has no licence", name)
			}
			if m := modules[name]; m.time != "" && !strings.HasPrefix(m.time, row.released) {
				t.Errorf("%s was released at %s, not in %s", name, m.time, row.released)
			} else if m.dir != "" {
				if err := licensed(m.dir, row.licence); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// licensed compares a licence's name with the files of a module.
func licensed(dir, licence string) error {
	name, _, _ := strings.Cut(licence, ",")
	words, ok := licences[name]
	if !ok {
		return fmt.Errorf("%q is no licence that is known here", name)
	}
	for _, pattern := range []string{"LICEN[SC]E*", "COPYING*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), words) {
				return nil
			}
		}
	}
	return fmt.Errorf("its licence is not %s", name)
}

// TestNoticesOfPage: THIRD_PARTY_NOTICES.md has the packages that are bundled in the page, as its build lists them.
func TestNoticesOfPage(t *testing.T) {
	notices, err := os.ReadFile(filepath.Join(root, "THIRD_PARTY_NOTICES.md"))
	if err != nil {
		t.Fatal(err)
	}
	bundled, err := os.ReadFile(filepath.Join(root, "page", "bundled.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(bundled, []byte("## @bufbuild/protobuf ")) || !bytes.Contains(notices, bundled) {
		t.Error("it has other packages of the page than page/bundled.md: run make notices")
	}
}

// TestNotices: THIRD_PARTY_NOTICES.md has the modules that are in the programs, in these versions.
func TestNotices(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "THIRD_PARTY_NOTICES.md"))
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}## {{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/replayd-fleet", "./cmd/replayd-nats")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=") // what any build has, whatever its tags
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			want[line] = true
		}
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "## ") && strings.Count(line, " ") == 2 && strings.Contains(line, " v") {
			if !want[line] {
				t.Errorf("%q is in no program: run make notices", line)
			}
			delete(want, line)
		}
	}
	for line := range want {
		t.Errorf("%q is missing: run make notices", line)
	}
}
