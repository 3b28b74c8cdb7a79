package replayd_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// program builds the daemon's program and returns its path.
func program(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("REPLAYD"); given != "" {
		return given
	}
	if testing.Short() {
		t.Skip("builds the program")
	}
	path := filepath.Join(t.TempDir(), "replayd")
	build := exec.CommandContext(soon(t), "go", "build", "-pgo=off", "-ldflags=-w", "-trimpath", "-o", path, "../../cmd/replayd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestOpen(t *testing.T) {
	binary := program(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("REPLAYD", binary)
	t.Setenv("REPLAYD_LISTEN", "nonsense") // a flag of the user's own daemon
	dir := filepath.Join(t.TempDir(), "a, b")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "my game.teehistorian")
	if err := os.WriteFile(file, read(t, filepath.Join(samples, finished)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for path, name := range map[string]string{file: "local/my game.teehistorian", ".": "local", "my game.teehistorian": "local/my game.teehistorian"} {
		local, err := replayd.Open(soon(t), path)
		if err != nil {
			t.Fatal(err)
		}
		if local.Name != name {
			t.Errorf("%s is called %q, want %q", path, local.Name, name)
		}
		got := lines(t, local.Events(soon(t), &replaydv1.StreamEventsRequest{
			Replay: "local/my game.teehistorian", Include: replayd.Kinds("join"),
		}))
		if len(got) != 4 {
			t.Errorf("%d joins, want 4", len(got))
		}
		for range 2 {
			if err := local.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := local.Info(soon(t)); err == nil {
			t.Error("a closed client answers")
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	_, err := replayd.Open(soon(t), "none.dem")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("for a file that does not exist: %v", err)
	}
	t.Setenv("REPLAYD", "/bin/false")
	if _, err = replayd.Open(soon(t), file); err == nil || !strings.Contains(err.Error(), "/bin/false does not start: it has ended") {
		t.Errorf("for a program that ends: %v", err)
	}
	t.Setenv("REPLAYD", file)
	if _, err = replayd.Open(soon(t), file); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "$REPLAYD is") {
		t.Errorf("for a variable that names no program: %v", err)
	}
	t.Setenv("REPLAYD", "")
	t.Setenv("PATH", dir)
	if _, err = replayd.Open(soon(t), file); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install it") {
		t.Errorf("without the program: %v", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind after errors: %v, %v", left, err)
	}
}
