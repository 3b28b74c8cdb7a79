package queue_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// modelVariable is the environment variable that makes TestModel run: the path of the model checker spin.
const modelVariable = "SPIN"

// TestModel checks all orders of the steps of docs/models/fencing.pml, and that each mistake that it names is found.
func TestModel(t *testing.T) {
	spin := os.Getenv(modelVariable)
	if spin == "" {
		t.Skip(modelVariable, "is not set")
	}
	model, err := filepath.Abs(filepath.Join("..", "..", "docs", "models", "fencing.pml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ mistake, found string }{
		{"", ""},
		{"NO_CONDITION", "began==dones"},
		{"ONE_NAME", "contents==manifest"},
		{"NO_GIVING_UP", "files&(1<<manifest)"},
		{"NO_CLAIM", "jobOf"},
	} {
		t.Run("fencing "+c.mistake, func(t *testing.T) {
			dir, args := t.TempDir(), []string{"-a", model}
			if c.mistake != "" {
				args = []string{"-a", "-D" + c.mistake, model}
			}
			run := func(program string, args ...string) string {
				cmd := exec.Command(program, args...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", program, err, out)
				}
				return string(out)
			}
			run(spin, args...)
			run("cc", "-w", "-O2", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c")
			out := run(filepath.Join(dir, "pan"), "-m10000")
			if strings.Contains(out, "max search depth too small") || !strings.Contains(out, "states, stored") {
				t.Fatal(out)
			}
			if sound := strings.Contains(out, "errors: 0"); sound != (c.found == "") || !strings.Contains(out, c.found) {
				t.Error(out)
			}
			for line := range strings.Lines(out) {
				if strings.Contains(line, "states, stored") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}
