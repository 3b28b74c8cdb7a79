package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	replayd "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/internal/daemontest"
)

var update = flag.Bool("update", false, "write facts.golden anew, for the files that it names; this needs the corpus")

// TestFacts: the daemon concludes from each file of facts.golden the facts that the other clients and the page compare themselves with.
func TestFacts(t *testing.T) {
	repository := filepath.Join("..", "..")
	d := daemontest.New("samples", filepath.Join(repository, "testdata"))
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	client, err := replayd.Dial(d.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	golden, err := os.ReadFile("facts.golden")
	if err != nil {
		t.Fatal(err)
	}
	var anew bytes.Buffer
	absent := 0
	for line := range bytes.Lines(golden) {
		var want facts
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if _, err := os.Stat(filepath.Join(repository, want.File)); err != nil && !strings.HasPrefix(want.File, samples) {
			absent++
			continue
		}
		got, err := factsOf(t.Context(), client, repository, want.File)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		anew.Write(append(text, '\n'))
		if diff := cmp.Diff(&want, got); diff != "" && !*update {
			t.Errorf("%s; -update writes facts.golden anew (-want +got):\n%s", want.File, diff)
		}
	}
	switch {
	case absent > 0 && *update:
		t.Fatalf("%d files of the corpus are not there", absent)
	case *update:
		if err := os.WriteFile("facts.golden", anew.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	case absent > 0:
		t.Logf("the corpus is not available: %d files were not compared", absent)
	}
}
