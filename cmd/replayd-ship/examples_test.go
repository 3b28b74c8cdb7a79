package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestExamples: the program accepts its commands in the examples of a fleet.
func TestExamples(t *testing.T) {
	shipping := regexp.MustCompile(`(?m)^\s*(?:command|args): (\["/replays".*\])$`)
	for _, name := range []string{"compose.workers.yaml", "kubernetes.workers.yaml", "compose.cluster.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "packaging", name))
		if err != nil {
			t.Fatal(err)
		}
		found := shipping.FindAllSubmatch(text, -1)
		if len(found) != 1 {
			t.Fatal(name, "has", len(found), "commands")
		}
		var args []string
		if err := json.Unmarshal(found[0][1], &args); err != nil {
			t.Fatal(name, err)
		}
		args[0] = t.TempDir()
		var out bytes.Buffer
		if code, ok := new(command).parse(args, &out, &out); !ok {
			t.Errorf("%s: exit code %d: %s", name, code, out.String())
		}
	}
}
