package decodertest

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Recording is a run of a real DDNet server: its log, and its games in the order of the log, nil for games that the corpus lacks.
type Recording struct {
	// Name is the path of the log, from its directory on.
	Name  string
	Log   string
	Games [][]byte
}

var recordingLine = regexp.MustCompile(`recording to 'teehistorian/(\S+)'`)

// Recordings returns the runs of DDNet 20.1.1 in the corpus. It skips the test without the corpus.
func Recordings(tb testing.TB) (runs []Recording) {
	tb.Helper()
	for _, pattern := range []string{"ddnet-20.1.1/*.log", "ddnet-20.1.1-2/*/*.log.gz"} {
		logs, err := filepath.Glob(filepath.Join(Shared(tb, "corpus", "teehistorian"), filepath.FromSlash(pattern)))
		if err != nil {
			tb.Fatal(err)
		}
		for _, path := range logs {
			run := Recording{
				Name: filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), Log: string(unpacked(tb, path)),
			}
			for _, m := range recordingLine.FindAllStringSubmatch(run.Log, -1) {
				game := filepath.Join(filepath.Dir(path), m[1])
				if _, err := os.Stat(game); err != nil {
					game += ".gz"
				}
				if _, err := os.Stat(game); err != nil {
					run.Games = append(run.Games, nil)
					continue
				}
				run.Games = append(run.Games, unpacked(tb, game))
			}
			runs = append(runs, run)
		}
	}
	return runs
}

// unpacked returns the bytes of a file, which may be compressed.
func unpacked(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var r io.Reader
		if r, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(r)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
