package playcast_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/replayd/replayd/decoders/dem/broadcast"
	"github.com/replayd/replayd/internal/faulttest"
	"github.com/replayd/replayd/service/playcast"
	"github.com/replayd/replayd/service/playcast/playcasttest"
)

// matchOf returns a match of a relay that asks without a pause.
func matchOf(t *testing.T, r *playcasttest.Relay, dir string) *playcast.Match {
	t.Helper()
	return &playcast.Match{Dir: dir, URL: r.At(t), Pace: time.Microsecond, Log: slog.New(slog.DiscardHandler)}
}

// files returns the contents of a match's files by their label, and the labels in order.
func files(t *testing.T, dir string) (map[string][]byte, []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.dem"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	var labels []string
	slices.SortFunc(names, func(a, b string) int { // as they began, also within a second
		return strings.Compare(strings.TrimSuffix(a, ".dem"), strings.TrimSuffix(b, ".dem"))
	})
	for _, name := range names {
		label := "replayd " + filepath.Base(dir) + " " + strings.TrimSuffix(filepath.Base(name), ".dem")
		labels = append(labels, label)
		if found[label], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return found, labels
}

// TestFollow: a broadcast becomes one file, which begins where the relay is, and ends with it. It stays so.
func TestFollow(t *testing.T) {
	r, dir := playcasttest.New(t, 30), filepath.Join(t.TempDir(), "final")
	r.Newest += 12
	reg := prometheus.NewRegistry()
	m := matchOf(t, r, dir)
	m.URL.RawQuery = "key=value"
	m.Metrics = playcast.NewMetrics(reg)
	r.Fault = func(_ http.ResponseWriter, request *http.Request, _ []byte) bool {
		if request.URL.RawQuery != m.URL.RawQuery {
			t.Errorf("%v is asked without the query", request.URL)
		}
		return false
	}
	value := func(of, label string) float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Error(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "replayd_broadcast_"+of && (len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() == label) {
					return m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
		return -1
	}
	lag := func(behind string) float64 { return value("lag_seconds", behind) }
	r.Change = func(at map[string]any) { at["tick"], at["maxtick"] = 1000+64*4, 1000+64*7 }
	fault := r.Fault
	r.Fault = func(w http.ResponseWriter, request *http.Request, body []byte) bool {
		// Behind fragment 6, of which the ticks are 64 a second; the relay said that it has one second more, and is 20.5 seconds behind.
		if strings.HasSuffix(request.URL.Path, "/42/delta") && (lag("relay") < 1 || lag("relay") > 60 || lag("game") < 18.5 || lag("game") > 80) {
			t.Errorf("%v s behind the relay, %v s behind the game", lag("relay"), lag("game"))
		}
		if n := value("matches", ""); n != 1 {
			t.Errorf("%v broadcasts are followed", n)
		}
		return fault(w, request, body)
	}
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lag("relay") != 0 || lag("game") != 0 {
		t.Error("a match that is over is behind")
	}
	if n := value("bodies_total", "written"); n != 2+25 { // start, full, and the deltas
		t.Errorf("%v bodies are written", n)
	}
	found, labels := files(t, dir)
	if len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First+5, playcasttest.First+30)) {
		t.Errorf("files %v", labels)
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP replayd_broadcast_holes_total Recordings of broadcasts that ended before their match.
# TYPE replayd_broadcast_holes_total counter
replayd_broadcast_holes_total 0
# HELP replayd_broadcast_matches Broadcasts that are followed now.
# TYPE replayd_broadcast_matches gauge
replayd_broadcast_matches 0
`), "replayd_broadcast_holes_total", "replayd_broadcast_matches"); err != nil {
		t.Error(err)
	}
	asked := r.Asked()
	if err := m.Run(t.Context()); err != nil || r.Asked() != asked {
		t.Errorf("a match that is over: %d requests, %v", r.Asked()-asked, err)
	}
}

// TestPace: a relay is asked no more often than it may be, also while the match catches up.
func TestPace(t *testing.T) {
	r := playcasttest.New(t, 5)
	r.Newest += 4
	m := matchOf(t, r, t.TempDir())
	m.Pace = 20 * time.Millisecond
	var times []time.Time
	r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
		times = append(times, time.Now())
		return false
	}
	begun := time.Now()
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took, least := time.Since(begun), time.Duration(len(times)-1)*m.Pace; len(times) < 8 || took < least {
		t.Errorf("%d requests in %v", len(times), took)
	}
}

// TestFaults: whatever a relay answers, and however often the process is killed, the file is the same.
func TestFaults(t *testing.T) {
	r, dir := playcasttest.New(t, 300), t.TempDir()
	random, life := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(8, 8))
	r.Fault = func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
		switch n := random.IntN(20); {
		case n < 4:
			w.WriteHeader([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests, http.StatusBadGateway}[n])
		case n == 4: // the connection breaks
			_, _ = w.Write(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		case n == 5: // a proxy cuts the body
			_, _ = w.Write(body[:random.IntN(len(body)+1)])
		case n == 6:
			_, _ = io.WriteString(w, "<html>a page of a proxy</html>")
		case n == 7:
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
	kills := 0
	for over := false; !over; {
		ctx, kill := context.WithTimeout(t.Context(), time.Duration(1+life.IntN(30))*time.Millisecond)
		err := matchOf(t, r, dir).Run(ctx)
		kill()
		switch over = err == nil; {
		case over:
		case errors.Is(err, context.DeadlineExceeded):
			kills++
			torn(t, r, dir, life.IntN(500))
		default:
			t.Fatal(err)
		}
	}
	found, labels := files(t, dir)
	if len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, playcasttest.First+300)) {
		t.Errorf("%d kills: files %v, the first with %d bytes", kills, labels, len(found[labels[0]]))
	}
	t.Logf("%d requests, %d kills", r.Asked(), kills)
	if kills < 5 {
		t.Error("too few kills")
	}
}

// torn writes some bytes that the file should have next, as a process that was killed while it wrote a body.
func torn(t *testing.T, r *playcasttest.Relay, dir string, n int) {
	t.Helper()
	found, labels := files(t, dir)
	if len(labels) == 0 {
		return
	}
	text, err := os.ReadFile(filepath.Join(dir, ".playcast.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Fragment int            `json:"fragment"`
		Demo     broadcast.Demo `json:"demo"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	have := found[labels[0]]
	if int64(len(have)) != state.Demo.Size || state.Demo.Next != broadcast.Delta || state.Demo.Stopped() {
		return // it was written already, but not noted, or nothing follows
	}
	whole := r.FileOf(t, labels[0], playcasttest.First, state.Fragment+1)
	n = min(n, len(whole)-len(have))
	path := filepath.Join(dir, strings.TrimPrefix(labels[0], "replayd "+filepath.Base(dir)+" ")+".dem")
	if err := os.WriteFile(path, append(have, whole[len(have):len(have)+n]...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHole: where the relay dropped fragments, the file ends and the next one begins.
func TestHole(t *testing.T) {
	r, dir := playcasttest.New(t, 60), t.TempDir()
	dropped := false
	r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
		if r.Newest == playcasttest.First+20 && !dropped {
			dropped = true
			r.Newest, r.Oldest = playcasttest.First+40, playcasttest.First+35
		}
		return false
	}
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, labels := files(t, dir)
	if len(labels) != 2 {
		t.Fatal(labels)
	}
	end := playcasttest.First
	for end < playcasttest.First+22 && !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, end)) {
		end++
	}
	if end < playcasttest.First+15 || end > playcasttest.First+21 {
		t.Errorf("the first file ends before fragment %d", end)
	}
	if !bytes.Equal(found[labels[1]], r.FileOf(t, labels[1], playcasttest.First+35, playcasttest.First+60)) {
		t.Error("the second file does not begin with the oldest fragment that is left")
	}
}

// TestAbsent: a relay that does not have a fragment for a while, as caches tell for seconds, has not dropped it.
func TestAbsent(t *testing.T) {
	r, dir := playcasttest.New(t, 30), t.TempDir()
	r.Newest += 29
	answers := []int{404, 404, 405, 404, 404, 502, 404, 404, 404, 404, 404}
	r.Fault = func(w http.ResponseWriter, request *http.Request, _ []byte) bool {
		if !strings.HasSuffix(request.URL.Path, "/60/delta") || len(answers) == 0 {
			return false
		}
		time.Sleep(10 * time.Millisecond) // as long as a fragment
		w.WriteHeader(answers[0])
		answers = answers[1:]
		return true
	}
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, labels := files(t, dir); len(labels) != 1 || len(answers) > 0 {
		t.Error(labels, answers)
	}
}

// TestDamaged: behind a fragment that arrives damaged each time, the next file begins, and repeats nothing.
func TestDamaged(t *testing.T) {
	r, dir := playcasttest.New(t, 30), t.TempDir()
	r.Fault = func(w http.ResponseWriter, request *http.Request, body []byte) bool {
		if !strings.HasSuffix(request.URL.Path, "/40/delta") || body == nil {
			return false
		}
		_, _ = w.Write(body[:len(body)-1])
		return true
	}
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, labels := files(t, dir)
	if len(labels) != 2 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, 40)) ||
		!bytes.Equal(found[labels[1]], r.FileOf(t, labels[1], 41, playcasttest.First+30)) {
		t.Error(labels)
	}
}

