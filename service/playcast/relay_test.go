package playcast_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/playcast/playcasttest"
)

const secret = "correct horse"

// origin is a relay with one server, and the match that writes its broadcasts.
type origin struct {
	*httptest.Server
	dir      string
	stop     func()
	interval float64 // of fragments, in seconds; so long by default that no relay is asked why a fragment is late, however slow the test is
}

func newOrigin(t *testing.T, dir string) *origin {
	t.Helper()
	r := playcast.NewRelay([]playcast.Server{{Name: "eu1", Secret: secret}}, slog.New(slog.DiscardHandler), nil)
	server := httptest.NewServer(r)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, m := range r.Matches(dir) {
		running.Go(func() { _ = m.Run(ctx) })
	}
	stop := sync.OnceFunc(func() { server.Close(); cancel(); running.Wait() })
	t.Cleanup(stop)
	return &origin{server, filepath.Join(dir, "eu1"), stop, 60}
}

// post pushes a body, and returns the status of the answer.
func (o *origin) post(t *testing.T, path string, body []byte, head ...string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Origin-Auth", secret)
	for i := 0; i < len(head); i += 2 {
		request.Header.Set(head[i], head[i+1])
	}
	return o.do(t, request)
}

func (*origin) do(t *testing.T, request *http.Request) int {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// get asks as a player does, and returns the status of the answer and its body.
func (o *origin) get(t *testing.T, path string) (int, string) {
	t.Helper()
	response, err := http.Get(o.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// push pushes fragment n of a broadcast, and the start if the relay asks for it.
func (o *origin) push(t *testing.T, from *playcasttest.Relay, token string, n int) {
	t.Helper()
	for _, part := range []string{"full?tick=1", "delta?endtick=2"} {
		body := from.Full
		if strings.HasPrefix(part, "delta") {
			body = from.Deltas[n-playcasttest.First]
		}
		path := fmt.Sprintf("/eu1/%s/%d/", token, n)
		code := o.post(t, path+part, body)
		if code == http.StatusResetContent {
			if code := o.post(t, path+fmt.Sprintf("start?tps=64.0&keyframe_interval=%v&map=a&protocol=5", o.interval), from.Start); code != http.StatusOK {
				t.Fatal(code)
			}
			code = o.post(t, path+part, body)
		}
		if code != http.StatusOK {
			t.Fatal(path, part, code)
		}
	}
}

// wait waits until the files of a directory are as they should be.
func wait(t *testing.T, dir string, right func(found map[string][]byte, labels []string) bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		found, labels := files(t, dir)
		if right(found, labels) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("files %v", labels)
		}
	}
}

// TestPush: what a server pushes is written, whatever comes twice and in another order, and a player who reads it from the relay has the
// same match.
func TestPush(t *testing.T) {
	from, o := playcasttest.New(t, 40), newOrigin(t, t.TempDir())
	player := filepath.Join(t.TempDir(), "player")
	u, err := url.Parse(o.URL + "/eu1")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	m := &playcast.Match{Dir: player, URL: u, Pace: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	go func() { ended <- m.Run(t.Context()) }()

	random := rand.New(rand.NewPCG(3, 3))
	o.push(t, from, "s1t1", playcasttest.First)
	for n := playcasttest.First + 1; n < playcasttest.First+40; n++ {
		switch random.IntN(5) {
		case 0:
			o.push(t, from, "s1t1", n-1) // twice
		case 1: // servers send their start again and again
			o.post(t, fmt.Sprintf("/eu1/s1t1/%d/start?protocol=5", n), from.Start)
		case 2:
			if n+1 < playcasttest.First+40 {
				o.push(t, from, "s1t1", n+1)
			}
		}
		o.push(t, from, "s1t1", n)
		// The relay keeps what readers lag behind, and a test is faster than a game.
		for i, dir := range []string{o.dir, player} {
			if i == 1 && n < playcasttest.First+10 {
				continue // it has nothing to begin with
			}
			wait(t, dir, func(found map[string][]byte, labels []string) bool {
				if len(labels) == 0 {
					return false
				}
				whole := from.FileOf(t, labels[0], playcasttest.First, n+1)
				return bytes.Contains(found[labels[0]], whole[len(whole)-60:])
			})
		}
	}
	wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
		return len(labels) == 1 && bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], playcasttest.First, playcasttest.First+40))
	})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	found, labels := files(t, player)
	begin := playcasttest.First
	for begin < playcasttest.First+40 && !bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], begin, playcasttest.First+40)) {
		begin++
	}
	if len(labels) != 1 || begin == playcasttest.First+40 {
		t.Error("the player has another match:", labels)
	}
}

