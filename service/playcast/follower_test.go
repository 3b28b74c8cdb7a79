package playcast_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/playcast/playcasttest"
)

// TestPattern: what patterns of URLs let through.
func TestPattern(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{
			"https://relay.example.org/tv/*", "https://relay.example.org/tv/s1t2 https://RELAY.example.org:443/tv/a/ https://relay.example.org/tv/a%20b",
			"http://relay.example.org/tv/a https://relay.example.org/tv/a/b https://relay.example.org/tv https://relay.example.org/tv/.. https://relay.example.org/tv/../admin " +
				"https://relay.example.org/tv/%2e%2e https://relay.example.org/tv/a%2fb https://relay.example.org/tv/a?b=c https://relay.example.org:8443/tv/a " +
				"https://relay.example.org/tv//a https://relay.example.org.evil.org/tv/a https://evil.org/relay.example.org/tv/a https://user@relay.example.org/tv/a",
		},
		{
			"http://*.example.org:8080/*/tv?*", "http://a.example.org:8080/x/tv http://a.example.org:8080/x/tv?key=value",
			"http://example.org:8080/x/tv http://a.b.example.org:8080/x/tv http://a.example.org/x/tv http://a.example.org.:8080/x/tv",
		},
		{"http://*.*.*.*/tv", "http://a.b.c.d/tv", "http://127.0.0.1/tv http://10.0.0.1/tv http://a.b.c.1/tv http://a.b.c.0x7f/tv http://[::1]/tv"},
		{"http://*/tv", "http://localhost/tv", "http://2130706433/tv http://0x7f000001/tv http://[::ffff:7f00:1]/tv http:///tv"},
		{"http://127.0.0.1:8080/tv", "http://127.0.0.1:8080/tv", "http://127.0.0.2:8080/tv http://localhost:8080/tv"},
		{"http://example.org/tv?a=b", "http://example.org/tv?a=b", "http://example.org/tv http://example.org/tv?a=c"},
	} {
		p, err := playcast.ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(c.pattern, err)
		}
		for i, list := range []string{c.yes, c.no} {
			for text := range strings.FieldsSeq(list) {
				u, err := url.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if got := playcast.Check(u) == nil && p.Match(u); got != (i == 0) {
					t.Errorf("%s: %s: %v", c.pattern, text, got)
				}
			}
		}
	}
	for _, text := range []string{"", "*", "example.org/*", "ftp://example.org/*", "http://example.org/[a-z]", `http://example.org/\*`, "http://example.org:*/tv", "http://a@example.org/", "http://example.org/%2f", "http://example.org/#a"} {
		if _, err := playcast.ParsePattern(text); err == nil {
			t.Errorf("%q is a pattern", text)
		}
	}
}

// followerOf returns a Follower of some URLs, and what ends it.
func followerOf(t *testing.T, dir string, limit int, allow ...string) (f *playcast.Follower, stop func()) {
	t.Helper()
	o := playcast.FollowerOptions{
		Dir: dir, Name: "live/tv", Max: limit, Like: playcast.Match{Pace: time.Microsecond, Log: slog.New(slog.DiscardHandler)},
		Known: map[string]string{"http://example.org/known": "live/known"},
	}
	for _, text := range allow {
		p, err := playcast.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Allow = append(o.Allow, p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f = playcast.NewFollower(ctx, o)
	return f, func() { cancel(); f.Wait() }
}

// TestFollower: a URL is followed once, to its end, also by the next process; and no URL is that is not allowed.
func TestFollower(t *testing.T) {
	dir := t.TempDir()
	r := playcasttest.New(t, 60)
	held, hold := make(chan struct{}), make(chan struct{})
	r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
		if r.Newest == playcasttest.First+20 && hold != nil {
			close(held)
			<-hold
			hold = nil
		}
		return false
	}
	at := r.At(t).String()
	f, stop := followerOf(t, dir, 1, r.URL+"/tv/*")
	for text, want := range map[string]error{
		"": playcast.ErrURL, "ftp://example.org/": playcast.ErrURL, "http://example.org/tv/1234": playcast.ErrAllowed,
		r.URL + "/tv/1234/../../admin": playcast.ErrAllowed, r.URL + "/tv/1234/5": playcast.ErrAllowed,
	} {
		if _, err := f.Follow(text); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if name, err := f.Follow("http://EXAMPLE.org:80/known/"); err != nil || name != "live/known" {
		t.Error(name, err)
	}
	name, err := f.Follow(at)
	if err != nil || !strings.HasPrefix(name, "live/tv/127.0.0.1-") || strings.Contains(name, "1234") {
		t.Fatal(name, err)
	}
	<-held
	if again, err := f.Follow(at + "/"); err != nil || again != name {
		t.Error(again, err)
	}
	if _, err := f.Follow(r.URL + "/tv/5678"); !errors.Is(err, playcast.ErrMax) {
		t.Error(err)
	}
	close(hold)
	stop()
	forgotten, stop := followerOf(t, dir, 1) // the operator allows it no more
	forgotten.Wait()
	stop()

	f, stop = followerOf(t, dir, 1, r.URL+"/tv/*")
	f.Wait() // it goes on by itself
	defer stop()
	path := filepath.Join(dir, strings.TrimPrefix(name, "live/tv/"))
	found, labels := files(t, path)
	if len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, playcasttest.First+60)) {
		t.Error(labels)
	}
	asked := r.Asked()
	if again, err := f.Follow(at); err != nil || again != name {
		t.Error(again, err)
	}
	f.Wait()
	if r.Asked() != asked {
		t.Error("a match that is over is asked for")
	}
	spool := playcast.Spool{Below: []string{dir}, Age: time.Hour, Follower: f, Log: slog.New(slog.DiscardHandler)}
	spool.Sweep(t.Context(), time.Now())
	if left := list(t, dir); len(left) != 3 {
		t.Error(left)
	}
	spool.Sweep(t.Context(), time.Now().Add(2*time.Hour))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestFollowerRefused: of a URL at which there is no broadcast nothing stays, once those who wait for it were told why.
func TestFollowerRefused(t *testing.T) {
	dir := t.TempDir()
	playcast.Linger(t, time.Millisecond)
	r := playcasttest.New(t, 1)
	r.Fault = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
		_, _ = io.WriteString(w, `{"protocol":4}`)
		return true
	}
	f, stop := followerOf(t, dir, 1, r.URL+"/tv/*")
	defer stop()
	for range 2 {
		if _, err := f.Follow(r.At(t).String()); err != nil {
			t.Fatal(err)
		}
		f.Wait()
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || r.Asked() != 2 {
		t.Error(left, err, r.Asked())
	}
	playcast.Linger(t, time.Hour)
	began := time.Now()
	name, err := f.Follow(r.At(t).String())
	for err == nil {
		told, _ := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(name, "live/tv/"), catalog.OverName("")))
		if strings.Contains(string(told), "protocol 4") {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("those who wait for it are told %q", told)
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	if left, _ := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
