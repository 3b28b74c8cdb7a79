package stream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
)

// closed is a replay that notes that it was closed.
type closed struct {
	stream.Opened

	n *int
}

func (c closed) Close() { *c.n++; c.Opened.Close() }

// TestIdle: a stream that waits for more of its replay returns, and has the same replay open when it is resumed. What is around it is
// around all of it. It wakes for news, for heartbeats, for its end and for the server's, and frees what it has once, at its end.
func TestIdle(t *testing.T) {
	data := recording(t, 1<<15)
	half := len(data) / 2
	for name, test := range map[string]struct {
		end    func(leave func(), drain chan struct{}, g *growing)
		reason replaydv1.EndReason
		err    error
	}{
		"its client leaves":    {func(leave func(), _ chan struct{}, _ *growing) { leave() }, 0, context.Canceled},
		"the server ends":      {func(_ func(), drain chan struct{}, _ *growing) { close(drain) }, replaydv1.EndReason_END_REASON_SERVER_DRAINING, nil},
		"the file is complete": {func(_ func(), _ chan struct{}, g *growing) { g.change(func() { g.lost = stream.ErrComplete }) }, replaydv1.EndReason_END_REASON_TRUNCATED, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &growing{changed: make(chan struct{}, 1), data: data[:half:half]}
				opened, freed, entered, left, over := 0, 0, 0, 0, false
				c := follow(g, func(r codec.Reader) codec.Reader { opened++; return r })
				drain := make(chan struct{})
				c.Replay.Opened, c.Drain, c.Heartbeat = closed{c.Replay.Opened, &freed}, drain, time.Second
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				var batches, heartbeats int
				var reason replaydv1.EndReason
				begin := func() error {
					return stream.Begin(ctx, c, func(f *frame.Frame) error {
						defer f.Free()
						switch r := f.Response(); {
						case r == nil:
							batches++
						case r.GetHeartbeat() != nil:
							heartbeats++
						case r.GetEnd() != nil:
							reason = r.GetEnd().GetReason()
						}
						return nil
					})
				}
				around := func(run func() error) error { entered++; defer func() { left++ }(); return run() }
				outer := func(run func() error) error {
					err := run()
					if _, idle := stream.IsIdle(err); !idle {
						over = true
					}
					return err
				}
				err := stream.Around(func() error { return stream.Around(begin, around) }, outer)
				// resumed goes on with the stream, and reports whether it is idle again.
				resumed := func() bool {
					t.Helper()
					i, idle := stream.IsIdle(err)
					if !idle {
						t.Fatal(err)
					}
					before := entered
					i.Wait()
					if err = i.Resume(); entered != before+1 || left != entered {
						t.Errorf("what is around it was entered %d times and left %d times", entered-before, left-before)
					}
					_, idle = stream.IsIdle(err)
					return idle
				}
				if _, idle := stream.IsIdle(err); !idle || batches == 0 {
					t.Fatalf("%d batches, %v", batches, err)
				}
				before := batches
				g.append(data[half : half+1000])
				if !resumed() || batches == before || heartbeats > 0 {
					t.Errorf("%d batches of what is new, %d heartbeats", batches-before, heartbeats)
				}
				for heartbeats < 2 {
					if before := time.Now(); !resumed() || time.Since(before) > 2*time.Second {
						t.Fatalf("%d heartbeats, after %v", heartbeats, time.Since(before))
					}
				}
				if freed > 0 || over || opened != 1 {
					t.Errorf("it was opened %d times, and closed %d times", opened, freed)
				}
				now := time.Now()
				if test.end(leave, drain, g); resumed() || freed != 1 || !over || time.Since(now) > 0 {
					t.Errorf("it was closed %d times, after %v", freed, time.Since(now))
				}
				if !errors.Is(err, test.err) || reason != test.reason {
					t.Errorf("it ends with %v, %v", err, reason)
				}
			})
		})
	}
}

// TestIdleAllocations: being resumed and idle again, as for a heartbeat that is not due, needs no memory but for the offer to push.
func TestIdleAllocations(t *testing.T) {
	data := recording(t, 0)
	g := &growing{data: data[:len(data)-1]}
	ctx, cancel := context.WithCancel(t.Context())
	offered := make(chan func() bool, 1000)
	err := stream.Begin(ctx, follow(g, func(r codec.Reader) codec.Reader { return &pusher{watched{r, func() {}}, offered} }),
		func(*frame.Frame) error { return nil })
	i, idle := stream.IsIdle(err)
	if !idle {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = i.Resume() }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	cancel()
	_ = i.Resume()
}
