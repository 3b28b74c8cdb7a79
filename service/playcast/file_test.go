package playcast_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/replayd/replayd/service/playcast/playcasttest"
)

// TestChanged: a file that has other bytes than its broadcast is left as it is.
func TestChanged(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"cut":    func(b []byte) []byte { return b[:len(b)/2] },
		"longer": func(b []byte) []byte { return append(b, "another program wrote here"...) },
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := playcasttest.New(t, 40), t.TempDir()
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
				if r.Newest == playcasttest.First+10 {
					kill()
				}
				return false
			}
			if err := matchOf(t, r, dir).Run(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			unlock := r.Lock()
			r.Fault = nil
			unlock()
			found, labels := files(t, dir)
			changed := change(found[labels[0]])
			path := filepath.Join(dir, strings.TrimPrefix(labels[0], "replayd "+filepath.Base(dir)+" ")+".dem")
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			found, labels = files(t, dir)
			if len(labels) != 2 || !bytes.Equal(found[labels[0]], changed) {
				t.Errorf("files %v", labels)
			}
		})
	}
}

// TestRemoved: a file that somebody removes while nobody writes it does not come back, neither empty nor with a part of its match.
func TestRemoved(t *testing.T) {
	r, dir := playcasttest.New(t, 40), t.TempDir()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
		if r.Newest == playcasttest.First+10 {
			kill()
		}
		return false
	}
	if err := matchOf(t, r, dir).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	unlock := r.Lock()
	r.Fault = nil
	unlock()
	removed, _ := filepath.Glob(filepath.Join(dir, "*.dem"))
	if err := os.Remove(removed[0]); err != nil {
		t.Fatal(err)
	}
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.dem"))
	if len(left) != 1 || left[0] == removed[0] {
		t.Error(left)
	}
}

// TestKilledBeforeStart: a process that ends between naming a file and writing its first body goes on with that file. Once the body has gone,
// no file without a header is left, and the next one follows the file before.
func TestKilledBeforeStart(t *testing.T) {
	for name, signup := range map[string]string{"goes on": "0", "another match": "7"} {
		t.Run(name, func(t *testing.T) {
			r, dir := playcasttest.New(t, 20), t.TempDir()
			const named = "2026-01-01T00-00-00Z.dem"
			for file, text := range map[string]string{
				named:                     "",
				"." + named + ".previous": "dem:sha256:00\n",
				".playcast.json": `{"of":"` + r.At(t).String() + `","fragment":40,"signup_fragment":` + signup + `,"file":"` + named + `","identity":"dem:sha256:01","previous":"dem:sha256:00",` +
					`"demo":{"label":"replayd ` + filepath.Base(dir) + ` 2026-01-01T00-00-00Z"}}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.Newest += 10
			if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			found, labels := files(t, dir)
			notes, _ := filepath.Glob(filepath.Join(dir, ".*.previous"))
			if len(labels) != 1 || len(notes) != 1 {
				t.Fatal(labels, notes)
			}
			if kept := strings.HasSuffix(labels[0], " 2026-01-01T00-00-00Z"); kept != (signup == "0") {
				t.Error("the file is", labels[0])
			}
			begin := 40
			for signup != "0" && begin < playcasttest.First+19 && !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], begin, playcasttest.First+20)) {
				begin++ // another match begins where its relay is
			}
			if !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], begin, playcasttest.First+20)) {
				t.Error("the file is not what was broadcast")
			}
			if previous, _ := os.ReadFile(notes[0]); string(previous) != "dem:sha256:00\n" {
				t.Errorf("it follows %q", previous)
			}
		})
	}
}