// TestFlip: another token is another match, and what comes late of the one before is not taken.
func TestFlip(t *testing.T) {
	from, o := playcasttest.New(t, 8), newOrigin(t, t.TempDir())
	for n := range 4 {
		o.push(t, from, "s1t1", playcasttest.First+n)
	}
	wait(t, o.dir, func(_ map[string][]byte, labels []string) bool { return len(labels) == 1 })
	for n := 4; n < 8; n++ {
		o.push(t, from, "s1t2", playcasttest.First+n)
		for _, part := range []string{"start", "full", "delta"} {
			if code := o.post(t, "/eu1/s1t1/39/"+part, from.Full); code != http.StatusGone {
				t.Error(part, code)
			}
		}
	}
	wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
		return len(labels) == 2 && bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], playcasttest.First, playcasttest.First+4)) &&
			bytes.Equal(found[labels[1]], from.FileOf(t, labels[1], playcasttest.First+4, playcasttest.First+8))
	})
}

// TestPushLost: a fragment that never came ends a file. The next one begins behind it, long before the relay would be asked why.
func TestPushLost(t *testing.T) {
	from, o := playcasttest.New(t, 12), newOrigin(t, t.TempDir())
	for n := range 12 {
		if n != 4 {
			o.push(t, from, "s1t1", playcasttest.First+n)
		}
		if n == 0 { // the file has begun before the gap
			wait(t, o.dir, func(_ map[string][]byte, labels []string) bool { return len(labels) == 1 })
		}
	}
	wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
		return len(labels) == 2 && bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], playcasttest.First, playcasttest.First+4)) &&
			bytes.Equal(found[labels[1]], from.FileOf(t, labels[1], playcasttest.First+5, playcasttest.First+12))
	})
}

// TestPushRestart: a relay that was started again asks for the start. If no fragment was lost meanwhile, the file goes on.
func TestPushRestart(t *testing.T) {
	from, dir := playcasttest.New(t, 12), t.TempDir()
	var o *origin
	for n := range 12 {
		if n%4 == 0 {
			if o != nil {
				o.stop()
			}
			o = newOrigin(t, dir)
		}
		o.push(t, from, "s1t1", playcasttest.First+n)
		wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
			return len(labels) == 1 && bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], playcasttest.First, playcasttest.First+n+1))
		})
	}
}

// TestPushRestartLost: what a server sent while the relay was away is lost, and the file ends there.
func TestPushRestartLost(t *testing.T) {
	from, dir := playcasttest.New(t, 8), t.TempDir()
	o := newOrigin(t, dir)
	o.push(t, from, "s1t1", playcasttest.First)
	wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
		return len(labels) == 1 && bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], playcasttest.First, playcasttest.First+1))
	})
	o.stop()
	o = newOrigin(t, dir)
	for n := 6; n < 8; n++ { // fewer than would show that the first of them is late
		o.push(t, from, "s1t1", playcasttest.First+n)
	}
	wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
		return len(labels) == 2 && bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], playcasttest.First, playcasttest.First+1)) &&
			bytes.Equal(found[labels[1]], from.FileOf(t, labels[1], playcasttest.First+6, playcasttest.First+8))
	})
}

