package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// scaleVariable is the environment variable with the numbers of servers that play, replays that are over, and kills of the daemon, such as
// 200,2000,200, which takes many minutes.
const scaleVariable = "SUBSCRIBED"

func scale(t *testing.T) (servers, over, kills int) {
	t.Helper()
	text := cmp.Or(os.Getenv(scaleVariable), "8,40,4")
	if _, err := fmt.Sscanf(text, "%d,%d,%d", &servers, &over, &kills); err != nil {
		t.Fatalf("%s: %v", scaleVariable, err)
	}
	return servers, over, kills
}

// seen is what was received of a replay: how many events, and a sum over their places and kinds, in order.
type seen struct {
	events int
	sum    uint64
	ended  bool
}

var sums = maphash.MakeSeed()

// placed is an event as JSON has it: its place and its kind.
type placed struct {
	Offset string `json:"offset"`
	Index  string `json:"index"`
	Kind   string `json:"kind"`
}

func (s *seen) add(e placed) {
	s.events++
	s.sum = maphash.String(sums, fmt.Sprint(s.sum, e.Offset, e.Index, e.Kind))
}

// subscriberOf is a client of a named subscription that stores what it has received together with the token.
type subscriberOf struct {
	*testing.T

	name string
	took *atomic.Int64 // responses

	mu      sync.Mutex
	replays map[string]seen // by identity
	failed  map[string]int  // by name
	token   []byte

	// What was received since.
	received map[string]seen
	failures []string
}

// begin forgets what was not stored.
func (s *subscriberOf) begin() { s.received, s.failures = map[string]seen{}, nil }

// change changes what was received of a replay.
func (s *subscriberOf) change(identity string, change func(*seen)) {
	one, known := s.received[identity]
	if !known {
		one = s.of(identity)
	}
	if one.ended || identity == "" {
		s.Errorf("%s: %q goes on after its end, or before its start", s.name, identity)
	}
	change(&one)
	s.received[identity] = one
}

// store stores what was received up to a token, now or later, and reports whether to go on.
func (s *subscriberOf) store(token []byte) bool {
	s.took.Add(1)
	if rand.IntN(3) > 0 {
		return rand.IntN(200) > 0 // or it dies
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.replays, s.received)
	for _, name := range s.failures {
		s.failed[name]++
	}
	s.token = bytes.Clone(token)
	s.begin()
	return true
}

func (s *subscriberOf) of(identity string) seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replays[identity]
}

