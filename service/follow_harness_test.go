package service_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/streamtest"
)

// writer appends to a file as a game server does.
type writer struct {
	tb   testing.TB
	file *os.File
}

func create(tb testing.TB, dir, name string) *writer {
	tb.Helper()
	file, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	return &writer{tb, file}
}

func (w *writer) write(b []byte) {
	w.tb.Helper()
	if _, err := w.file.Write(b); err != nil {
		w.tb.Error(err)
	}
}

// chunks writes bytes in chunks of random sizes with pauses.
func (w *writer) chunks(b []byte, seed uint64, size int, pause time.Duration) {
	w.tb.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	for len(b) > 0 {
		n := min(1+random.IntN(size), len(b))
		w.write(b[:n])
		b = b[n:]
		time.Sleep(time.Duration(random.Int64N(int64(pause) + 1)))
	}
}

// following is a running session.
type following struct {
	mu      sync.Mutex
	cond    *sync.Cond
	seen    []*replaydv1.StreamEventsResponse
	over    bool
	err     error // of the call, once it is over
	cancel  context.CancelFunc
	session chan streamtest.Session
}

// follow starts a session.
func follow(t *testing.T, d *daemon, req *replaydv1.StreamEventsRequest) *following {
	t.Helper()
	ctx, cancel := context.WithCancel(timeout(t))
	f := &following{cancel: cancel, session: make(chan streamtest.Session, 1)}
	f.cond = sync.NewCond(&f.mu)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := d.Session(ctx, req, func(r *replaydv1.StreamEventsResponse) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen = append(f.seen, r)
			f.cond.Broadcast()
			return true
		})
		s.Cut = ctx.Err() != nil
		f.mu.Lock()
		f.over, f.err = true, s.Err
		f.cond.Broadcast()
		f.mu.Unlock()
		f.session <- s
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// await waits for a response that satisfies the condition.
func (f *following) await(t *testing.T, what string, is func(*replaydv1.StreamEventsResponse) bool) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := 0; ; {
		for ; at < len(f.seen); at++ {
			if is(f.seen[at]) {
				return
			}
		}
		if f.over {
			t.Fatalf("the stream is over (%v, %v), and there was no %s", f.err, f.seen[max(at-1, 0):], what)
		}
		f.cond.Wait()
	}
}

func (f *following) caughtUp(t *testing.T) {
	t.Helper()
	f.await(t, "CAUGHT_UP", func(r *replaydv1.StreamEventsResponse) bool {
		return r.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP
	})
}

// gets waits until all events of the replays have arrived.
func (f *following) gets(t *testing.T, replays ...streamtest.Replay) {
	t.Helper()
	total := total(replays)
	f.await(t, fmt.Sprint(total, " events"), func(r *replaydv1.StreamEventsResponse) bool {
		return r.GetBatch().GetNextSequence() >= total
	})
}

// total returns how many events the replays have.
func total(replays []streamtest.Replay) (n uint64) {
	for _, r := range replays {
		n += uint64(len(r.Events))
	}
	return n
}

func (f *following) history() streamtest.History { return streamtest.History{<-f.session} }