// TestState: what a file has on its start is another broadcast's, or no state, begins the next file.
func TestState(t *testing.T) {
	for name, state := range map[string]string{
		"another URL": `{"of":"http://example.org/tv","file":"2026-01-01T00-00-00Z.dem","over":true}`,
		"a way out":   `{"of":"URL","file":"../2026-01-01T00-00-00Z.dem","over":true}`,
		"no demo":     `{"of":"URL","file":"passwd","over":true}`,
		"half":        `{"of":"URL","file":"2026-01-01T00-00-`,
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := playcasttest.New(t, 3), t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, ".playcast.json"), []byte(strings.ReplaceAll(state, "URL", r.At(t).String())), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if found, labels := files(t, dir); len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, playcasttest.First+3)) {
				t.Error(labels)
			}
		})
	}
}

// TestOtherMatch: a relay that goes on with another match begins another file.
func TestOtherMatch(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"another start": func(at map[string]any) { at["signup_fragment"] = 1 },
		"another token": func(at map[string]any) { at["token_redirect"] = "s1t2" },
		"from the front": func(at map[string]any) {
			at["fragment"] = 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := playcasttest.New(t, 200), t.TempDir()
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			m := matchOf(t, r, dir)
			m.Log = slog.New(notify{slog.DiscardHandler, func(level slog.Level, text string) {
				if level == slog.LevelWarn && strings.Contains(text, "another match") {
					kill()
				}
			}})
			r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
				if r.Newest == playcasttest.First+100 {
					r.Change, r.Every = change, 1<<20 // the old match goes on no more
				}
				return false
			}
			if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// TestSilence: a game that is gone without an end is over, and the relay is left alone from then on.
func TestSilence(t *testing.T) {
	r, dir := playcasttest.New(t, 20), t.TempDir()
	r.Deltas = r.Deltas[:10]
	r.Change = func(at map[string]any) {
		if r.Newest == playcasttest.First+9 {
			at["rcvage"] = 130.0
		}
	}
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, labels := files(t, dir)
	if len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, playcasttest.First+10)) {
		t.Error(labels)
	}
	if got := overOf(t, dir, labels); !strings.Contains(got, "nothing from the game") {
		t.Errorf("readers are told %q", got)
	}
	asked := r.Asked()
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil || r.Asked() != asked {
		t.Error(r.Asked()-asked, err)
	}
}