// TestPushSilence: a server that falls silent and comes back goes on in another file, with what is new.
func TestPushSilence(t *testing.T) {
	from := playcasttest.New(t, 8)
	r := playcast.NewRelay([]playcast.Server{{Name: "eu1", Secret: secret}}, slog.New(slog.DiscardHandler), nil)
	o := &origin{Server: httptest.NewServer(r), dir: filepath.Join(t.TempDir(), "eu1"), interval: 0.01}
	defer o.Close()
	m := r.Matches(filepath.Dir(o.dir))[0]
	m.Silence = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	right := func(n int, ends ...int) func(map[string][]byte, []string) bool {
		return func(found map[string][]byte, labels []string) bool {
			for i, label := range labels {
				if len(labels) != n || !bytes.Equal(found[label], from.FileOf(t, label, ends[i], ends[i+1])) {
					return false
				}
			}
			return len(labels) == n
		}
	}
	for n := range 4 {
		o.push(t, from, "s1t1", playcasttest.First+n)
	}
	wait(t, o.dir, right(1, playcasttest.First, playcasttest.First+4))
	wait(t, o.dir, func(map[string][]byte, []string) bool {
		text, err := os.ReadFile(filepath.Join(o.dir, ".playcast.json"))
		return err == nil && strings.Contains(string(text), `"over":true`)
	})
	for n := 4; n < 8; n++ {
		o.push(t, from, "s1t1", playcasttest.First+n)
	}
	wait(t, o.dir, right(2, playcasttest.First, playcasttest.First+4, playcasttest.First+8))
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPushRefused: what a relay answers to what it does not take.
func TestPushRefused(t *testing.T) {
	const limit = 1 << 20
	playcast.LimitBodies(t, limit)
	from, o := playcasttest.New(t, 2), newOrigin(t, t.TempDir())
	o.push(t, from, "s1t1", playcasttest.First)
	delta := from.Deltas[1]
	for _, c := range []struct {
		path string
		body []byte
		head []string
		code int
	}{
		{"/eu1/s1t1/36/delta", delta, []string{"X-Origin-Auth", "wrong"}, http.StatusForbidden},
		{"/eu1/s1t1/36/delta", delta, []string{"X-Origin-Auth", ""}, http.StatusForbidden},
		{"/eu2/s1t1/36/delta", delta, nil, http.StatusForbidden},
		{"/", delta, nil, http.StatusForbidden},
		{"/eu1/36/delta", delta, nil, http.StatusNotFound},
		{"/eu1/s1t1/36/other", delta, nil, http.StatusNotFound},
		{"/eu1/s1t1/-1/delta", delta, nil, http.StatusNotFound},
		{"/eu1/s1t1/4294967296/delta", delta, nil, http.StatusNotFound},
		{"/eu1/" + strings.Repeat("t", 65) + "/36/delta", delta, nil, http.StatusNotFound},
		{"/eu1/s1t2/36/delta", delta, nil, http.StatusResetContent},
		{"/eu1/s1t2/36/start?protocol=4", from.Start, nil, http.StatusBadRequest},
		{"/eu1/s1t1/36/delta", delta[:len(delta)-7], nil, http.StatusBadRequest},
		{"/eu1/s1t1/36/delta", nil, nil, http.StatusBadRequest},
		{"/eu1/s1t1/36/delta", make([]byte, limit+1), nil, http.StatusRequestEntityTooLarge},
		{"/eu1/publish/s1t1/36/delta", delta, nil, http.StatusOK},
	} {
		if code := o.post(t, c.path, c.body, c.head...); code != c.code {
			t.Errorf("%.40s with %d bytes: %d, want %d", c.path, len(c.body), code, c.code)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, o.URL+"/eu1/s1t1/36/delta", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if code := o.do(t, request); code != http.StatusMethodNotAllowed {
		t.Error(code)
	}
}

// TestRelayGet: what players get, and when. A fragment that the server holds back is in the file, but not shown.
func TestRelayGet(t *testing.T) {
	from, o := playcasttest.New(t, 40), newOrigin(t, t.TempDir())
	expect := func(path string, code int, want string) {
		t.Helper()
		if got, body := o.get(t, path); got != code || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.200q, want %d %.40q", path, got, body, code, want)
		}
	}
	expect("/eu1/sync", http.StatusNotFound, "")
	expect("/eu2/sync", http.StatusNotFound, "")
	if code := o.post(t, "/eu1/s1t1/30/start?tps=NaN&map=a%20map", from.Start); code != http.StatusOK {
		t.Fatal(code)
	}
	expect("/eu1/sync", http.StatusMethodNotAllowed, "")
	o.push(t, from, "s1t1", playcasttest.First)
	expect("/eu1/sync", http.StatusOK, `"tick":1,"endtick":2,"maxtick":2,`)
	expect("/eu1/sync", http.StatusOK, `"fragment":35,"signup_fragment":30,"tps":0,"keyframe_interval":0,"protocol":5,"map":"a map","token_redirect":"s1t1"}`)
	expect("/eu1/s1t1/sync", http.StatusOK, `"map":"a map"}`)
	expect("/eu1/s1t2/sync", http.StatusNotFound, "")
	expect("/eu1/s1t1/30/start", http.StatusOK, string(from.Start))
	expect("/eu1/35/full", http.StatusOK, string(from.Full))
	expect("/eu1/s1t1/35/delta", http.StatusOK, string(from.Deltas[0]))
	expect("/eu1/s1t1/36/delta", http.StatusNotFound, "")
	expect("/eu1/s1t1/x/delta", http.StatusNotFound, "")
	if code := o.post(t, "/eu1/s1t1/36/delta", from.Deltas[1], "X-Origin-Delay", "60000"); code != http.StatusOK {
		t.Fatal(code)
	}
	expect("/eu1/s1t1/36/delta", http.StatusNotFound, "")
	wait(t, o.dir, func(found map[string][]byte, labels []string) bool {
		return len(labels) == 1 && bytes.Equal(found[labels[0]], from.FileOf(t, labels[0], 35, 37))
	})
	for n := playcasttest.First + 2; n < playcasttest.First+40; n++ {
		o.push(t, from, "s1t1", n)
	}
	large := binary.LittleEndian.AppendUint32([]byte{7, 1, 0, 0, 0, 0}, 6<<20)
	large = append(large, make([]byte, 6<<20)...)
	for range 6 { // what is sent again takes no room
		if code := o.post(t, "/eu1/s1t1/75/delta", large); code != http.StatusOK {
			t.Fatal(code)
		}
	}
	expect("/eu1/s1t1/sync", http.StatusOK, `"fragment":67,`)
	expect("/eu1/s1t1/sync?fragment=70", http.StatusOK, `"fragment":70,`)
	expect("/eu1/s1t1/sync?fragment=75", http.StatusMethodNotAllowed, "")
	expect("/eu1/s1t1/40/delta", http.StatusNotFound, "") // no more
	expect("/eu1/s1t1/52/delta", http.StatusOK, "")
}

// TestParseServers: mistakes in a file of servers are told by line, and its secrets are not.
func TestParseServers(t *testing.T) {
	servers, err := playcast.ParseServers("# eu\neu1 " + secret + "\n\nus-1  match:password\r\n")
	if err != nil || len(servers) != 2 || servers[0] != (playcast.Server{Name: "eu1", Secret: secret}) || servers[1] != (playcast.Server{Name: "us-1", Secret: "match:password"}) {
		t.Error(servers, err)
	}
	for text, want := range map[string]string{
		"": "no server", "eu1": "line 1: the secret", "x\neu1 short": "line 1", "a/b longsecret": "line 1: want NAME", ".. longsecret": "line 1: want NAME",
		"eu1 longsecret\neu1 longsecret": "line 2: the name",
	} {
		if _, err := playcast.ParseServers(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "longsecret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
