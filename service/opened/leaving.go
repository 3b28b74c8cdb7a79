package opened

import (
	"context"
	"path"
	"sync"
	"sync/atomic"

	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/succession"
)

// leaving is a growing replay that ends as soon as another replay begins in the same directory.
type leaving struct {
	growing

	left    atomic.Bool
	present atomic.Int64 // the size of the file at the last look
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// leave makes a growing replay end as soon as another replay begins.
func (c *Config) leave(ctx context.Context, f growing, file *source.File) *leaving {
	ctx, stop := context.WithCancel(ctx)
	l := &leaving{growing: f, stop: stop}
	l.wg.Go(func() {
		identity := ""
		interest := c.Index.Family(file.Info().Name, scope.Of(ctx)).Interest(path.Dir(file.Info().Name), "")
		defer interest.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case <-interest.C:
			}
			e := c.entryOf(ctx, file, identity)
			if e == nil {
				continue
			}
			identity = e.Identity
			found, err := c.Successions.Find(ctx, e, false, scope.Of(ctx))
			if err != nil {
				continue
			}
			v := succession.Decide(succession.Situation{Found: found, GoOn: true, Rule: succession.NextInDirectory})
			if v.Step == succession.GoOn {
				f.sync(ctx) // bytes that were written before the other one began
				l.left.Store(true)
				f.wake()
				return
			}
		}
	})
	return l
}

// close stops watching, and waits for the watching goroutine.
func (l *leaving) close() {
	l.stop()
	l.wg.Wait()
	l.growing.close()
}

// Look implements stream.Follower.
func (l *leaving) Look() (int64, error) {
	left := l.left.Load()
	present, err := l.growing.Look()
	l.present.Store(present)
	if err == nil && left {
		err = stream.ErrSucceeded
	}
	return present, err
}

// Standing implements stream.Follower.
func (l *leaving) Standing() stream.Standing {
	return stream.Standing{Name: l.growing.Standing().Name} // the stream waits for nothing that it would have to report
}
