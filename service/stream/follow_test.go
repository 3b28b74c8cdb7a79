package stream_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/streamtest"
)

// growing is a file in memory, and the follower of it.
type growing struct {
	changed chan struct{}

	mu   sync.Mutex
	data []byte
	lost error  // why it will not grow
	name string // its present name
}

func (g *growing) Changed() <-chan struct{} { return g.changed }
func (g *growing) present() (data []byte)   { g.mu.Lock(); defer g.mu.Unlock(); return g.data }
func (g *growing) Look() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.data)), g.lost
}
func (g *growing) Standing() stream.Standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	return stream.Standing{Name: g.name}
}

// ReadAt implements io.ReaderAt.
func (g *growing) ReadAt(p []byte, offset int64) (n int, err error) {
	if data := g.present(); offset < int64(len(data)) {
		n = copy(p, data[offset:])
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (g *growing) append(b []byte) { g.change(func() { g.data = append(g.data, b...) }) }

// change changes the file, and tells its followers.
func (g *growing) change(f func()) {
	g.mu.Lock()
	f()
	g.mu.Unlock()
	g.changed <- struct{}{}
}

// follow is the configuration of a stream that follows a file. wrap wraps its reader.
func follow(g *growing, wrap func(codec.Reader) codec.Reader) stream.Config {
	c := config(nil)
	c.Replay.Live, c.Replay.Follower = true, g
	c.Replay.Opened = streamtest.Opened(func(o codec.Options) (codec.Reader, error) {
		r, err := teehistorian.Codec.Open(source.Input{At: g}, o)
		return wrap(r), err
	})
	return c
}

// TestNoTurnsWhenCaughtUp: a stream that has caught up sends what is new while others have all turns.
func TestNoTurnsWhenCaughtUp(t *testing.T) {
	data := recording(t, 1<<15)
	half := len(data) / 2
	synctest.Test(t, func(t *testing.T) {
		g := &growing{changed: make(chan struct{}), data: data[:half:half]}
		c := follow(g, func(r codec.Reader) codec.Reader { return r })
		c.Turns = admission.NewTurns(1)
		var batches, caughtUp atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_ = stream.Run(ctx, c, func(f *frame.Frame) error {
				defer f.Free()
				if r := f.Response(); r == nil {
					batches.Add(1)
				} else if r.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_CAUGHT_UP {
					caughtUp.Add(1)
				}
				return nil
			})
		}()
		if synctest.Wait(); caughtUp.Load() != 1 {
			t.Fatal("it has not caught up")
		}
		before := batches.Load()
		turn, began := c.Turns.Take(nil, nil, "another"), time.Now()
		defer c.Turns.Give(turn)
		g.append(data[half : len(data)-1])
		if synctest.Wait(); batches.Load() == before || time.Since(began) > 0 {
			t.Errorf("%d batches and then %d, after %v", before, batches.Load(), time.Since(began))
		}
	})
}

// TestOneBeginsAfterTheOther: of streams that begin at once, one has read its first events before the next one opens its replay, also
// where a client leaves before, or a file has no whole header yet; and all have begun before one goes on.
func TestOneBeginsAfterTheOther(t *testing.T) {
	const n = 20
	data := recording(t, 1<<20)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		turns := admission.NewTurns(1)
		turn := turns.Take(nil, nil, "")
		var opened, begun atomic.Int32
		for i := range n + 1 {
			file, fills := &growing{changed: make(chan struct{}), data: data}, 0
			if i == 0 {
				file.data = data[:20]
			}
			c := follow(file, func(r codec.Reader) codec.Reader {
				if i == 0 {
					return r
				}
				if now := opened.Add(1); now != begun.Load()+1 {
					t.Errorf("the %d. replay is opened when %d have begun", now, begun.Load())
				}
				return &watched{r, func() {
					switch fills++; fills {
					case 1:
						begun.Add(1)
					case 2:
						if begun.Load() < n {
							t.Errorf("one goes on when %d of %d have begun", begun.Load(), n)
						}
					}
				}}
			})
			c.Turns = turns
			go func() {
				_ = stream.Run(ctx, c, func(f *frame.Frame) error {
					f.Free()
					if i%2 > 0 {
						begun.Add(1)
						return io.ErrClosedPipe
					}
					return nil
				})
			}()
		}
		if synctest.Wait(); opened.Load() > 0 {
			t.Errorf("%d replays are opened before their turns", opened.Load())
		}
		turns.Give(turn)
		if synctest.Wait(); begun.Load() != n {
			t.Errorf("%d of %d streams have begun", begun.Load(), n)
		}
	})
}

