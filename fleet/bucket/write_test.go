package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/bucket"
	"github.com/replayd/replayd/fleet/bucket/buckettest"
	"github.com/replayd/replayd/replay/source"
)

// cut ends a request's connection in the middle of its body.
func cut(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.CopyN(io.Discard, r.Body, 1000)
	panic(http.ErrAbortHandler)
}

// refuses makes the store answer with a status once it has read the request. One that answers earlier and hangs up may not be heard.
func refuses(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		buckettest.Refuse(w, status, code)
	}
}

// TestPut: an object is written as a whole or not at all, whatever the store does, and what was there before stays until then.
func TestPut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fails func(http.ResponseWriter, *http.Request, http.Handler)
		times int64 // how often it fails
		want  error
		tries int
	}{
		{"works", nil, 0, nil, 1},
		{"forbidden", refuses(403, "AccessDenied"), 100, fs.ErrPermission, 1},
		{"expired", refuses(400, "ExpiredToken"), 100, fs.ErrPermission, 1},
		{"no bucket", refuses(404, "NoSuchBucket"), 100, source.ErrStore, 1},
		{"slows down once", refuses(503, "SlowDown"), 1, nil, 2},
		{"slows down", refuses(503, "SlowDown"), 100, source.ErrStore, 3},
		{"breaks twice", refuses(500, "InternalError"), 2, nil, 3},
		{"cuts the connection once", cut, 1, nil, 2},
		{"cuts the connection", cut, 100, source.ErrStore, 3},
		{"is no S3", refuses(http.StatusTeapot, "Teapot"), 100, source.ErrStore, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := buckettest.New(t)
			s.Put("p/old", []byte("old"))
			b := open(t, s.URL("p"), hasty)
			data := noise(3 << 20) // more than the buffers of a connection
			for _, name := range []string{"d/new", "old"} {
				var n, tries atomic.Int64
				s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					tries.Add(1)
					if r.Method != http.MethodPut || r.URL.Query().Has("uploads") {
						t.Errorf("%s %s: not a whole object", r.Method, r.URL)
					}
					if n.Add(1) <= c.times {
						c.fails(w, r, next)
						return
					}
					next.ServeHTTP(w, r)
				})
				err := b.Put(t.Context(), name, bytes.NewReader(data), int64(len(data)))
				if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || int(tries.Load()) != c.tries {
					t.Errorf("%s: %v after %d tries, want %v after %d", name, err, tries.Load(), c.want, c.tries)
				}
				s.Hook(nil)
				got, gotErr := b.Get(t.Context(), name, 1<<30)
				switch {
				case err == nil:
					if gotErr != nil || !bytes.Equal(got, data) {
						t.Errorf("%s: %d bytes are there, %v", name, len(got), gotErr)
					}
				case name == "old":
					if gotErr != nil || string(got) != "old" {
						t.Errorf("a put that failed has changed the object: %d bytes, %v", len(got), gotErr)
					}
				case !errors.Is(gotErr, fs.ErrNotExist):
					t.Errorf("a put that failed has left %d bytes, %v", len(got), gotErr)
				}
			}
			want := []string{"old"}
			if c.want == nil {
				want = []string{"d/new", "old"}
			}
			if got := walk(t, b); !slices.Equal(got, want) {
				t.Errorf("the bucket has %v, want %v", got, want)
			}
		})
	}
}

