package service_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/replayd/replayd/decoders/decodertest"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/streamtest"
)

// subscriber is a client that stores what it receives together with the token, and resumes by it.
type subscriber struct {
	tb      testing.TB
	request *replaydv1.SubscribeEventsRequest
	replays map[string]streamtest.History // by identity: what was stored, of each start a session
	failed  map[string]int                // how often a replay, by its name, has failed for good
	ended   map[string]bool               // by identity
	last    *replaydv1.SubscriptionHeartbeat
}

func newSubscriber(tb testing.TB, request *replaydv1.SubscribeEventsRequest) *subscriber {
	return &subscriber{tb: tb, request: request, replays: map[string]streamtest.History{}, failed: map[string]int{}, ended: map[string]bool{}}
}

// run subscribes until the call ends or until is true, which is asked after each response. stores says whether the client stores what it has
// received; what it has not stored is lost at the end.
func (c *subscriber) run(ctx context.Context, client replaydv1.ReplayServiceClient, stores func() bool, until func() bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	calls, err := client.SubscribeEvents(ctx, c.request)
	if err != nil {
		return err
	}
	var received []*replaydv1.SubscribeEventsResponse
	numbers := map[uint32]string{}
	for {
		response, err := calls.Recv()
		if err != nil {
			return err
		}
		if received = append(received, response); stores() {
			for _, r := range received {
				c.store(numbers, r)
			}
			received, c.request.Token = nil, response.GetToken()
		}
		if until() {
			return nil
		}
	}
}

// acknowledgement is of everything that is stored.
func (c *subscriber) acknowledgement() *replaydv1.AcknowledgeEventsRequest {
	return &replaydv1.AcknowledgeEventsRequest{Subscription: c.request.GetSubscription(), Token: c.request.GetToken()}
}

// keepsNames keeps the index and named subscriptions in a directory.
func keepsNames(dir string) func(c *service.Config) {
	return func(c *service.Config) {
		c.IndexPath, c.Subscriptions.Path = filepath.Join(dir, "index"), filepath.Join(dir, "names")
	}
}

// store stores a response.
func (c *subscriber) store(numbers map[uint32]string, r *replaydv1.SubscribeEventsResponse) {
	if n := len(r.GetToken()); n == 0 || n > 4096 {
		c.tb.Errorf("a token of %d bytes", n)
	}
	switch of := r.GetResponse().(type) {
	case *replaydv1.SubscribeEventsResponse_Heartbeat:
		c.last = of.Heartbeat
	case *replaydv1.SubscribeEventsResponse_Failure:
		if !of.Failure.GetRetried() {
			c.failed[of.Failure.GetName()]++
		}
	case *replaydv1.SubscribeEventsResponse_Streamed:
		if start := of.Streamed.GetStart(); start != nil {
			identity := start.GetReplay().GetIdentity()
			numbers[r.GetReplay()] = identity
			c.replays[identity] = append(c.replays[identity], streamtest.Session{Cut: true})
		}
		identity := numbers[r.GetReplay()]
		if c.ended[identity] || identity == "" {
			c.tb.Errorf("after its end, or before its start: %v", r)
			return
		}
		raw, err := proto.Marshal(of.Streamed)
		if err != nil {
			c.tb.Fatal(err)
		}
		session := &c.replays[identity][len(c.replays[identity])-1]
		session.Responses = append(session.Responses, raw)
		if of.Streamed.GetEnd() != nil {
			c.ended[identity], session.Cut = true, false
		}
	}
}

// TestSubscribe: a client that resumes by its token, which it has stored at any time, gets each event of each replay once: of games that
// are over, live and to come, while they are renamed, moved, compressed and removed, and the daemon is restarted. Damaged files fail by
// themselves, once. So does a client of a named subscription that acknowledges at any time.
func TestSubscribe(t *testing.T) {
	for seed := range uint64(*subscriptions) {
		for _, name := range []string{"", "name"} {
			if testSubscribe(t, seed, name); t.Failed() {
				t.Fatalf("with the seed %d, %q", seed, name)
			}
		}
	}
}

var subscriptions = flag.Int("subscriptions", 1, "the number of subscriptions of TestSubscribe")