// TestStalledBeginning: a stream whose client takes not even the start keeps no other stream waiting.
func TestStalledBeginning(t *testing.T) {
	data := recording(t, 1<<15)
	synctest.Test(t, func(t *testing.T) {
		turns, began := admission.NewTurns(1), time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var batches atomic.Int32
		run := func(send stream.Send) {
			c := follow(&growing{changed: make(chan struct{}), data: data}, func(r codec.Reader) codec.Reader { return r })
			c.Turns = turns
			go func() { _ = stream.Run(ctx, c, send) }()
			synctest.Wait()
		}
		run(func(f *frame.Frame) error {
			f.Free()
			<-ctx.Done()
			return ctx.Err()
		})
		run(func(f *frame.Frame) error {
			if f.Free(); batches.Add(1) == 2 { // behind the start
				if waited := time.Since(began); waited > 2*time.Millisecond {
					t.Errorf("it waited for %v", waited)
				}
			}
			return nil
		})
		time.Sleep(time.Second)
		if batches.Load() < 2 {
			t.Error("it has sent no events")
		}
		cancel()
		if synctest.Wait(); turns.Spare() == nil || turns.Spare() != nil {
			t.Error("the turn was not given back once")
		}
	})
}

// pusher is a reader that lets a test push.
type pusher struct {
	watched

	offered chan func() bool
}

func (p *pusher) Push(_ time.Duration, push func() bool) bool { p.offered <- push; return true }
func (p *pusher) Recall()                                     {}

// TestPushNotBehindUnwritten: nothing is read or sent by a push while the network has not written what was sent before.
func TestPushNotBehindUnwritten(t *testing.T) {
	data := recording(t, 0)
	g := &growing{data: data[:len(data)-1]}
	fills, offered := 0, make(chan func() bool, 1)
	var unwritten []*frame.Frame
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = stream.Run(ctx, follow(g, func(r codec.Reader) codec.Reader {
			return &pusher{watched{r, func() { fills++ }}, offered}
		}), func(f *frame.Frame) error { unwritten = append(unwritten, f); return nil })
	}()
	push := <-offered // now the stream waits
	if before := fills; push() || fills > before {
		t.Errorf("it may be called again, after %d reads", fills-before)
	}
	for _, f := range unwritten {
		f.Free()
	}
	if before := fills; !push() || fills != before+1 {
		t.Errorf("with everything written it may not be called again, after %d reads", fills-before)
	}
	cancel()
	<-done
}

// TestPushBehindWrites: a push is allowed only where Send returns before its message is written: elsewhere one client that reads slowly would
// hold up all followers of its replay.
func TestPushBehindWrites(t *testing.T) {
	data := recording(t, 0)
	for name, behind := range map[string]bool{"Send writes": false, "Send returns before": true} {
		t.Run(name, func(t *testing.T) {
			g, offered := &growing{data: data[:len(data)-1]}, make(chan func() bool, 1)
			ctx, cancel := context.WithCancel(t.Context())
			var last *frame.Frame
			err := stream.Begin(ctx, follow(g, func(r codec.Reader) codec.Reader { return &pusher{watched{r, func() {}}, offered} }),
				func(f *frame.Frame) error {
					if last != nil {
						last.Free()
					}
					if last = f; !behind {
						f.Free()
						last = nil
					}
					return nil
				})
			i, idle := stream.IsIdle(err)
			if !idle || len(offered) > 0 != behind {
				t.Errorf("%v; it offers to push %d times", err, len(offered))
			}
			cancel()
			_ = i.Resume()
		})
	}
}

// recalled is a reader that would push, and knows whether it may.
type recalled struct {
	watched

	paced bool
	may   *atomic.Bool
}

func (p *recalled) Push(time.Duration, func() bool) bool { p.may.Store(true); return p.paced }
func (p *recalled) Recall()                              { p.may.Store(false) }

