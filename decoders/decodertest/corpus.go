// Package decodertest helps the decoders' tests find the corpus of real replays, and the figures that independent
// decoders found in it. The corpus is not part of the repository. Tests that need it are skipped without it.
package decodertest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// repository is the repository's folder: a test begins in its package's folder. The path of this source file would not do, as
// programs built with -trimpath do not know it.
var repository = func() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "decoders", "decodertest")); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return "."
}()

// Shared returns the path of a file or folder in ../shared, beside the repository. It skips the test when the path
// does not exist.
func Shared(tb testing.TB, elem ...string) string {
	tb.Helper()
	path := filepath.Join(append([]string{repository, "..", "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("the corpus is not here: %v", err)
	}
	return path
}

// Read returns the contents of a file in ../shared; see Shared.
func Read(tb testing.TB, elem ...string) []byte {
	tb.Helper()
	return read(tb, Shared(tb, elem...))
}

// Sample returns the contents of a file in the repository's folder testdata.
func Sample(tb testing.TB, elem ...string) []byte {
	tb.Helper()
	return read(tb, filepath.Join(append([]string{repository, "testdata"}, elem...)...))
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Gzip returns data as a file of gzip.
func Gzip(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// WholeCorpus reports whether CORPUS=all asks for all files of the corpus, at all places. Otherwise tests that take long decode some of
// the files, which differ the most.
func WholeCorpus() bool { return os.Getenv("CORPUS") == "all" }

// Reference decodes the named JSON file in ../shared/reference into v.
func Reference(tb testing.TB, name string, v any) {
	tb.Helper()
	if err := json.Unmarshal(Read(tb, "reference", name), v); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
}
