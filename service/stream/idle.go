package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/replayd/replayd/replay/codec"
)

// Idle is what Begin returns in place of an error while the stream waits for more of a live replay. It needs no goroutine then, and
// with a thousand followers, whose stacks are a fourth of their memory. Whoever gets it calls Wait and Resume, as Run does, until Resume
// returns another error or nil: only then has the stream freed what it holds.
type Idle struct { //nolint:errname // it is no error
	stream *stream
	resume func() error
	is     bool // the stream is idle
	change bool // Wait has returned because of the file
}

// Error implements error, which it is only for the functions between Begin and who calls Resume.
func (*Idle) Error() string { return "the stream waits" }

// IsIdle reports whether an error is an *Idle.
func IsIdle(err error) (*Idle, bool) {
	i, idle := err.(*Idle) //nolint:errorlint // it is never wrapped
	return i, idle
}

// Wait waits until there is something to do.
func (i *Idle) Wait() {
	i.change = false
	select {
	case <-i.stream.canceled:
	case <-i.stream.Drain:
	case <-i.stream.changed():
		i.change = true
	case <-i.stream.clock.C:
	}
}

// Resume goes on with the stream. Its result is as that of Begin.
func (i *Idle) Resume() error { return i.resume() }

// Around returns around(run). If a stream in it becomes idle, its Resume runs within around, too.
func Around(run func() error, around func(run func() error) error) error {
	err := around(run)
	if i, idle := IsIdle(err); idle {
		resume := i.resume
		i.resume = func() error { return around(resume) }
	}
	return err
}

// Begin is as Run, but returns an *Idle when the stream waits for more of a live replay.
func Begin(ctx context.Context, c Config, send Send) error {
	s := &stream{Config: c, ctx: ctx, canceled: ctx.Done(), sender: send, replay: c.Replay, lastSent: time.Now()}
	s.idle = Idle{stream: s, resume: s.proceed}
	s.batch.MaxEvents = c.MaxEvents
	s.clock = time.NewTimer(s.untilHeartbeat())
	s.replay.Await(s.await)
	return s.proceed()
}

// proceed runs the stream until it is idle or has ended.
func (s *stream) proceed() (err error) {
	defer func() { // also when a decoder panics
		if _, idle := IsIdle(err); idle {
			return
		}
		s.giveTurn()
		s.close()
		if s.Successors != nil {
			s.Successors.Close()
		}
	}()
	err = s.run()
	if failed, ok := errors.AsType[*sendError](err); ok {
		return failed.error
	}
	if _, idle := IsIdle(err); idle || err == nil || s.ctx.Err() != nil {
		return err
	}
	return &Error{Cursor: slices.Clone(s.cursorBytes()), Err: err}
}

// rest makes the stream idle, and is called again after Wait. Meanwhile a reader that is a Pusher sends new events from its own
// goroutine, so that none need wake up: with a hundred followers of one replay, waking a hundred goroutines per tick
// would be most of the cost.
//
// A push must not wait for its client, because all other followers would wait with it. It is therefore allowed only if
// everything was sent, and if the transport returns from Send before it writes: then there is room for one more message,
// however much the client leaves unread.
//
// Once it has offered to push, nothing that a push uses may be touched: not the reader, the batch or the outbox.
func (s *stream) rest() (outcome, error) {
	if s.idle.is {
		if s.pusher != nil {
			s.pusher.Recall() // which waits for a running push
		}
		how, err := s.awake()
		if s.idle.is = how == left && err == nil; s.idle.is {
			s.offer()
		}
		return how, err
	}
	if err := s.catchUp(); err != nil {
		return again, err
	}
	if err := s.sendStanding(); err != nil {
		return again, err
	}
	s.returnBuffer() // most streams mostly wait: they need no buffer for that, nor for the few events that come next
	s.idle.is, s.paced = true, false
	if s.ahead {
		s.pusher, _ = s.reader.(codec.Pusher)
	}
	s.offer()
	return left, nil
}

// offer allows the reader to push.
func (s *stream) offer() {
	if s.pusher != nil {
		s.paced = s.pusher.Push(s.MaxDelay, s.push)
	}
}

// awake returns what an idle stream does next.
func (s *stream) awake() (outcome, error) {
	if s.pushed != nil {
		return again, s.pushed
	}
	select {
	case <-s.canceled:
		return again, s.ctx.Err()
	case <-s.Drain:
		return drained, nil
	default:
	}
	if s.idle.change {
		return s.look(), nil
	}
	err := s.heartbeat()
	s.clock.Reset(s.untilHeartbeat())
	return left, err
}