func testSubscribe(t *testing.T, seed uint64, called string) {
	dir, state := t.TempDir(), t.TempDir()
	random := rand.New(rand.NewPCG(seed, 0))
	withIndex := keepsNames(state)
	want, where := map[string]streamtest.Replay{}, map[string]string{} // by identity; where it is
	number := 0
	add := func(elem ...string) (string, []byte) {
		number++
		data := gameOf{number: number, server: fmt.Sprint("server ", number), start: time.Now()}.data(t)
		r := offlineBytes(t, data, nil)
		want[r.Identity], where[r.Identity] = r, filepath.Join(append([]string{dir}, append(elem, fmt.Sprint(number, ".teehistorian"))...)...)
		return r.Identity, data
	}
	finish := func(elem ...string) {
		of, data := add(elem...)
		write(t, where[of], data)
	}
	for range 12 {
		finish("old")
	}
	half := decodertest.Gzip(t, gameOf{number: 9000, server: "bad"}.data(t))
	bad := map[string][]byte{"old/cut.SC2Replay": read(t, samples("sc2replay", "cut.SC2Replay")), "half.gz": half[:len(half)/2]}
	for to, data := range bad {
		write(t, filepath.Join(dir, to), data)
		if old := time.Now().Add(-time.Hour); os.Chtimes(filepath.Join(dir, to), old, old) != nil {
			t.Fatal(to)
		}
	}
	type live struct {
		of   string
		file *writer
		rest []byte
	}
	var playing []*live
	play := func() {
		of, data := add("live")
		if err := os.MkdirAll(filepath.Join(dir, "live"), 0o750); err != nil {
			t.Fatal(err)
		}
		playing = append(playing, &live{of, create(t, filepath.Dir(where[of]), filepath.Base(where[of])), data})
	}
	c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{Subscription: called})
	steps := 0
	step := func() { // something happens to the files
		steps++
		if steps < 40 && steps%8 == 0 {
			play()
		}
		if steps < 40 && steps%9 == 0 {
			finish("new")
		}
		for _, game := range playing {
			n := min(random.IntN(1500), len(game.rest))
			if steps > 60 {
				n = len(game.rest)
			}
			game.file.write(game.rest[:n])
			game.rest = game.rest[n:]
		}
		for of, path := range where {
			i := slices.IndexFunc(playing, func(l *live) bool { return l.of == of && len(l.rest) > 0 })
			to := filepath.Join(dir, []string{"old", "live", "elsewhere"}[random.IntN(3)], fmt.Sprint(random.IntN(1e6), ".teehistorian"))
			_ = os.MkdirAll(filepath.Dir(to), 0o750)
			switch what := random.IntN(60); {
			case what == 0 && i < 0 && filepath.Ext(path) != ".gz":
				write(t, path+".gz", decodertest.Gzip(t, read(t, path)))
				where[of] = path + ".gz"
				_ = os.Remove(path)
			case what == 1 && filepath.Ext(path) != ".gz":
				if err := os.Rename(path, to); err != nil {
					t.Fatal(err)
				}
				where[of] = to
			case what == 2 && c.ended[of]:
				_ = os.Remove(path)
				delete(where, of)
			}
		}
	}
	all := func() bool { return len(c.ended) == len(want) && len(c.failed) == len(bad) && steps > 60 }
	ctx := timeout(t)
	var mu sync.Mutex // what happens to the files and what is received happens one after the other
	over, stepped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stepped)
		for {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
			mu.Lock()
			step()
			mu.Unlock()
		}
	}()
	done := false
	for !done && ctx.Err() == nil {
		d := start(t, dir, withIndex)
		for range 3 {
			mu.Lock()
			life := time.Duration(10+random.IntN(300)) * time.Millisecond
			acknowledge, forget := random.IntN(2) == 0, random.IntN(2) == 0
			mu.Unlock()
			call, cancel := context.WithTimeout(ctx, life)
			_ = c.run(call, d.client, func() bool { mu.Lock(); return random.IntN(4) == 0 }, func() bool {
				defer mu.Unlock()
				done = all()
				return done
			})
			cancel()
			if called != "" && len(c.request.GetToken()) > 0 && acknowledge {
				if _, err := d.client.AcknowledgeEvents(ctx, c.acknowledgement()); err != nil {
					t.Error(err)
				}
				if forget {
					c.request.Token = nil
				}
			}
		}
		_ = d.conn.Close()
		d.stop()
	}
	close(over)
	<-stepped
	if !done {
		t.Errorf("%d of %d replays have ended, %v have failed; the last heartbeat is %v", len(c.ended), len(want), c.failed, c.last)
	}
	for of, r := range want {
		check(t, c.replays[of], []streamtest.Replay{r}, streamtest.Options{})
	}
	for name, times := range c.failed {
		if times != 1 {
			t.Errorf("%s has failed %d times", name, times)
		}
	}
}

