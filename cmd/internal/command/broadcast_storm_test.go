package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec/dem"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/playcast/playcasttest"
	"github.com/replayd/replayd/service/streamtest"
)

// stormVariable sets how many fragments TestBroadcastStorm has for each of its two matches, such as 10000 for a long run. There is a kill
// for each 50 of them.
const stormVariable = "STORM"

// TestBroadcastStorm: a daemon reads one match from a relay and is the relay of another one, while both ways fail in all ways and the
// daemon is killed again and again. Three clients of each match, one of them by HTTP, get each event of each file once. No fragment is in two
// files. What is in none, the relay had dropped, or the daemon had not written when it was killed; the next file is told as the successor.
func TestBroadcastStorm(t *testing.T) {
	t.Parallel()
	n := 200
	if text := os.Getenv(stormVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandtest.Patience+time.Duration(n)*100*time.Millisecond)
	defer cancel()
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	c := &storm{
		n: n, dir: t.TempDir(), addr: commandtest.FreeAddr(t), web: commandtest.FreeAddr(t), push: commandtest.FreeAddr(t),
		random: rand.New(rand.NewPCG(seed, 0)), long: os.Getenv(stormVariable) != "",
	}
	pulled, pushed := playcasttest.Talk(t, n), playcasttest.Talk(t, n)
	pulled.Fault = c.faults(pulled)
	servers := filepath.Join(t.TempDir(), "servers")
	if err := os.WriteFile(servers, []byte("eu1 correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := build(t)
	serve := func() *exec.Cmd {
		return commandtest.Start(t, exec.Command(program, "serve", "--listen", c.addr, "--web-listen", c.web, "--root", "live="+c.dir, "--log-level", "error",
			"--broadcast", "live/pulled="+pulled.At(t).String(), "--broadcast-pace", "1ms",
			"--broadcast-listen", c.push, "--broadcast-servers", servers, "--broadcast-into", "live/pushed"))
	}
	d := serve()
	defer func() { commandtest.Kill(t, d) }()
	go c.pushes(ctx, pushed, rand.New(rand.NewPCG(seed, 1)))

	var clients []*stormClient
	for _, where := range []string{"pulled", "pushed/eu1"} {
		first := c.first(ctx, where)
		for i := range 3 {
			client := &stormClient{where: where, first: first, over: make(chan struct{})}
			clients = append(clients, client)
			stopped, stop := context.WithCancel(ctx)
			client.stop = stop
			go func() {
				defer close(client.over)
				if i == 0 {
					client.lines = c.byHTTP(stopped, first, &client.got)
				} else {
					client.history = followThroughKills(stopped, c.addr, &replaydv1.StreamEventsRequest{Replay: first, Follow: true, FollowSuccessors: true}, &client.got)
				}
			}()
		}
	}
	for k := range n / 50 {
		client := clients[k%len(clients)]
		before := client.got.Load()
		for deadline := time.Now().Add(time.Second); client.got.Load() == before && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(c.random.IntN(100)) * time.Millisecond)
		commandtest.Kill(t, d)
		d = serve()
	}
	for _, where := range []string{"pulled", "pushed/eu1"} {
		c.wait(ctx, t, where)
	}
	for _, client := range clients {
		c.check(ctx, t, client)
	}
}

// storm is a run of TestBroadcastStorm.
type storm struct {
	n                    int
	long                 bool
	dir, addr, web, push string
	random               *rand.Rand

	mu      sync.Mutex
	dropped [][2]int // fragments of the pulled match that the relay has dropped: from the one before the first that it did not send
}

type stormClient struct {
	where, first string
	got          atomic.Int64
	stop         func()
	over         chan struct{}
	history      streamtest.History
	lines        []string
}

// faults returns what a relay answers at random.
func (c *storm) faults(r *playcasttest.Relay) func(http.ResponseWriter, *http.Request, []byte) bool {
	random := rand.New(rand.NewPCG(c.random.Uint64(), 0))
	sent, away, hung := playcasttest.First-1, 0, 0
	return func(w http.ResponseWriter, request *http.Request, body []byte) bool {
		if away > 0 { // the relay is being started again
			away--
			panic(http.ErrAbortHandler)
		}
		switch n := random.IntN(100); {
		case n < 4:
			w.WriteHeader([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests, http.StatusBadGateway}[n])
		case n == 4: // the connection breaks
			_, _ = w.Write(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		case n == 5: // a proxy cuts the body
			_, _ = w.Write(body[:random.IntN(len(body)+1)])
		case n == 6:
			_, _ = io.WriteString(w, "<html>a page of a proxy</html>")
		case n == 7 && body != nil: // a bit is another one, in the head of a record
			bad := bytes.Clone(body)
			bad[0] ^= 0x80
			_, _ = w.Write(bad)
		case n == 8 && c.long && hung < 3: // no answer for longer than the daemon waits
			hung++
			time.Sleep(6 * time.Second)
			panic(http.ErrAbortHandler)
		case n == 9 && r.Newest < playcasttest.First+c.n-30 && sent >= playcasttest.First+5:
			away = 3
			r.Newest += 20
			r.Oldest = r.Newest - 5
			c.mu.Lock()
			c.dropped = append(c.dropped, [2]int{sent, r.Oldest})
			c.mu.Unlock()
			panic(http.ErrAbortHandler)
		default:
			if number, ok := strings.CutSuffix(request.URL.Path, "/delta"); ok && body != nil {
				sent, _ = strconv.Atoi(number[strings.LastIndexByte(number, '/')+1:])
			}
			return false
		}
		return true
	}
}

// pushes pushes a match as a game server does that loses some of it.
func (c *storm) pushes(ctx context.Context, from *playcasttest.Relay, random *rand.Rand) {
	post := func(path string, body io.Reader) int {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.push+"/eu1/s1t1/"+path, body)
		if err != nil {
			return 0
		}
		request.Header.Set("X-Origin-Auth", "correct horse")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	send := func(n int, part string, body []byte) {
		path := fmt.Sprintf("%d/%s", n, part)
		for ctx.Err() == nil {
			switch random.IntN(20) {
			case 0:
				post(path, bytes.NewReader(body[:random.IntN(len(body))])) // damaged: refused
			case 1:
				post(path, io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken{})) // cut
			case 2:
				post(path, bytes.NewReader(body)) // twice
			}
			switch post(path, bytes.NewReader(body)) {
			case http.StatusOK:
				return
			case http.StatusResetContent:
				post(fmt.Sprintf("%d/start?tps=64&keyframe_interval=0.01&protocol=5", n), bytes.NewReader(from.Start))
			default:
				time.Sleep(2 * time.Millisecond) // it has been killed
			}
		}
	}
	fragment := func(i int) {
		send(playcasttest.First+i, "full?tick=1", from.Full)
		send(playcasttest.First+i, "delta?endtick=2", from.Deltas[i])
	}
	for i := 0; i < c.n && ctx.Err() == nil; i++ {
		time.Sleep(2 * time.Millisecond)
		switch {
		case i > 5 && i < c.n-5 && random.IntN(40) == 0: // lost on its way
		case i < c.n-2 && random.IntN(20) == 0: // in another order
			fragment(i + 1)
			fragment(i)
			i++
		default:
			fragment(i)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// first waits for the first file of a match.
func (c *storm) first(ctx context.Context, where string) (name string) {
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if files, _ := filepath.Glob(filepath.Join(c.dir, where, "*.dem")); len(files) > 0 {
			return "live/" + where + "/" + filepath.Base(files[0])
		}
	}
	return ""
}

// wait waits until a match is over.
func (c *storm) wait(ctx context.Context, t *testing.T, where string) {
	t.Helper()
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(c.dir, where, ".playcast.json")); err == nil && bytes.Contains(text, []byte(`"over":true`)) {
			return
		}
	}
	t.Fatal(where, "is not over")
}

// files returns the events of the files of a match, as they follow one another.
func (c *storm) files(t *testing.T, where string) (files []streamtest.Replay) {
	t.Helper()
	after := map[string]streamtest.Replay{} // by the identity of the one before
	names, err := filepath.Glob(filepath.Join(c.dir, where, "*.dem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		replay, err := streamtest.Offline(&dem.Codec, source.Input{At: bytes.NewReader(data), Size: int64(len(data))}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(filepath.Join(filepath.Dir(name), catalog.PreviousName(filepath.Base(name))))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		after[strings.TrimSpace(string(before))] = replay
	}
	for at := ""; len(files) < len(names); {
		next, ok := after[at]
		if !ok {
			t.Fatalf("%s: %d of %d files follow one another", where, len(files), len(names))
		}
		files, at = append(files, next), next.Identity
	}
	return files
}

// byHTTP follows by HTTP through kills, and returns the lines of the events, and of what came between files.
func (c *storm) byHTTP(ctx context.Context, replay string, got *atomic.Int64) (lines []string) {
	cursor := ""
	for ctx.Err() == nil {
		query := url.Values{"follow-successors": {""}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.web+"/v1/replays/"+replay+"/events?"+query.Encode(), http.NoBody)
		if err != nil {
			return lines
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		var held []string
		in := bufio.NewScanner(response.Body)
		for in.Buffer(nil, 1<<24); in.Scan(); {
			line := in.Text()
			if !strings.HasPrefix(line, `{"cursor":`) {
				held = append(held, line)
				continue
			}
			got.Add(1)
			lines = append(lines, held...)
			if held = nil; strings.Contains(line, `"successor":`) {
				lines = append(lines, line)
			}
			cursor = strings.Split(line, `"`)[3]
		}
		_ = response.Body.Close()
	}
	return lines
}

var said = regexp.MustCompile(`"text":"(\d+)"`)

// check checks what a client got, once it has everything.
func (c *storm) check(ctx context.Context, t *testing.T, client *stormClient) {
	t.Helper()
	files := c.files(t, client.where)
	total := 0
	for _, f := range files {
		total += len(f.Events)
	}
	// What is behind the last event is nothing that a client waits for: it is silent then.
	for quiet, before := 0, int64(-1); quiet < 20 && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if now := client.got.Load(); now == before {
			quiet++
		} else {
			quiet, before = 0, now
		}
	}
	client.stop()
	<-client.over
	if client.history != nil {
		client.history[len(client.history)-1].Cut = true
		if err := streamtest.Check(client.history, files, streamtest.Options{}); err != nil {
			t.Errorf("%s: %v", client.where, err)
		}
		t.Logf("%s: %d files, %d sessions, %d events", client.where, len(files), len(client.history), total)
		return
	}
	c.checkLines(t, client, files, total)
}

// checkLines checks the lines of a client: each event has its place, and the fragments are each of them, once, but for what was lost between
// two files.
func (c *storm) checkLines(t *testing.T, client *stormClient, files []streamtest.Replay, total int) {
	t.Helper()
	file, event, last, begins, lost := 0, 0, -1, true, 0
	for _, line := range client.lines {
		if strings.HasPrefix(line, `{"cursor":`) {
			if event != len(files[file].Events) || file+1 == len(files) {
				t.Fatalf("%s: a successor behind event %d of file %d", client.where, event, file)
			}
			file, event, begins = file+1, 0, true
			continue
		}
		var at struct {
			Offset, Index int64 `json:",string"`
		}
		if err := json.Unmarshal([]byte(line), &at); err != nil {
			t.Fatal(err)
		}
		if event == len(files[file].At) || files[file].At[event].Offset != at.Offset || files[file].At[event].Index != at.Index {
			t.Fatalf("%s: event %d of file %d is at %d/%d", client.where, event, file, at.Offset, at.Index)
		}
		event++
		if m := said.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			if n <= last || n > last+1 && !begins {
				t.Errorf("%s: fragment %d comes behind %d in file %d", client.where, n, last, file)
			}
			if client.where == "pulled" {
				for gone := last + 1; gone < n; gone++ {
					if !c.isDropped(playcasttest.First + gone) {
						t.Errorf("%s: fragment %d is lost", client.where, gone)
					}
				}
			}
			lost += n - last - 1
			last, begins = n, false
		}
	}
	if file+1 != len(files) || event != len(files[file].Events) || last != c.n-1 {
		t.Errorf("%s: the lines end behind event %d of file %d of %d, fragment %d", client.where, event, file, len(files), last)
	}
	t.Logf("%s: %d fragments of %d were lost between %d files; %d events by HTTP", client.where, lost, c.n, len(files), total)
}

// isDropped reports whether the relay had dropped a fragment before it was surely written.
func (c *storm) isDropped(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.dropped {
		if n >= d[0] && n < d[1] {
			return true
		}
	}
	return false
}