// TestSubscribed: clients by three doors and of three languages, which store at any time and die, get each event of each replay once: of
// games that are played, and of replays that are over, while these are renamed, compressed, deleted and succeeded, and the daemon is
// killed. Broken files hold up none.
func TestSubscribed(t *testing.T) {
	servers, over, kills := scale(t)
	a := newArchive(t, servers, over)
	state := t.TempDir()
	addr, web := commandtest.FreeAddr(t), commandtest.FreeAddr(t)
	serve := func() *exec.Cmd {
		return commandtest.Start(t, commandtest.Self(t, "replayd", "serve", "--listen", addr, "--web-listen", web, "--root", "live="+a.dir, "--log-level", "error",
			"--index", filepath.Join(state, "index"), "--subscriptions", filepath.Join(state, "names"), "--max-feeds", "4096"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	daemon, err := client.Dial(addr, client.WithRetry(client.Retry{Initial: 10 * time.Millisecond, Max: 50 * time.Millisecond, GiveUpAfter: -1}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Close() }()
	var took atomic.Int64
	var wg, writing sync.WaitGroup
	defer writing.Wait()
	defer wg.Wait()
	defer cancel()
	doors := map[string]func(context.Context, *subscriberOf) error{
		"grpc":  func(ctx context.Context, s *subscriberOf) error { return s.rpc(ctx, daemon) },
		"lines": func(ctx context.Context, s *subscriberOf) error { return s.http(ctx, web, false) },
		"sse":   func(ctx context.Context, s *subscriberOf) error { return s.http(ctx, web, true) },
	}
	for name, program := range clientPrograms(t) {
		doors[name] = func(ctx context.Context, s *subscriberOf) error { return s.program(ctx, addr, program) }
	}
	for name, receive := range doors {
		s := &subscriberOf{T: t, name: name, took: &took, replays: map[string]seen{}, failed: map[string]int{}}
		a.clients = append(a.clients, s)
		wg.Go(func() {
			for ctx.Err() == nil {
				s.begin()
				if err := receive(ctx, s); err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", name, err)
					cancel()
				}
				if len(s.token) == 0 || rand.IntN(2) == 0 {
					continue
				}
				if err := daemon.Acknowledge(ctx, name, s.token); err == nil && rand.IntN(2) == 0 {
					s.token = nil // the daemon has it
				} else if err != nil && !client.Transient(err) && ctx.Err() == nil {
					t.Errorf("%s: acknowledging: %v", name, err)
				}
			}
		})
	}
	var killed atomic.Int64
	writing.Go(func() {
		for ctx.Err() == nil {
			a.step(float64(killed.Load()) / float64(kills))
			time.Sleep(10 * time.Millisecond)
		}
	})
	for range kills {
		before, d := took.Load(), serve()
		for range 1000 { // until something was received, or there is nothing more
			if took.Load() > before+3 || ctx.Err() != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(rand.N(200 * time.Millisecond))
		commandtest.Kill(t, d)
		killed.Add(1)
	}
	d := serve()
	defer commandtest.Kill(t, d)
	for ctx.Err() == nil && !a.complete() {
		time.Sleep(20 * time.Millisecond)
	}
	for _, s := range a.clients {
		s.mu.Lock()
		for of, want := range a.want {
			if s.replays[of] != want {
				t.Errorf("%s: %s has %+v, want %+v", s.name, of, s.replays[of], want)
			}
		}
		for name, times := range s.failed {
			if times != 1 {
				t.Errorf("%s: %s has failed %d times", s.name, name, times)
			}
		}
		s.mu.Unlock()
	}
	t.Logf("%d clients, %d replays, %d kills, %d responses", len(a.clients), len(a.want), kills, took.Load())
}

// scaleKinds is what the clients ask for: a few events of each replay.
var scaleKinds = []string{"join", "drop", "player_new", "player_old", "message", "finish"}

// rpc receives by gRPC, through the client of Go.
func (s *subscriberOf) rpc(ctx context.Context, daemon *client.Client) error {
	for r, err := range daemon.Subscribe(ctx, &replaydv1.SubscribeEventsRequest{
		Subscription: s.name, Token: s.token, Options: &replaydv1.StreamEventsRequest{
			Include: []*replaydv1.EventFilter{{Kinds: scaleKinds}}, HeartbeatInterval: durationpb.New(time.Second), // with which what is left is stored
		},
	}) {
		if err != nil {
			return err
		}
		if r.Batch != nil {
			for e, err := range r.Batch.Events() {
				if err != nil {
					return err
				}
				s.change(r.Replay.GetIdentity(), func(one *seen) { one.add(placed{fmt.Sprint(e.Offset), fmt.Sprint(e.Index), e.Kind}) })
			}
		}
		if r.Message.GetEnd() != nil {
			s.change(r.Replay.GetIdentity(), func(one *seen) { one.ended = true })
		}
		if r.Failure != nil && !r.Failure.GetRetried() {
			s.failures = append(s.failures, r.Failure.GetName())
		}
		if !s.store(r.Token) {
			return nil
		}
	}
	return nil
}

// http receives lines, or server-sent events, until the connection breaks.
func (s *subscriberOf) http(ctx context.Context, web string, sse bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := url.Values{"subscription": {s.name}, "kind": {strings.Join(scaleKinds, ",")}, "heartbeat": {"1s"}}
	if len(s.token) > 0 && !sse {
		query.Set("cursor", cursor.Text(s.token))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+web+"/v1/events?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	if sse {
		req.Header.Set("Accept", "text/event-stream")
		if len(s.token) > 0 {
			req.Header.Set("Last-Event-ID", cursor.Text(s.token))
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return nil // the daemon is not there, and is asked again
	}
	defer func() { _ = resp.Body.Close() }()
	names, id := map[string]string{}, "" // the identity of the replay that a name has
	in := bufio.NewScanner(resp.Body)
	for in.Buffer(nil, 4<<20); in.Scan(); {
		if next, is := strings.CutPrefix(in.Text(), "id: "); is {
			id = next
		}
		text := strings.TrimPrefix(in.Text(), "data: ")
		if !strings.HasPrefix(text, "{") {
			continue
		}
		var line struct {
			placed

			Cursor string           `json:"cursor"`
			Replay string           `json:"replay"`
			Events []placed         `json:"events"`
			End    *json.RawMessage `json:"end"`
			Error  *json.RawMessage `json:"error"`
			Start  *struct {
				Replay struct {
					Identity string `json:"identity"`
				} `json:"replay"`
			} `json:"start"`
			Failure *struct {
				Retried bool `json:"retried"`
			} `json:"failure"`
		}
		if json.Unmarshal([]byte(text), &line) != nil {
			return nil // it was cut
		}
		if line.Error != nil {
			if resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusOK {
				return errors.New(text)
			}
			return nil
		}
		if line.Start != nil {
			names[line.Replay] = line.Start.Replay.Identity
		}
		if line.Kind != "" {
			line.Events = append(line.Events, line.placed)
		}
		for _, e := range line.Events {
			s.change(names[line.Replay], func(one *seen) { one.add(e) })
		}
		if line.End != nil {
			s.change(names[line.Replay], func(one *seen) { one.ended = true })
		}
		if line.Failure != nil && !line.Failure.Retried {
			s.failures = append(s.failures, line.Replay)
		}
		if sse {
			line.Cursor = id
		}
		if line.Cursor == "" {
			continue
		}
		token, err := cursor.ParseText(line.Cursor)
		if err != nil || !s.store(token) {
			return err
		}
	}
	return nil
}

// clientPrograms returns the programs of the clients whose languages are at hand.
func clientPrograms(t *testing.T) map[string][]string {
	t.Helper()
	programs := map[string][]string{}
	root := filepath.Join("..", "..", "..")
	if python, ok := pythonWith(t, "grpc, google.protobuf"); ok {
		t.Setenv("PYTHONPATH", filepath.Join(root, "clients", "python", "src"))
		programs["python"] = []string{python, filepath.Join("testdata", "subscribe.py")}
	}
	if _, err := os.Stat(filepath.Join(root, "clients", "typescript", "node_modules")); err == nil {
		if node, err := exec.LookPath("node"); err == nil {
			programs["typescript"] = []string{node, filepath.Join("testdata", "subscribe.mjs")}
		}
	}
	return programs
}

// program receives by a client of another language, which calls again by itself when the daemon is killed.
func (s *subscriberOf) program(ctx context.Context, addr string, program []string) error {
	ctx, cancel := context.WithCancel(ctx)
	args := append(slices.Clone(program[1:]), addr, s.name, base64.StdEncoding.EncodeToString(s.token), strings.Join(scaleKinds, ","))
	cmd := exec.CommandContext(ctx, program[0], args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return err
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	in := bufio.NewScanner(out)
	for in.Buffer(nil, 4<<20); in.Scan(); {
		var line struct {
			Identity string   `json:"identity"`
			Events   []placed `json:"events"`
			End      bool     `json:"end"`
			Failed   string   `json:"failed"`
			Token    []byte   `json:"token"`
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return err
		}
		for _, e := range line.Events {
			s.change(line.Identity, func(one *seen) { one.add(e) })
		}
		if line.End {
			s.change(line.Identity, func(one *seen) { one.ended = true })
		}
		if line.Failed != "" {
			s.failures = append(s.failures, line.Failed)
		}
		if !s.store(line.Token) {
			return nil
		}
	}
	if err := cmd.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	return nil
}