// TestSubscribeRequests: what a subscription cannot do is refused by name, and so are tokens of other conditions and of a lost index.
func TestSubscribeRequests(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "game.teehistorian"), gameOf{number: 1, server: "a"}.data(t))
	write(t, filepath.Join(dir, "b", "game.teehistorian"), gameOf{number: 2, server: "b"}.data(t))
	copyIn(t, filepath.Join(dir, "b"), samples("sc2replay", "battle.SC2Replay"))
	d := start(t, dir, keepsNames(t.TempDir()))
	subscribe := func(d *daemon, request *replaydv1.SubscribeEventsRequest, ends int) (*subscriber, error) {
		c := newSubscriber(t, request)
		err := c.run(timeout(t), d.client, func() bool { return true }, func() bool { return len(c.ended) == ends })
		return c, err
	}
	of := func(options *replaydv1.StreamEventsRequest) *replaydv1.SubscribeEventsRequest {
		return &replaydv1.SubscribeEventsRequest{Options: options}
	}
	kind := func(kinds ...string) []*replaydv1.EventFilter { return []*replaydv1.EventFilter{{Kinds: kinds}} }
	for name, test := range map[string]struct {
		request *replaydv1.SubscribeEventsRequest
		field   string
	}{
		"replay":     {of(&replaydv1.StreamEventsRequest{Replay: "r"}), "options.replay"},
		"start":      {of(&replaydv1.StreamEventsRequest{Start: &replaydv1.Start{At: &replaydv1.Start_Now{}}}), "options.start.at"},
		"follow":     {of(&replaydv1.StreamEventsRequest{Follow: true}), "options.follow"},
		"successors": {of(&replaydv1.StreamEventsRequest{FollowSuccessors: true}), "options.follow_successors"},
		"rule":       {of(&replaydv1.StreamEventsRequest{SuccessorRule: 1}), "options.successor_rule"},
		"kind":       {of(&replaydv1.StreamEventsRequest{Include: kind("nothing")}), "options.include[0].kinds[0]"},
		"columns":    {of(&replaydv1.StreamEventsRequest{Columns: []string{"x"}}), "options.columns"},
		"player":     {&replaydv1.SubscribeEventsRequest{Filter: &replaydv1.ReplayFilter{PlayerName: "x"}}, "filter.player_name"},
		"text":       {&replaydv1.SubscribeEventsRequest{Filter: &replaydv1.ReplayFilter{Text: "x"}}, "filter.text"},
		"state":      {&replaydv1.SubscribeEventsRequest{Filter: &replaydv1.ReplayFilter{States: []replaydv1.ReplayState{1}}}, "filter.states"},
		"format":     {&replaydv1.SubscribeEventsRequest{Formats: []replaydv1.Format{99}}, "formats[0]"},
		"directory":  {&replaydv1.SubscribeEventsRequest{Directory: name("a", "game.teehistorian")}, "directory"},
		"token":      {&replaydv1.SubscribeEventsRequest{Token: []byte("token")}, "token"},
		"named":      {&replaydv1.SubscribeEventsRequest{Token: []byte{2}, Subscription: "a"}, "token"},
		"name":       {&replaydv1.SubscribeEventsRequest{Subscription: "a/b"}, "subscription"},
	} {
		if _, err := subscribe(d, test.request, 1); explainFailure(t, err).field != test.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := subscribe(d, &replaydv1.SubscribeEventsRequest{Directory: "none"}, 1); explainFailure(t, err).reason != "REPLAY_NOT_FOUND" {
		t.Errorf("a directory that is not there: %v", err)
	}
	c, err := subscribe(d, &replaydv1.SubscribeEventsRequest{Directory: name("b"), Formats: []replaydv1.Format{replaydv1.Format_FORMAT_TEEHISTORIAN}}, 1)
	if err != nil || len(c.replays) != 1 {
		t.Fatalf("%d replays, %v", len(c.replays), err)
	}
	// A kind of one format leaves the replays of others out.
	if c, err := subscribe(d, of(&replaydv1.StreamEventsRequest{Include: kind("join"), ResolvePlayers: true}), 2); err != nil || len(c.replays) != 2 {
		t.Errorf("%d replays with joins, %v", len(c.replays), err)
	}
	other := proto.CloneOf(c.request)
	other.Formats = nil
	if _, err := subscribe(d, other, 1); explainFailure(t, err).reason != "TOKEN_MISMATCH" {
		t.Errorf("other conditions: %v", err)
	}
	if _, err := subscribe(start(t, dir), c.request, 1); explainFailure(t, err).reason != "TOKEN_MISMATCH" {
		t.Errorf("another index: %v", err)
	}
}

