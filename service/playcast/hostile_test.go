package playcast_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/playcast/playcasttest"
)

// TestEndlessMatches: a relay that has another match each time it is asked fills no disk with them.
func TestEndlessMatches(t *testing.T) {
	r, dir, n := playcasttest.New(t, 2), filepath.Join(t.TempDir(), "final"), 0
	r.Change = func(at map[string]any) { n++; at["signup_fragment"] = n }
	r.Fault = func(w http.ResponseWriter, request *http.Request, _ []byte) bool {
		switch {
		case strings.HasSuffix(request.URL.Path, "/start"):
			_, _ = w.Write(r.Start)
		case strings.HasSuffix(request.URL.Path, "/delta"):
			w.WriteHeader(http.StatusNotFound)
		default:
			return false
		}
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if err := matchOf(t, r, dir).Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, labels := files(t, dir); len(labels) > 7 {
		t.Error(len(labels), "files")
	}
}

// TestManyTokens: of a server that begins a match again and again, the relay keeps the last ones.
func TestManyTokens(t *testing.T) {
	from := playcasttest.Talk(t, 1)
	r := playcast.NewRelay([]playcast.Server{{Name: "eu1", Secret: secret}}, slog.New(slog.DiscardHandler), nil)
	post := func(path string, body []byte) int {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/eu1/"+path, bytes.NewReader(body))
		request.Header.Set("X-Origin-Auth", secret)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		return w.Code
	}
	large := binary.LittleEndian.AppendUint32([]byte{7, 1, 0, 0, 0, 0}, 200<<10)
	large = append(large, make([]byte, 200<<10)...)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for n := range 10_000 {
		if code := post(fmt.Sprintf("t%d/0/start?protocol=5", n), from.Start); code != http.StatusOK {
			t.Fatal(n, code)
		}
		if n%20 == 0 {
			post(fmt.Sprintf("t%d/0/delta", n), large)
		}
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("the relay keeps %d bytes", grown)
	}
	if code := post("t9998/1/delta", large); code != http.StatusGone {
		t.Error(code)
	}
	runtime.KeepAlive(r)
}

// TestTicksGoBack: where the ticks of a game go back, which those of a demo cannot, the next file begins, with the same fragment, or behind
// it if they do so within it.
func TestTicksGoBack(t *testing.T) {
	const first = playcasttest.First
	from, dir := playcasttest.Talk(t, 12), filepath.Join(t.TempDir(), "final")
	for i, body := range from.Deltas {
		if i >= 4 {
			binary.LittleEndian.PutUint32(body[1:], uint32(100+64*i))
		}
	}
	back := bytes.Clone(from.Deltas[3])
	binary.LittleEndian.PutUint32(back[1:], 50)
	from.Deltas[8] = append(from.Deltas[8], back...)
	o := newOrigin(t, filepath.Dir(dir)) // a server that pushes the same
	for n := range 12 {
		o.push(t, from, "s1t1", first+n)
		if n == 7 {
			wait(t, o.dir, func(_ map[string][]byte, labels []string) bool { return len(labels) == 2 })
		}
	}
	wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
		return len(labels) > 2 && bytes.Equal(found[labels[len(labels)-1]], from.FileOf(t, labels[len(labels)-1], first+9, first+12)) &&
			bytes.Equal(found[labels[1]], from.FileOf(t, labels[1], first+4, first+8))
	})
	if err := matchOf(t, from, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, labels := files(t, dir)
	if len(labels) < 3 || !bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], first, first+4)) ||
		!bytes.Equal(found[labels[1]], from.FileOf(t, labels[1], first+4, first+8)) ||
		!bytes.Equal(found[labels[len(labels)-1]], from.FileOf(t, labels[len(labels)-1], first+9, first+12)) {
		t.Error(labels)
	}
}

// TestNeighbours: relays that send for ever, a byte at a time, nothing at all, or another match each time, hold up no other match.
func TestNeighbours(t *testing.T) {
	playcast.LimitBodies(t, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	var matches sync.WaitGroup
	defer matches.Wait()
	defer cancel()
	var running atomic.Int64
	for what, fault := range map[string]func(w http.ResponseWriter, request *http.Request){
		"without an end": func(w http.ResponseWriter, request *http.Request) {
			for zeros := make([]byte, 1<<16); request.Context().Err() == nil; {
				_, _ = w.Write(zeros)
			}
		},
		"packed, without an end": func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for zeros := make([]byte, 1<<20); request.Context().Err() == nil; {
				_, _ = z.Write(zeros)
			}
		},
		"a byte at a time": func(w http.ResponseWriter, request *http.Request) {
			for request.Context().Err() == nil {
				_, _ = w.Write([]byte{0})
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		},
		"nothing":      func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() },
		"another sync": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
	} {
		r, asked, n := playcasttest.New(t, 2), make(chan struct{}), 0
		r.Change = func(at map[string]any) { n++; at["signup_fragment"] = n }
		r.Fault = func(w http.ResponseWriter, request *http.Request, _ []byte) bool {
			if strings.HasSuffix(request.URL.Path, "/sync") {
				return false
			}
			select {
			case <-asked:
			default:
				close(asked)
			}
			fault(w, request)
			return true
		}
		m := matchOf(t, r, filepath.Join(t.TempDir(), "final"))
		matches.Go(func() {
			running.Add(1)
			defer running.Add(-1)
			if err := m.Run(ctx); ctx.Err() == nil {
				t.Errorf("%s: %v", what, err)
			}
		})
		<-asked
	}
	r, dir := playcasttest.New(t, 60), filepath.Join(t.TempDir(), "final")
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil || running.Load() != 5 {
		t.Error(running.Load(), err)
	}
	found, labels := files(t, dir)
	if len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, playcasttest.First+60)) {
		t.Error(labels)
	}
}