// TestEndless: a body without an end, or that inflates to one, is read to the limit and asked for again.
func TestEndless(t *testing.T) {
	playcast.LimitBodies(t, 1<<20)
	for _, packed := range []bool{false, true} {
		r, dir := playcasttest.New(t, 2), t.TempDir()
		times := 0
		r.Fault = func(w http.ResponseWriter, request *http.Request, _ []byte) bool {
			if !strings.HasSuffix(request.URL.Path, "/full") || times > 0 {
				return false
			}
			times++
			out := io.Writer(w)
			if packed {
				w.Header().Set("Content-Encoding", "gzip")
				z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
				defer func() { _ = z.Close() }()
				out = z
			}
			zeros := make([]byte, 1<<20)
			wrote := 0
			for ; wrote < 64; wrote++ {
				if _, err := out.Write(zeros); err != nil {
					break
				}
			}
			if !packed && wrote == 64 {
				t.Error("all of it was read")
			}
			return true
		}
		if err := matchOf(t, r, dir).Run(t.Context()); err != nil || times != 1 {
			t.Error(times, err)
		}
	}
}

// TestTaken: two processes do not write one match. The second one waits for the first.
func TestTaken(t *testing.T) {
	r, dir := playcasttest.New(t, 40), t.TempDir()
	ended := make(chan error, 1)
	r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
		if r.Requests == 10 {
			waits := make(chan struct{})
			second := matchOf(t, r, dir)
			second.Log = slog.New(notify{slog.DiscardHandler, func(level slog.Level, text string) {
				if level == slog.LevelError && strings.Contains(text, "another process") {
					close(waits)
				}
			}})
			go func() { ended <- second.Run(t.Context()) }()
			<-waits
		}
		return false
	}
	if err := matchOf(t, r, dir).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := r.Asked()
	if err := <-ended; err != nil || r.Asked() != asked {
		t.Error(err, r.Asked()-asked)
	}
}