// TestRecalled: a stream neither reads nor sends while its reader may push, and nothing may push when the stream has ended. What came
// while it waited is sent at once if the reader has waited for more of a batch, and otherwise after that.
func TestRecalled(t *testing.T) {
	data := recording(t, 1<<15)
	half := len(data) / 2
	for _, paced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := &growing{changed: make(chan struct{}), data: data[:half:half]}
			var may atomic.Bool
			check := func() {
				if may.Load() {
					t.Error("it does something while its reader may push")
				}
			}
			c := follow(g, func(r codec.Reader) codec.Reader { return &recalled{watched{r, check}, paced, &may} })
			c.Heartbeat, c.MaxDelay = time.Second, time.Second
			var unwritten *frame.Frame
			var batches, heartbeats atomic.Int32
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = stream.Run(ctx, c, func(f *frame.Frame) error {
					check()
					if r := f.Response(); r == nil {
						batches.Add(1)
					} else if r.GetHeartbeat() != nil {
						heartbeats.Add(1)
					}
					if unwritten != nil {
						unwritten.Free()
					}
					unwritten = f
					return nil
				})
			}()
			time.Sleep(5*time.Second + 300*time.Millisecond)
			if synctest.Wait(); heartbeats.Load() == 0 || !may.Load() {
				t.Errorf("%d heartbeats, may push: %t", heartbeats.Load(), may.Load())
			}
			before := batches.Load()
			g.append(data[half : len(data)-1])
			if synctest.Wait(); (batches.Load() > before) != paced {
				t.Errorf("paced %t: %d batches at once", paced, batches.Load()-before)
			}
			time.Sleep(time.Second)
			if synctest.Wait(); batches.Load() == before {
				t.Errorf("paced %t: no batch", paced)
			}
			cancel()
			if <-done; may.Load() {
				t.Error("it has ended, and its reader may push")
			}
			unwritten.Free()
		})
	}
}

// TestPush: what a push reads is sent at once. When it cannot be sent, nothing more is pushed, and the stream ends with the reason.
func TestPush(t *testing.T) {
	data := recording(t, 1<<15)
	half := len(data) / 2
	for _, broken := range []error{nil, io.ErrClosedPipe} {
		g, offered := &growing{changed: make(chan struct{}), data: data[:half:half]}, make(chan func() bool, 2)
		var unwritten []*frame.Frame
		var failure error
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- stream.Run(ctx, follow(g, func(r codec.Reader) codec.Reader {
				return &pusher{watched{r, func() {}}, offered}
			}), func(f *frame.Frame) error { unwritten = append(unwritten, f); return failure })
		}()
		push := <-offered // now the stream waits
		free := func() {
			for _, f := range unwritten {
				f.Free()
			}
			unwritten = nil
		}
		free()
		g.mu.Lock()
		g.data = append(g.data, data[half:half+100]...) // less than a batch
		g.mu.Unlock()
		failure = broken
		if more := push(); more != (broken == nil) || len(unwritten) != 1 || unwritten[0].Response() != nil {
			t.Errorf("%v: %d responses were pushed, and it may be called again: %t", broken, len(unwritten), more)
		}
		free()
		if broken == nil {
			cancel()
			<-done
			continue
		}
		failure = nil // what is sent from now on would not tell
		g.changed <- struct{}{}
		time.AfterFunc(10*time.Second, cancel)
		if err := <-done; !errors.Is(err, broken) {
			t.Errorf("the stream ended with %v", err)
		}
		cancel()
	}
}

// news is what a stream tells besides events.
type news struct {
	batches int
	names   []string
	end     *replaydv1.StreamEnd
}

// followed follows half a recording with a reader, changes the file once all of it was read, and returns what was told then.
func followed(t *testing.T, wrap func(codec.Reader) codec.Reader, changes ...func(g *growing, rest []byte)) (n news) {
	t.Helper()
	data := recording(t, 1<<15)
	half := len(data) / 2
	synctest.Test(t, func(t *testing.T) {
		g := &growing{changed: make(chan struct{}), data: data[:half:half]}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = stream.Run(ctx, follow(g, wrap), func(f *frame.Frame) error {
				defer f.Free()
				switch r := f.Response(); {
				case r == nil:
					n.batches++
				case r.GetFollowStatus().GetState() == replaydv1.FollowState_FOLLOW_STATE_MOVED:
					n.names = append(n.names, r.GetFollowStatus().GetReplay())
				case r.GetEnd() != nil:
					n.end = r.GetEnd()
				}
				return nil
			})
		}()
		synctest.Wait()
		n = news{}
		for _, f := range changes {
			g.change(func() { f(g, data[half:]) })
			synctest.Wait()
		}
		cancel()
		<-done
	})
	return n
}