// TestSubscribeScope: a subscription has what its caller may see, and its token has the same bytes as if nothing else were there.
func TestSubscribeScope(t *testing.T) {
	dir, secret := t.TempDir(), t.TempDir()
	write(t, filepath.Join(secret, "game.teehistorian"), gameOf{number: 2, server: "b"}.data(t))
	var tokens [][]byte
	for _, other := range []string{secret, t.TempDir()} {
		g := startGuarded(t, dir, other, "good roots="+alias+"\n")
		write(t, filepath.Join(dir, "game.teehistorian"), gameOf{number: 1, server: "a"}.data(t))
		c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{})
		err := c.run(as(timeout(t), "good"), g.client, func() bool { return true }, func() bool { return len(c.ended) > 0 })
		if err != nil || len(c.replays) != 1 || !c.ended["teehistorian:"+uuidOf(1)] {
			t.Errorf("%v has ended, %v", c.ended, err)
		}
		token := c.request.GetToken()
		tokens = append(tokens, token[9:len(token)-4]) // without the index's own number and the checksum
	}
	if !slices.Equal(tokens[0], tokens[1]) {
		t.Errorf("the tokens % x and % x", tokens[0], tokens[1])
	}
}

// silentGame writes a game without an end to which nobody has written for long, and returns the rest of it.
func silentGame(t *testing.T, dir string, number int) (path string, rest []byte) {
	t.Helper()
	data := gameOf{number: number, server: "silent"}.data(t)
	path = filepath.Join(dir, fmt.Sprint(number, ".teehistorian"))
	half := bytes.IndexByte(data[16:], 0) + 100
	write(t, path, data[:half])
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	return path, data[half:]
}

// TestSubscribeSilent: a game that is silent takes no place of others, is left, and goes on when it is written to. Its events come once.
func TestSubscribeSilent(t *testing.T) {
	dir := t.TempDir()
	path, rest := silentGame(t, dir, 1)
	silentGame(t, dir, 2)
	write(t, filepath.Join(dir, "over.teehistorian"), gameOf{number: 3, server: "over"}.data(t))
	d := start(t, dir)
	c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{
		Parallel: 1, Options: &replaydv1.StreamEventsRequest{HeartbeatInterval: durationpb.New(time.Second)},
	})
	written := false
	err := c.run(timeout(t), d.client, func() bool { return true }, func() bool {
		if !written && len(c.ended) == 1 && c.last.GetSilent() == 2 {
			written = true
			grow(t, path, rest)
		}
		return len(c.ended) == 2
	})
	if err != nil {
		t.Fatal(err)
	}
	of := "teehistorian:" + uuidOf(1)
	if len(c.replays[of]) < 2 {
		t.Error("the silent game was not left")
	}
	check(t, c.replays[of], []streamtest.Replay{offlineBytes(t, gameOf{number: 1, server: "silent"}.data(t), nil)}, streamtest.Options{})
}

// TestSubscribeFull: when more games without an end are open than a token has room for, the call fails, and says what helps: a name.
func TestSubscribeFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for number := range 250 {
		silentGame(t, dir, number+1)
	}
	d := start(t, dir, func(c *service.Config) { c.SurveyBudget = 0 }, keepsNames(t.TempDir()))
	c := newSubscriber(t, &replaydv1.SubscribeEventsRequest{Parallel: 8})
	err := c.run(timeout(t), d.client, func() bool { return true }, func() bool { return false })
	if f := explainFailure(t, err); f.reason != "TOO_LARGE" || f.code != codes.FailedPrecondition {
		t.Error(err)
	}
	if n := len(c.replays); n < 100 || n == 250 {
		t.Errorf("%d games are open", n)
	}
	c.request.Subscription = "all" // it goes on where the one without a name was
	if err := c.run(timeout(t), d.client, func() bool { return true }, func() bool { return c.last.GetSilent() == 250 }); err != nil {
		t.Error(err)
	}
	if n := len(c.replays); n != 250 {
		t.Errorf("%d games are open, by name", n)
	}
}