func walk(t *testing.T, b *bucket.Bucket) (names []string) {
	t.Helper()
	if err := b.Walk(t.Context(), ".", func(f bucket.Found) error { names = append(names, f.Path); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

// ending ends a context once half of an object was read.
type ending struct {
	*bytes.Reader

	end func()
}

func (e *ending) Read(p []byte) (int, error) {
	if e.Len() < int(e.Size())/2 {
		e.end()
	}
	return e.Reader.Read(p[:min(len(p), 4<<10)])
}

// TestPutEnds: a put ends with its context, and at a store that says nothing; then nothing is there.
func TestPutEnds(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	b := open(t, s.URL("p"), hasty)
	data := noise(8 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := b.Put(ctx, "x", &ending{bytes.NewReader(data), cancel}, int64(len(data))); !errors.Is(err, context.Canceled) {
		t.Error("cancelled:", err)
	}
	s.Requests()
	if err := b.Put(t.Context(), "x", bytes.NewReader(nil), bucket.MaxPut+1); !errors.Is(err, fs.ErrInvalid) || len(s.Requests()) > 0 {
		t.Error("too long:", err)
	}

	for _, reads := range []bool{true, false} { // the body, before it falls silent
		var tries atomic.Int64
		over := make(chan struct{})
		s.Hook(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			if reads {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			<-over
			panic(http.ErrAbortHandler)
		})
		o := hasty
		o.Attempts, o.Silence, o.Account = 2, 100*time.Millisecond, func(string, bool, int64) { tries.Add(1) }
		err := open(t, s.URL("p"), o).Put(t.Context(), "x", bytes.NewReader(data), int64(len(data)))
		if !errors.Is(err, source.ErrStore) || !strings.Contains(err.Error(), "in time") || tries.Load() != 2 {
			t.Errorf("a silent store: %v after %d tries", err, tries.Load())
		}
		close(over)
	}
	s.Hook(nil)
	if got := walk(t, b); len(got) > 0 {
		t.Error("left:", got)
	}
}

// TestReplace: an object is replaced if nobody else has written or removed it meanwhile, also one that was not there; and at a store that
// knows no conditions.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	b := open(t, s.URL("p"), hasty)
	replace := func(b *bucket.Bucket, name, text, tag string) error {
		return b.Replace(t.Context(), name, strings.NewReader(text), int64(len(text)), tag)
	}
	tag := func(name string) string {
		found, err := b.Look(t.Context(), name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return found.Tag
	}
	is := func(name, want string) {
		t.Helper()
		if got, err := b.Get(t.Context(), name, 100); string(got) != want || err != nil {
			t.Errorf("%s is %q, want %q, %v", name, got, want, err)
		}
	}
	for _, text := range []string{"first", "second", "second"} {
		if err := replace(b, "x", text, tag("x")); err != nil {
			t.Fatal(err)
		}
		is("x", text)
	}
	for name, meanwhile := range map[string]func(){
		"x":   func() { s.Put("p/x", []byte("another writer's")) },
		"new": func() { s.Put("p/new", []byte("another writer's")) },
	} {
		before := tag(name)
		meanwhile()
		if err := replace(b, name, "stalled", before); !errors.Is(err, bucket.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
		is(name, "another writer's")
	}
	gone := tag("x")
	if err := b.Remove(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if err := replace(b, "x", "stalled", gone); !errors.Is(err, bucket.ErrConflict) {
		t.Error("what was removed meanwhile:", err)
	}
	s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-Match")+r.Header.Get("If-None-Match") != "" {
			refuses(http.StatusNotImplemented, "NotImplemented")(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
	old := open(t, s.URL("p"), hasty)
	for _, text := range []string{"by an old store", "again"} {
		if err := replace(old, "x", text, ""); err != nil {
			t.Error(err)
		}
	}
	s.Hook(nil)
	is("x", "again")
}

// TestRemove: removing what is not there is no error, so that it can be repeated.
func TestRemove(t *testing.T) {
	t.Parallel()
	s := buckettest.New(t)
	s.Put("p/x", []byte("x"))
	b := open(t, s.URL("p"), hasty)
	for range 2 {
		if err := b.Remove(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	}
	if got := walk(t, b); len(got) > 0 {
		t.Error("left:", got)
	}
	s.Hook(answers(404, "NoSuchKey"))
	if err := b.Remove(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	s.Hook(answers(403, "AccessDenied"))
	if err := b.Remove(t.Context(), "x"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	s.Hook(nil)
	s.Put("p/x", noise(1000))
	if _, err := b.Get(t.Context(), "x", 999); !errors.Is(err, source.ErrStore) {
		t.Error("longer than asked for:", err)
	}
	if got, err := b.Get(t.Context(), "x", 1000); err != nil || len(got) != 1000 {
		t.Error(len(got), err)
	}
}