// TestMoved: a new name of the file is told once, and a file without a name is none.
func TestMoved(t *testing.T) {
	name := func(name string) func(*growing, []byte) { return func(g *growing, _ []byte) { g.name = name } }
	n := followed(t, func(r codec.Reader) codec.Reader { return r }, name("b"), func(*growing, []byte) {}, name(""), name("c"))
	if !slices.Equal(n.names, []string{"b", "c"}) {
		t.Errorf("names %q", n.names)
	}
}

// TestShrunk: of a file that was written anew nothing is read that follows the bytes of the former one.
func TestShrunk(t *testing.T) {
	n := followed(t, func(r codec.Reader) codec.Reader { return r }, func(g *growing, rest []byte) {
		g.data, g.lost = append(g.data, rest...), source.ErrShrunk
	})
	if n.batches > 0 || n.end.GetReason() != replaydv1.EndReason_END_REASON_SHRUNK {
		t.Errorf("%d batches, then %v", n.batches, n.end)
	}
}

// gone is a reader whose file is another one, or none, as soon as f returns an error.
type gone struct {
	codec.Reader

	f func() error
}

func (g *gone) Fill(b *codec.Batch) error {
	if err := g.f(); err != nil {
		return err
	}
	return g.Reader.Fill(b)
}

// TestGone: a replay whose other bytes can no longer be read ends for that reason.
func TestGone(t *testing.T) {
	for err, want := range map[error]replaydv1.EndReason{
		source.ErrReplaced: replaydv1.EndReason_END_REASON_REPLACED, source.ErrRemoved: replaydv1.EndReason_END_REASON_REMOVED,
	} {
		var lost error
		n := followed(t, func(r codec.Reader) codec.Reader { return &gone{r, func() error { return lost }} }, func(g *growing, rest []byte) {
			g.data, lost = append(g.data, rest...), err
		})
		if n.batches > 0 || n.end.GetReason() != want {
			t.Errorf("%v: %d batches, then %v", err, n.batches, n.end)
		}
	}
}

// TestArrive: a cursor beyond the bytes that are there is good if they come soon, as when another daemon had more of the file. Otherwise the
// stream is refused, at once if the file will not grow.
func TestArrive(t *testing.T) {
	data := recording(t, 1<<15)
	half := len(data) / 2
	var at cursor.Cursor
	if err := stream.Run(t.Context(), config(data), func(f *frame.Frame) error {
		defer f.Free()
		if c, err := cursor.Parse(f.Cursor()); err == nil && f.Response() == nil && int(c.Position.Offset) > half+1000 && at.Replay == 0 {
			at = c
		}
		return nil
	}); err != nil || at.Replay == 0 {
		t.Fatal(at, err)
	}
	for _, test := range []struct {
		after time.Duration
		more  int
		lost  error
		want  error
		took  time.Duration
	}{
		{time.Second, len(data) - half - 1, nil, nil, time.Second},
		{time.Second, 100, nil, stream.ErrCursorRange, 2 * time.Second},
		{3 * time.Second, len(data) - half - 1, nil, stream.ErrCursorRange, 2 * time.Second},
		{time.Second, 0, source.ErrReplaced, stream.ErrCursorRange, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &growing{changed: make(chan struct{}, 1), data: data[:half:half]}
			c := follow(g, func(r codec.Reader) codec.Reader { return r })
			c.Replay.Present, c.Start.Cursor = int64(half), &at
			ctx, cancel := context.WithCancel(t.Context())
			began, took := time.Now(), time.Duration(-1)
			go func() {
				time.Sleep(test.after)
				g.change(func() { g.data, g.lost = append(g.data, data[half:half+test.more]...), test.lost })
			}()
			err := stream.Run(ctx, c, func(f *frame.Frame) error {
				if f.Free(); took < 0 {
					took = time.Since(began)
					cancel()
				}
				return nil
			})
			if took < 0 {
				took = time.Since(began)
			}
			if cancel(); test.want == nil && !errors.Is(err, context.Canceled) || test.want != nil && !errors.Is(err, test.want) || took != test.took {
				t.Errorf("%d bytes after %v, and %v: %v after %v", test.more, test.after, test.lost, err, took)
			}
			time.Sleep(test.after)
			synctest.Wait()
		})
	}
}
