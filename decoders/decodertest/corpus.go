// Package decodertest helps the decoders' tests find the corpus of real replays, and the figures that independent
// decoders found in it. The corpus is not part of the repository. Tests that need it are skipped without it.
package decodertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Shared returns the path of a file or folder in ../shared, beside the repository. It skips the test when the path
// does not exist.
func Shared(tb testing.TB, elem ...string) string {
	tb.Helper()
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		tb.Fatal("no caller information")
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(self)))
	path := filepath.Join(append([]string{root, "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("the corpus is not here: %v", err)
	}
	return path
}

// WholeCorpus reports whether CORPUS=all asks for all files of the corpus, at all places. Otherwise tests that take long decode some of
// the files, which differ the most.
func WholeCorpus() bool { return os.Getenv("CORPUS") == "all" }

// Reference decodes the named JSON file in ../shared/reference into v.
func Reference(tb testing.TB, name string, v any) {
	tb.Helper()
	data, err := os.ReadFile(Shared(tb, "reference", name))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
}
