package replayd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run builds and runs a program in a separate module, as a user would. The module uses this repository in place of the published
// module, and the same versions of all other modules.
func run(t *testing.T, source string, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program")
	}
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/replayd/replayd"
	mod := strings.Replace(string(read(t, filepath.Join(repository, "go.mod"))), "module "+path, "module example.org/readme", 1)
	mod += "\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + repository + "\n"
	dir := t.TempDir()
	for name, contents := range map[string]string{
		"go.mod": mod, "go.sum": string(read(t, filepath.Join(repository, "go.sum"))), "main.go": source,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := exec.CommandContext(soon(t), "go", append([]string{"run", "-mod=mod", "."}, args...)...)
	program.Dir = dir
	program.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestReadme runs the README's programs as printed, except for the daemon's address.
func TestReadme(t *testing.T) {
	d := serveAs(t, "samples", samples)
	wants := []string{`"kind":"join"`, "moves, the first to 336 1521"}
	for _, block := range strings.Split(string(read(t, "README.md")), "```go\n")[1:] {
		source, _, _ := strings.Cut(block, "```")
		if !strings.HasPrefix(source, "package main") {
			continue
		}
		if !strings.Contains(source, "localhost:7171") || len(wants) == 0 {
			t.Fatalf("an unknown program:\n%s", source)
		}
		out := run(t, strings.Replace(source, "localhost:7171", d.addr, 1))
		if !strings.Contains(out, wants[0]) || strings.Contains(out, "null") {
			t.Errorf("the program prints\n%s", out)
		}
		wants = wants[1:]
	}
	if len(wants) > 0 {
		t.Errorf("the README lacks programs that print %s", wants)
	}
}

// TestArrowApart: programs that use only this package do not contain the Arrow library.
func TestArrowApart(t *testing.T) {
	out, err := exec.CommandContext(soon(t), "go", "list", "-deps", ".").Output()
	if err != nil || !strings.Contains(string(out), "grpc") {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "apache/arrow") {
		t.Error("the client imports the Arrow library")
	}
}

// TestBuildOrder runs the example on a replay of the daemon and on an uploaded file.
func TestBuildOrder(t *testing.T) {
	corpus := filepath.Join("..", "..", "..", "shared", "corpus", "sc2replay", "lotv")
	file := filepath.Join(corpus, "lotv2.SC2Replay")
	if _, err := os.Stat(file); err != nil {
		t.Skip("the corpus is not available")
	}
	source := string(read(t, filepath.Join("examples", "buildorder", "main.go")))
	d := serve(t, corpus)
	served := run(t, source, "-until", "3m", d.addr, root+"/lotv2.SC2Replay")
	if !strings.Contains(served, "Gateway") || !strings.Contains(served, "Beckmann") {
		t.Errorf("for the daemon's replay it prints\n%s", served)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	if uploaded := run(t, source, "-until", "3m", "-upload", absolute, d.addr); uploaded != served {
		t.Errorf("for the upload it prints\n%s", uploaded)
	}
}
