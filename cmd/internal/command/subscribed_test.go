package command

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/decoders/decodertest"
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

func (s *seen) add(offset, index, kind string) {
	s.events++
	s.sum = maphash.String(sums, fmt.Sprint(s.sum, offset, index, kind))
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

// TestSubscribed: clients by three doors, which store at any time and die, get each event of each replay once: of games that are played, and
// of replays that are over, while these are renamed, compressed, deleted and succeeded, and the daemon is killed. Broken files hold up none.
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
	for name, receive := range map[string]func(context.Context, *subscriberOf) error{
		"grpc":  func(ctx context.Context, s *subscriberOf) error { return s.rpc(ctx, daemon) },
		"lines": func(ctx context.Context, s *subscriberOf) error { return s.http(ctx, web, false) },
		"sse":   func(ctx context.Context, s *subscriberOf) error { return s.http(ctx, web, true) },
	} {
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
	t.Logf("%d replays, %d kills, %d responses", len(a.want), kills, took.Load())
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
				s.change(r.Replay.GetIdentity(), func(one *seen) { one.add(fmt.Sprint(e.Offset), fmt.Sprint(e.Index), e.Kind) })
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
		type event struct {
			Offset string `json:"offset"`
			Index  string `json:"index"`
			Kind   string `json:"kind"`
		}
		var line struct {
			event

			Cursor string           `json:"cursor"`
			Replay string           `json:"replay"`
			Events []event          `json:"events"`
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
			line.Events = append(line.Events, line.event)
		}
		for _, e := range line.Events {
			s.change(names[line.Replay], func(one *seen) { one.add(e.Offset, e.Index, e.Kind) })
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

// archive is a directory of replays in which much happens.
type archive struct {
	*testing.T

	dir     string
	want    map[string]seen   // by identity
	where   map[string]string // of those that are written completely: the file
	playing []*played
	bad     int
	clients []*subscriberOf
}

// played is the games of a server, one after another. The last one has an end, and the others a successor.
type played struct {
	identities []string
	games      [][]byte
	path       string
	written    int // of the first of games
	total, all int // written, and to be written, of all
}

func newArchive(t *testing.T, servers, over int) *archive {
	a := &archive{T: t, dir: t.TempDir(), want: map[string]seen{}, where: map[string]string{}}
	sample := decodertest.Sample(t, "teehistorian", "finished", "4fa04b32-db1c-48f1-b0fe-ea831e23f409.teehistorian")
	uuid := func(n int) string { return fmt.Sprintf("%08d-db1c-48f1-b0fe-ea831e23f409", n) }
	game := func(n, previous int) []byte {
		return bytes.Replace(sample, []byte(`"game_uuid":"4fa04b32-db1c-48f1-b0fe-ea831e23f409"`),
			fmt.Appendf(nil, `"game_uuid":%q,"prev_game_uuid":%q`, uuid(n), uuid(previous)), 1)
	}
	whole := a.whole(game(0, 99_000_000))
	part := whole[:len(whole)-1] // without its end
	sum := func(events [][3]string) (s seen) {
		for _, e := range events {
			s.add(e[0], e[1], e[2])
		}
		s.ended = true
		return s
	}
	const matches = 2
	n := 0
	for range servers {
		p := &played{path: filepath.Join(a.dir, "live", fmt.Sprint(n, ".teehistorian"))}
		previous := 99_000_000
		for match := range matches {
			n++
			data, want := game(n, previous), sum(whole)
			if match < matches-1 {
				data, want = data[:len(data)-1], sum(part)
			}
			previous = n
			p.games, p.identities = append(p.games, data), append(p.identities, "teehistorian:"+uuid(n))
			p.all += len(data)
			a.want["teehistorian:"+uuid(n)] = want
		}
		a.playing = append(a.playing, p)
	}
	for i := range over {
		n++
		path := filepath.Join(a.dir, "old", fmt.Sprint(i%20), fmt.Sprint(n, ".teehistorian"))
		a.write(path, game(n, 99_000_000))
		a.want["teehistorian:"+uuid(n)], a.where["teehistorian:"+uuid(n)] = sum(whole), path
	}
	for range 3 {
		n++
		packed := a.packed(game(n, 99_000_000))
		path, past := filepath.Join(a.dir, "old", fmt.Sprint("bad", n, ".gz")), time.Now().Add(-time.Hour) // it is not being copied
		a.write(path, packed[:len(packed)/2])
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		a.bad++
	}
	return a
}

// whole returns the offset, the index and the kind of the events of a game, as replayd prints them.
func (a *archive) whole(data []byte) (events [][3]string) {
	path := filepath.Join(a.TempDir(), "game.teehistorian")
	a.write(path, data)
	out, err := commandtest.Self(a.T, "replayd", "cat", "--kind", strings.Join(scaleKinds, ","), path).Output()
	if err != nil {
		a.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var e struct {
			Offset string `json:"offset"`
			Index  string `json:"index"`
			Kind   string `json:"kind"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			a.Fatal(err)
		}
		events = append(events, [3]string{e.Offset, e.Index, e.Kind})
	}
	if len(events) < 5 || events[len(events)-1][2] != "finish" {
		a.Fatalf("the events are %v", events)
	}
	return events
}

func (a *archive) packed(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		a.Error(err)
	}
	return b.Bytes()
}

// write writes a file as a whole.
func (a *archive) write(path string, data []byte) {
	hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(hidden, data, 0o600), os.Rename(hidden, path)); err != nil {
		a.Error(err)
	}
}

// step plays a share of all games, and lets something happen to the files.
func (a *archive) step(share float64) {
	for i, p := range a.playing {
		n := int(share*float64(p.all)) - p.total
		if len(p.games) == 0 || n <= 0 {
			continue
		}
		n = min(1+rand.IntN(n), len(p.games[0])-p.written)
		if share == 1 {
			n = len(p.games[0]) - p.written
		}
		err := os.MkdirAll(filepath.Dir(p.path), 0o750)
		file, opened := os.OpenFile(p.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err := errors.Join(err, opened); err != nil {
			a.Error(err)
			return
		}
		_, err = file.Write(p.games[0][p.written : p.written+n])
		if err := errors.Join(err, file.Close()); err != nil {
			a.Error(err)
		}
		p.written, p.total = p.written+n, p.total+n
		if p.written == len(p.games[0]) {
			a.where[p.identities[0]] = p.path
			p.games, p.identities, p.written = p.games[1:], p.identities[1:], 0
			p.path = filepath.Join(a.dir, "live", fmt.Sprint(i, "-", len(p.games), ".teehistorian"))
		} else if rand.IntN(40) == 0 {
			a.move(&p.path)
		}
	}
	for range 1 + len(a.where)/200 {
		for of, path := range a.where { // any one
			switch what := rand.IntN(3); {
			case what == 0 && filepath.Ext(path) != ".gz":
				data, err := os.ReadFile(path)
				if err != nil {
					a.Error(err)
				}
				a.write(path+".gz", a.packed(data))
				a.where[of] = path + ".gz"
				_ = os.Remove(path)
			case what == 1:
				a.move(&path)
				a.where[of] = path
			case what == 2 && !slices.ContainsFunc(a.clients, func(s *subscriberOf) bool { return !s.of(of).ended }):
				_ = os.Remove(path)
				delete(a.where, of)
			}
			break
		}
	}
}

// move renames a file, below another directory.
func (a *archive) move(path *string) {
	to := filepath.Join(a.dir, "moved", strconv.Itoa(rand.IntN(20)), filepath.Base(*path))
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o750), os.Rename(*path, to)); err != nil {
		a.Error(err)
	}
	*path = to
}

// complete reports whether all clients have stored everything.
func (a *archive) complete() bool {
	for _, s := range a.clients {
		s.mu.Lock()
		ended := 0
		for _, one := range s.replays {
			if one.ended {
				ended++
			}
		}
		failed := len(s.failed)
		s.mu.Unlock()
		if ended < len(a.want) || failed < a.bad {
			return false
		}
	}
	return true
}
