package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/replayd/replayd/cmd/internal/command"
)

// flow matches a command in an example: a list of YAML that is also one of JSON.
var flow = regexp.MustCompile(`(?m)^\s*(?:command|args): (\["(?:jobs|work|merge|serve)".*\])$`)

// TestFleetExamples: the commands in the examples of workers, and those in docs/fleet.md, have flags that the program accepts.
func TestFleetExamples(t *testing.T) {
	root := filepath.Join("..", "..")
	var commands [][]string
	for name, own := range map[string]string{
		"compose.workers.yaml": "sync_interval: always", "kubernetes.workers.yaml": "sync_interval: always", "compose.cluster.yaml": "$$ROUTE_3",
	} {
		text, err := os.ReadFile(filepath.Join(root, "packaging", name))
		if err != nil {
			t.Fatal(err)
		}
		found := flow.FindAllSubmatch(text, -1)
		for _, m := range found {
			var args []string
			if err := json.Unmarshal(m[1], &args); err != nil {
				t.Errorf("%s: %v: %s", name, err, m[1])
			}
			commands = append(commands, args)
		}
		for _, what := range []string{`["work"`, `["merge"`, `["serve"`, `["jobs","add","--watch"`, own, "read_only", "s3://"} {
			flat := strings.ReplaceAll(strings.ReplaceAll(string(text), `", "`, `","`), "readOnly", "read_only")
			if len(found) != 4 || !strings.Contains(flat, what) {
				t.Errorf("%s has %d commands, or no %s", name, len(found), what)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "fleet.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\$ replayd-fleet (.*)$`).FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(m[1])))
	}
	if len(commands) < 10 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, args := range commands {
		var out bytes.Buffer
		if err := newProgram().Check(t.Context(), args, command.Console{In: strings.NewReader(""), Out: &out, Err: &out}); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
