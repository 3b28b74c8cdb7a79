package broadcast_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/replayd/replayd/decoders/dem/broadcast"
	"github.com/replayd/replayd/decoders/dem/demtest"
)

var update = flag.Bool("update", false, "write the sample again")

// TestSample: the files from which the tests of clients serve a broadcast, as any web server does, are those of a made match.
func TestSample(t *testing.T) {
	start, fragments, err := broadcast.Split(demtest.Fight(), 1)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"sync":    []byte(`{"tick":0,"endtick":1,"rtdelay":3,"rcvage":1,"fragment":0,"signup_fragment":0,"tps":64,"keyframe_interval":3,"protocol":5}` + "\n"),
		"0/start": start, "0/full": fragments[0].Full,
	}
	for i, f := range fragments {
		files[strconv.Itoa(i)+"/delta"] = f.Delta
	}
	for name, want := range files {
		path := filepath.Join("..", "..", "..", "clients", "testdata", "broadcast", filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Error(fmt.Sprintf("%s has %d bytes, want %d; run with -update", name, len(got), len(want)), err)
		}
	}
}
