package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// TestGreeting: the daemon serves although the lines to try cannot be printed yet: nobody reads its output. While they wait for the
// index, beside a root that does not answer, it serves as well.
func TestGreeting(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.Write(make([]byte, 64<<10)); err != nil { // as much as a pipe holds
		t.Fatal(err)
	}
	dir := t.TempDir()
	commandtest.WriteFile(t, filepath.Join(dir, "still.teehistorian"), commandtest.ReadSample(t, filepath.Join("..", "..", "..")))
	addr := commandtest.FreeAddr(t)
	cmd := program(t, "serve", "--listen", addr, "--web-listen", "none", "--root", "r="+dir, "--log-level", "error")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	waitFor(t, "health", func() bool { return released(t, "health", "--addr", addr).Run() == nil })
}
