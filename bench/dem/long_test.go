package dem

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/replayd/replayd/decoders/dem/demtest"
)

// auto is the recorded demo of which long ones are made.
const auto = "haste/auto-20240102-2233-start-____.dem"

// long is the file to which TestWriteLong writes a long demo, for decoders in other languages.
var (
	long      = flag.String("long", "", "write a long demo to this file")
	longBytes = flag.Int("bytes", 50<<20, "how large the demo of -long is at least")
)

func TestWriteLong(t *testing.T) {
	if *long == "" {
		t.Skip("no -long")
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "dem", filepath.FromSlash(auto)))
	if err != nil {
		t.Skip(err)
	}
	if data, err = demtest.Repeat(data, *longBytes); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*long, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
