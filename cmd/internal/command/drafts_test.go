package command

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
)

// TestDrafts: what a killed export and a killed daemon with samples leave behind is removed by the next one, which leaves alone what one
// that is still running has.
func TestDrafts(t *testing.T) {
	t.Parallel()
	sample := longReplay(commandtest.ReadSample(t, filepath.Join("..", "..", "..")), 1<<18)
	to := t.TempDir()
	drafts := func() int {
		return count(t, filepath.Join(to, ".replayd-work", "work-*", ".*.part"))
	}
	killed, _ := exporting(t, to, sample)
	waitFor(t, "drafts", func() bool { return drafts() > 0 })
	kill(killed)
	left := drafts()
	if left == 0 {
		t.Fatal("a killed export leaves nothing to remove")
	}
	live, rest := exporting(t, to, sample)
	waitFor(t, "the drafts of the second export alone", func() bool { return drafts() > 0 && count(t, filepath.Join(to, ".replayd-work", "*.lock")) == 1 })
	name := filepath.Join(t.TempDir(), "whole.teehistorian")
	commandtest.WriteFile(t, name, sample)
	_ = program(t, "export", name, "--to", to, "--again").Run() // the long replay has no end
	if count(t, filepath.Join(to, "format=teehistorian", "kind=*", "*.parquet")) == 0 {
		t.Fatal("nothing was exported")
	}
	if drafts() == 0 {
		t.Error("the drafts of an export that is running were removed")
	}
	_ = rest.Close()
	_ = live.Wait() // it has exported a replay that is cut
	if _, err := os.Stat(filepath.Join(to, ".replayd-work")); !os.IsNotExist(err) {
		t.Error("the directory of drafts stays:", err)
	}
}

// TestSamplesGo is TestDrafts for the directory of the samples.
func TestSamplesGo(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	samples := filepath.Join(temp, "replayd-samples-*", "work-*.lock")
	serve := func() *exec.Cmd {
		cmd := program(t, "serve", "--listen", commandtest.FreeAddr(t), "--web-listen", "none", "--log-level", "error")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { kill(cmd) })
		return cmd
	}
	killed := serve()
	waitFor(t, "samples", func() bool { return count(t, samples) == 1 })
	live := serve()
	waitFor(t, "samples of two", func() bool { return count(t, samples) == 2 })
	kill(killed)
	serve()
	waitFor(t, "two daemons' samples, and none of the third", func() bool { return count(t, samples) == 2 })
	_ = live.Process.Signal(os.Interrupt)
	_ = live.Wait()
	waitFor(t, "samples of one", func() bool { return count(t, samples) == 1 })
}

// exporting begins an export of a replay from standard input, and sends all of it but not the end.
func exporting(t *testing.T, to string, sample []byte) (*exec.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := program(t, "export", "-", "--to", to, "--again")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	if _, err := in.Write(sample); err != nil {
		t.Fatal(err)
	}
	return cmd, in
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// count returns how many files match a pattern.
func count(t *testing.T, pattern string) int {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// waitFor waits until ok returns true.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(commandtest.Patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no", what)
		}
	}
}
