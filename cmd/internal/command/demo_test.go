package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// TestDemo: a live game is there and goes on, on a map that the daemon has, beside samples; nothing is left behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	temporary, index := t.TempDir(), filepath.Join(t.TempDir(), "index")
	run := func(cmd *exec.Cmd) *exec.Cmd {
		// What the environment has for the user's own daemon is not for the demonstration.
		cmd.Env = append(cmd.Environ(), "TMPDIR="+temporary, "REPLAYD_INDEX="+index, "REPLAYD_ROOT="+temporary, "REPLAYD_TOKEN_FILE="+index)
		return cmd
	}
	addr := commandtest.FreeAddr(t)
	cmd := run(program(t, "demo", "--listen", addr, "--web-listen", "none"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	var game struct {
		Name  string `json:"name"`
		State string `json:"state"`
	}
	waitFor(t, "a live game", func() bool {
		out, err := run(released(t, "ls", "--addr", addr, "--format", "json", "live")).Output()
		for line := range strings.Lines(string(out)) {
			if json.Unmarshal([]byte(line), &game) == nil && strings.HasSuffix(game.Name, ".teehistorian") {
				return err == nil && game.State == "REPLAY_STATE_GROWING"
			}
		}
		return false
	})
	var described struct {
		Map string `json:"map_replay"`
	}
	waitFor(t, "its map", func() bool {
		out, err := run(released(t, "info", "--addr", addr, "--format", "json", game.Name)).Output()
		return err == nil && json.Unmarshal(out, &described) == nil && described.Map == "live/course.map"
	})
	follow := run(released(t, "cat", "--addr", addr, "--follow", "--kind", "player_diff", game.Name))
	out, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(follow) })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the game does not go on: %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // as of any program that is interrupted
	if _, err := os.Stat(index); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the user's index: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
