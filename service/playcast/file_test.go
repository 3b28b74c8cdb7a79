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
