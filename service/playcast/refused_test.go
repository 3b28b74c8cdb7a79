package playcast_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/playcast/playcasttest"
)

// overOf returns what stands beside a match's last file, and removes nothing.
func overOf(t *testing.T, dir string, labels []string) string {
	t.Helper()
	file := ""
	if len(labels) > 0 {
		file = strings.TrimPrefix(labels[len(labels)-1], "replayd "+filepath.Base(dir)+" ") + ".dem"
	}
	text, err := os.ReadFile(filepath.Join(dir, catalog.OverName(file)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// TestRefusedLater: readers of a match that its relay gives no more are told so, until it goes on.
func TestRefusedLater(t *testing.T) {
	r, dir := playcasttest.New(t, 20), t.TempDir()
	refuse := true
	r.Fault = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		if !refuse || r.Newest < playcasttest.First+9 {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	err := matchOf(t, r, dir).Run(t.Context())
	_, labels := files(t, dir)
	if err == nil || len(labels) != 1 {
		t.Fatal(err, labels)
	}
	if got := overOf(t, dir, labels); !strings.Contains(got, "403") || !strings.HasSuffix(got, "\n") {
		t.Errorf("readers are told %q", got)
	}
	refuse = false
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, labels := files(t, dir)
	if len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, playcasttest.First+20)) {
		t.Error(labels)
	}
	if got := overOf(t, dir, labels); got != "" {
		t.Errorf("readers of a match with an end are told %q", got)
	}
}

// TestRefusedUntold: what cannot be noted at first, and what a relay says at length, is told, too.
func TestRefusedUntold(t *testing.T) {
	r, dir := playcasttest.New(t, 20), t.TempDir()
	blocked := make(chan string, 1)
	r.Fault = func(w http.ResponseWriter, request *http.Request, _ []byte) bool {
		if r.Newest < playcasttest.First+9 {
			return false
		}
		names, err := filepath.Glob(filepath.Join(dir, "*.dem"))
		if err != nil || len(names) != 1 {
			t.Error(names, err)
			return false
		}
		path := filepath.Join(dir, catalog.OverName(filepath.Base(names[0])))
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Error(err)
		}
		blocked <- path
		http.Redirect(w, request, "http://"+strings.Repeat("a", 1000)+".example/", http.StatusFound)
		return true
	}
	m := matchOf(t, r, dir)
	m.Log = slog.New(notify{slog.DiscardHandler, func(level slog.Level, _ string) {
		if level == slog.LevelError { // it waits
			if err := os.Remove(<-blocked); err != nil {
				t.Error(err)
			}
		}
	}})
	if err := m.Run(t.Context()); err == nil {
		t.Error("it goes on")
	}
	_, labels := files(t, dir)
	if got := overOf(t, dir, labels); !strings.Contains(got, "redirect") || len(got) > 256 {
		t.Errorf("readers are told %q", got)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.dem"))
	file, err := os.Stat(names[0])
	note, unread := os.Stat(filepath.Join(dir, catalog.OverName(filepath.Base(names[0]))))
	if err := errors.Join(err, unread); err != nil || file.ModTime().Before(note.ModTime()) {
		t.Errorf("who watches the file alone does not look at what stands beside it: %v", err)
	}
}

// TestRefused: what a broadcast may not be is refused, and nothing is written.
func TestRefused(t *testing.T) {
	elsewhere := playcasttest.New(t, 1)
	for _, c := range []struct {
		name, want string
		change     func(map[string]any)
		fault      func(http.ResponseWriter, *http.Request, []byte) bool
	}{
		{"another protocol", "protocol 4", func(at map[string]any) { at["protocol"] = 4 }, nil},
		{"a way out", "token_redirect", func(at map[string]any) { at["token_redirect"] = "../../admin" }, nil},
		{"a URL", "token_redirect", func(at map[string]any) { at["token_redirect"] = "http://127.0.0.1/" }, nil},
		{"from the root", "token_redirect", func(at map[string]any) { at["token_redirect"] = "/admin" }, nil},
		{"a question", "token_redirect", func(at map[string]any) { at["token_redirect"] = "a?b" }, nil},
		{"forbidden", "403", nil, func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}},
		{"a redirect to another host", "redirect", nil, func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
			return true
		}},
		{"a redirect to another path", "redirect", nil, func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if !strings.HasPrefix(r.URL.Path, "/tv/1234/") {
				t.Error(r.URL.Path)
			}
			http.Redirect(w, r, "/tv/1234/../12345/sync", http.StatusFound)
			return true
		}},
		{"a redirect to itself for ever", "redirect", nil, func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, dir := playcasttest.New(t, 2), t.TempDir()
			r.Change, r.Fault = c.change, c.fault
			err := matchOf(t, r, dir).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "/tv/1234") {
				t.Error(err)
			}
			_, labels := files(t, dir)
			if len(labels) > 0 || elsewhere.Asked() > 0 {
				t.Error(labels, elsewhere.Asked())
			}
			if got := overOf(t, dir, labels); !strings.Contains(got, "cannot be followed") || !strings.Contains(got, c.want) {
				t.Errorf("those who wait for it are told %q", got)
			}
		})
	}
}

// TestNetworks: a name that leads into a network that is not public is refused, unless the operator named the network.
func TestNetworks(t *testing.T) {
	r := playcasttest.New(t, 2)
	m := matchOf(t, r, t.TempDir())
	m.URL.Host = "localhost:" + m.URL.Port()
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "neither public nor allowed") || r.Asked() > 0 {
		t.Error(r.Asked(), err)
	}
	if got := overOf(t, m.Dir, nil); !strings.Contains(got, "neither public nor allowed") || strings.Contains(got, "127.0.0.1") || strings.Contains(got, "::1") {
		t.Errorf("those who wait for it are told %q", got)
	}
	m.Networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	if err := m.Run(t.Context()); err != nil || overOf(t, m.Dir, nil) != "" {
		t.Error(err)
	}
}
