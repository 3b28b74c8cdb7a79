package publish_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/fleet/publish"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// TestKills: a growing game, two publishers that are killed at random, a NATS server and a daemon that are restarted, and connections
// that are cut anywhere, so that acknowledgements are lost. Consumers have each event once.
func TestKills(t *testing.T) {
	for range rounds(t) {
		kills(t, encodings[rand.IntN(2)])
	}
}

var encodings = []publish.Encoding{publish.JSON, publish.Proto}

// rounds returns how often the tests that kill repeat what they do: $PUBLISH_ROUNDS times.
func rounds(t *testing.T) int {
	t.Helper()
	n := 1
	if text := os.Getenv("PUBLISH_ROUNDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func kills(t *testing.T, encoding publish.Encoding) {
	whole := read(t, samples+"/"+finished)
	dir := t.TempDir()
	write(t, dir+"/live", whole[:2000])
	h, daemon := newHub(t), serve(t, dir)
	addr := daemon.Addr
	var limits []int64
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for range 60 {
		limits = append(limits, 3000+random.Int64N(20_000))
	}
	cut := newCutter(t, h.url, limits, nil)
	forgetful(t, connect(t, h.url))
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var wg sync.WaitGroup
	var killed, others sync.Map
	for i := range 2 {
		// Batches with other limits have other ids.
		o := publish.Options{Encoding: encoding, Request: &replaydv1.StreamEventsRequest{MaxBatchEvents: uint32(50 - 13*i)}}
		random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				c, err := client.Dial(addr, client.WithRetry(client.Retry{Initial: 5 * time.Millisecond, Max: 50 * time.Millisecond, GiveUpAfter: -1}))
				if err != nil {
					t.Error(err)
					return
				}
				conn, err := nats.Connect(cut.addr, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(2*time.Millisecond),
					nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
				if err != nil {
					t.Error(err)
					return
				}
				within, kill := context.WithTimeout(ctx, time.Duration((20+random.IntN(100))*(4+n)/4)*time.Millisecond)
				p, err := publish.Open(within, c, conn, o)
				if err == nil {
					err = p.Replay(within, "root/live")
					others.Store([2]int{i, n}, p.Stats.Others.Load())
				}
				kill()
				conn.Close()
				_ = c.Close()
				killed.Store([2]int{i, n}, true)
				if err == nil {
					return // it has ended
				}
			}
		})
	}
	const steps = 6
	for i := 1; i <= steps; i++ {
		time.Sleep(30 * time.Millisecond)
		appendTo(t, dir+"/live", whole[2000+(len(whole)-2000)*(i-1)/steps:2000+(len(whole)-2000)*i/steps])
		switch i {
		case 2:
			h.stop()
			h.start()
		case 4:
			if err := daemon.Kill(); err != nil {
				t.Error(err)
			}
			if err := daemon.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
	want, err := wanted(t, dial(t, daemon), &replaydv1.StreamEventsRequest{Replay: "root/live"})
	if err != nil {
		t.Fatal(err)
	}
	got := consume(t, messagesOf(t, connect(t, h.url), publish.DefaultStream, "replayd.events."+game+".root.live"))
	same(t, "live", got.lines, want)
	if !slices.Equal(got.kinds, []string{"start", "events", "end"}) || got.reasons[0] != "FINISHED" {
		t.Error(got.kinds, got.reasons)
	}
	count, races := 0, uint64(0)
	killed.Range(func(any, any) bool { count++; return true })
	others.Range(func(_, v any) bool { races += v.(uint64); return true })
	t.Logf("%d events; %d publishers, %d cut connections, %d races lost", len(want), count, cut.cuts, races)
	if count < 4 || cut.cuts < 2 || races == 0 {
		t.Error("too little has happened for the test to mean anything")
	}
}

// TestCutAnywhere: whatever the place at which the connection to NATS is cut, and however often, each event is published once.
func TestCutAnywhere(t *testing.T) {
	h, daemon := newHub(t), serve(t, samples)
	c := dial(t, daemon)
	conn := connect(t, h.url)
	req := &replaydv1.StreamEventsRequest{Replay: "root/" + finished}
	want, err := wanted(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 * rounds(t) {
		if err := js.DeleteStream(within(t), publish.DefaultStream); err != nil && round > 0 {
			t.Fatal(err)
		}
		var limits []int64
		for range 1 + rand.IntN(5) {
			limits = append(limits, 500+rand.Int64N(40_000))
		}
		o := publish.Options{Encoding: encodings[round%2], Request: &replaydv1.StreamEventsRequest{MaxBatchEvents: 20 + rand.Uint32N(300)}}
		what := fmt.Sprintf("%s, %d events in a batch, cut after %d", o.Encoding, o.Request.MaxBatchEvents, limits)
		cut := newCutter(t, h.url, limits, nil)
		through, err := nats.Connect(cut.addr, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond),
			nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(through.Close) // closed below; else what cuts it would wait for it
		forgetful(t, conn)
		if err := opened(t, c, through, o).Replay(within(t), req.GetReplay()); err != nil {
			t.Fatal(what, err)
		}
		through.Close()
		got := consume(t, messagesOf(t, conn, publish.DefaultStream, ">"))
		same(t, what, got.lines, want)
		if !slices.Equal(got.kinds, []string{"start", "events", "end"}) {
			t.Error(what, got.kinds)
		}
	}
}

// TestLate: a message that reaches NATS when another publisher has long gone on, and NATS has forgotten its id, is refused.
func TestLate(t *testing.T) {
	h, daemon := newHub(t), serve(t, samples)
	c, conn := dial(t, daemon), connect(t, h.url)
	forgetful(t, conn)
	held := make(chan struct{})
	cut := newCutter(t, h.url, []int64{20_000}, held)
	o := publish.Options{Request: &replaydv1.StreamEventsRequest{MaxBatchEvents: 50}}
	late := open(t, c, connect(t, cut.addr), o)
	ended := make(chan error, 1)
	go func() { ended <- late.Replay(within(t), "root/"+finished) }()
	until(t, "its messages are held up", func() bool {
		n := late.Stats.Messages.Load()
		time.Sleep(20 * time.Millisecond)
		return n > 0 && n == late.Stats.Messages.Load()
	})
	if err := open(t, c, conn, o).Replay(within(t), "root/"+finished); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // NATS forgets the ids after 100 ms
	close(held)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want, err := wanted(t, c, &replaydv1.StreamEventsRequest{Replay: "root/" + finished})
	if err != nil {
		t.Fatal(err)
	}
	same(t, finished, consume(t, messagesOf(t, conn, publish.DefaultStream, ">")).lines, want)
	if late.Stats.Others.Load() == 0 {
		t.Error("nothing came too late")
	}
}

// noStore is the code of NATS for a stream whose directory cannot be made, as while it is still removed.
const noStore = 10049

// forgetful makes the stream, with the shortest memory for ids that NATS permits.
func forgetful(t *testing.T, conn *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for ctx := within(t); ; time.Sleep(time.Millisecond) {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{
			Name: publish.DefaultStream, Subjects: []string{publish.DefaultSubject + ".>"}, Duplicates: 100 * time.Millisecond,
		})
		if err == nil {
			return
		}
		if refused, ok := errors.AsType[*jetstream.APIError](err); !ok || refused.ErrorCode != noStore || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// opened opens a publisher over a connection that may be cut.
func opened(t *testing.T, c *client.Client, conn *nats.Conn, o publish.Options) *publish.Publisher {
	t.Helper()
	for ctx := within(t); ; {
		p, err := publish.Open(ctx, c, conn, o)
		if err == nil {
			return p
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}
