package queue_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/internal/faulttest"
	"github.com/replayd/replayd/internal/natsconn"
)

// TestSilent: what a worker asks while it does a job fails soon if the answer is lost, as it is with a server that dies, however long the
// job may take. Until then it would keep the job from other workers.
func TestSilent(t *testing.T) {
	t.Parallel()
	url, mute := muted(t, serve(t))
	q := connect(t, url, 0)
	id := add(t, q, job("a", queue.Normal, 1))[0]
	taken := take(t, taker(t, q))
	ctx := within(t)
	mute()
	var wg sync.WaitGroup
	for what, f := range map[string]func() error{
		"Get":   func() error { _, err := q.Get(ctx, id); return err },
		"Lines": func() error { _, err := q.Lines(ctx); return err },
		"Retry": func() error { return q.Retry(ctx, id) },
		"Claim": func() error { return taken.Claim(ctx, "replays/format=dem/x.parquet.json") },
	} {
		wg.Go(func() {
			begun := time.Now()
			if err := f(); !errors.Is(err, natsconn.ErrSilent) {
				t.Errorf("%s: %v after %v", what, err, time.Since(begun))
			}
		})
	}
	wg.Wait()
	if err := taken.Done(ctx, false); !errors.Is(err, natsconn.ErrSilent) {
		t.Error("Done:", err)
	}
}

// TestHeld: a job is held for its lease and no longer. A worker that cannot reach NATS must not write then, since another one may.
func TestHeld(t *testing.T) {
	t.Parallel()
	const lease = 500 * time.Millisecond
	url, mute := muted(t, serve(t))
	q := connect(t, url, lease)
	add(t, q, job("a", queue.Normal, 1))
	taken := take(t, taker(t, q))
	for range 8 { // twice as long as the lease
		if err := taken.Extend(within(t)); err != nil || taken.Held() != nil || taken.Left() > lease {
			t.Fatal(err, taken.Held(), taken.Left())
		}
		time.Sleep(taken.Every())
	}
	mute()
	if err := taken.Extend(within(t)); err == nil {
		t.Error("extended without an answer")
	}
	if err := taken.Held(); !errors.Is(err, queue.ErrLost) {
		t.Error("held after its lease:", err)
	}
}

// muted returns the URL of a proxy to a server, and what makes nothing pass from then on.
func muted(t *testing.T, url string) (proxy string, mute func()) {
	t.Helper()
	p := faulttest.NewProxy(t, strings.TrimPrefix(url, "nats://"))
	return "nats://" + p.Addr, p.Hold
}
