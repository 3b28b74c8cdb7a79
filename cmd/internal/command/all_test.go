package command

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCatAll: all replays of a daemon are printed as each of them is, with its name; an interrupted command says how it goes on.
func TestCatAll(t *testing.T) {
	dir := t.TempDir()
	want := map[string]int{}
	for i, name := range []string{"a.teehistorian", "b.teehistorian"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"))
		if err != nil {
			t.Fatal(err)
		}
		game := strings.Replace(string(data), "4fa04b32", []string{"4fa04b32", "00000000"}[i], 1) // of the header's text
		if err := os.WriteFile(filepath.Join(dir, name), []byte(game), 0o600); err != nil {
			t.Fatal(err)
		}
		want["live/"+name] = 0
	}
	addr, _ := daemon(t, dir)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Args = append([]string{"replayd", "cat", "--addr", addr}, args...)
		return cmd
	}
	for name := range want {
		text, err := run("--kind", "player_diff", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		want[name] = strings.Count(string(text), "\n")
	}
	all := run("--all", "--kind", "player_diff", "/")
	var notes strings.Builder
	all.Stderr = &notes
	out, err := all.StdoutPipe()
	if err == nil {
		err = all.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	left := want["live/a.teehistorian"] + want["live/b.teehistorian"]
	for in := bufio.NewScanner(out); left > 0 && in.Scan(); left-- {
		var line struct {
			Replay string `json:"replay"`
			Kind   string `json:"kind"`
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil || line.Kind != "player_diff" {
			t.Fatal(in.Text(), err)
		}
		want[line.Replay]--
	}
	if left > 0 || want["live/a.teehistorian"] != 0 || want["live/b.teehistorian"] != 0 {
		t.Errorf("more or less than each replay has: %v", want)
	}
	_ = all.Process.Signal(os.Interrupt)
	_ = all.Wait()
	if !strings.Contains(notes.String(), "resume with --cursor ") {
		t.Errorf("it says %q", notes.String())
	}
	for _, args := range [][]string{{"--all", "--tick", "5", "/"}, {"--all", "-o", "csv", "/"}, {"--all", "--addr", "", "/"}} {
		if text, err := run(args...).CombinedOutput(); err == nil || !strings.Contains(string(text), "--all") {
			t.Errorf("%q: %s", args, text)
		}
	}
}

// TestCatNamed: a command with a name that is interrupted goes on behind what it has printed when it is given again.
func TestCatNamed(t *testing.T) {
	dir := t.TempDir()
	name := "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian"
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "teehistorian", "finished", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	addr, _ := daemon(t, dir, "--index", filepath.Join(state, "index"), "--subscriptions", filepath.Join(state, "names"))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cat := func(args ...string) (first string, notes string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Args = append([]string{"replayd", "cat", "--addr", addr, "--all", "--subscription", "stats", "--kind", "join"}, args...)
		var errors strings.Builder
		cmd.Stderr = &errors
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(out)
		if in.Scan() {
			first = in.Text()
		}
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		return first, errors.String()
	}
	if line, notes := cat("/"); !strings.Contains(line, `"sequence":"0"`) || strings.Contains(notes, "--cursor") {
		t.Errorf("first %s, then %q", line, notes)
	}
	data = []byte(strings.Replace(string(data), "4fa04b32", "00000000", 1)) // another game
	if err := os.WriteFile(filepath.Join(dir, "b.teehistorian"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if line, _ := cat("/"); line == "" || strings.Contains(line, `"sequence":"0"`) && !strings.Contains(line, "live/b.teehistorian") {
		t.Errorf("it goes on with %s", line)
	}
	if _, notes := cat("live"); !strings.Contains(notes, "other conditions") {
		t.Errorf("another directory: %q", notes)
	}
}