// TestDiskFull: while the disk is full the match waits, and goes on once there is space.
func TestDiskFull(t *testing.T) {
	disk := faulttest.NewDisk(t, 1<<20)
	if disk == nil {
		t.Skip("this process may not mount")
	}
	r := playcasttest.New(t, 40)
	dir := filepath.Join(disk.Dir, "final")
	m := matchOf(t, r, dir)
	waits := make(chan struct{}, 1)
	m.Log = slog.New(notify{slog.DiscardHandler, func(level slog.Level, _ string) {
		if level == slog.LevelError {
			select {
			case waits <- struct{}{}:
			default:
			}
		}
	}})
	filled := false
	r.Fault = func(http.ResponseWriter, *http.Request, []byte) bool {
		if r.Newest == playcasttest.First+10 && !filled {
			filled = true
			disk.Fill(t, 3<<12)
		}
		return false
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context()) }()
	<-waits
	disk.Free(t)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	found, labels := files(t, dir)
	if len(labels) != 1 || !bytes.Equal(found[labels[0]], r.FileOf(t, labels[0], playcasttest.First, playcasttest.First+40)) {
		t.Error(labels)
	}
}

// notify tells of what is logged.
type notify struct {
	slog.Handler
	tell func(slog.Level, string)
}

func (n notify) Enabled(context.Context, slog.Level) bool { return true }

func (n notify) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	n.tell(r.Level, text)
	return nil
}

// TestCheck: only URLs of relays are followed.
func TestCheck(t *testing.T) {
	for text, ok := range map[string]bool{
		"http://example.org/tv/1": true, "https://example.org:8080/a?b=c": true, "example.org/tv": false, "ftp://example.org/": false,
		"file:///etc/passwd": false, "http:///tv": false, "http://user:secret@example.org/": false, "http://example.org/#x": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := playcast.Check(u); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
