package subscription

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/cursor"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/stream"
)

// replay is a replay that has begun, or is about to. One goroutine streams it while it is running.
type replay struct {
	of   index.Numbered
	root *root
	room chan struct{} // holds a value while an item waits in the queue

	// These belong to the call's goroutine.
	short   uint32 // its number for the client; 0 until something of it was sent
	at      cursor.Cursor
	running bool
	slot    bool // it takes one of the places of its root
	caught  bool // all events that existed were sent
	queued  bool // it is about to be begun
	hurries bool // with queued: it is a live game
	fresh   bool // it is running, and in no token yet
	// When it was left because it is silent: its file.
	left   *index.Entry
	again  time.Time // when it was left because it cannot be read now: when it is tried again
	cancel context.CancelFunc

	// leaving is set before cancel is called because the replay is silent.
	leaving atomic.Bool

	// These belong to the goroutine that streams it, and before that to the call's.
	begun   bool
	reached cursor.Cursor   // with begun: after what was put into the queue; without format and replay
	format  decoders.Format // of the last file
	over    bool            // its end was put into the queue
	drained bool
	held    *frame.Frame          // the end of a file that is gone: perhaps another one has the rest
	tried   map[string]bool       // names of files that cannot be streamed
	pause   time.Duration         // the next one, after a failure; 0 if the last attempt got further
	told    replaydv1.ErrorReason // of the last failure that was sent, if no attempt got further since
}

// result is what became of a replay's goroutine.
type result struct {
	what  outcome
	again time.Time // with paused: when it is tried again
	fatal error     // ends the subscription
}

type outcome int

const (
	stopped outcome = iota // the subscription ends
	over                   // no more of the replay will follow
	skipped                // nothing of the replay is wanted, or it is gone
	silent                 // it was left at its present end
	paused                 // it cannot be read now, and others take its place meanwhile
)

// errOther means that the file that was opened has another replay by now.
var errOther = errors.New("another replay has the file")

const (
	// pauseFirst and pauseMost bound how long a replay that cannot be read waits before it is tried again. After a pause of pauseHere it
	// leaves its place to others.
	pauseFirst, pauseHere, pauseMost = 100 * time.Millisecond, time.Second, time.Minute
	// maxTries is how often a file that has changed under a replay's hands is opened again at once.
	maxTries = 5
	// sureLooks is how often a root is looked at, a second apart, before a replay counts as gone: while directories are read one after
	// another, a file that is moved from one of them to one that was read is in none.
	sureLooks = 3
	// settled is how long a file that is written as a whole must not have changed before its damage counts: it may be being copied.
	settled = time.Minute
)

// stream streams a replay until it is over, it is left, or the subscription ends.
func (s *subscription) stream(ctx context.Context, r *replay) result {
	defer func() {
		if r.held != nil {
			r.held.Free()
			r.held = nil
		}
	}()
	r.tried = map[string]bool{}
	var first *replaydv1.SubscriptionFailure // of a file, while another may have the replay
	for tries := 0; ; {
		e, err := s.locate(ctx, r)
		switch {
		case err != nil:
			return result{}
		case e == nil && first != nil:
			return s.tell(ctx, item{of: r, failure: first}, over)
		case e == nil && !r.begun:
			return result{what: skipped}
		case e == nil:
			return s.tellEnd(ctx, r)
		}
		before := r.reached
		err = s.open(ctx, r, e)
		switch {
		case r.over:
			return result{what: over}
		case r.leaving.Load():
			return result{what: silent}
		case ctx.Err() != nil, r.drained, errors.Is(err, stream.ErrDraining):
			return result{}
		}
		if r.reached != before {
			tries, r.pause, r.told = 0, 0, 0
		}
		if err == nil || isMoved(err) { // another file may have the rest
			if tries++; tries > maxTries || errors.Is(err, source.ErrShrunk) || isShrunk(r.held) {
				r.tried[e.Name] = true
			}
			if s.Selection.Refresh(ctx, r.of) != nil || sleep(ctx, pauseFirst*time.Duration(tries-1)) != nil {
				return result{}
			}
			continue
		}
		failure := s.Explain(err, e.Name)
		switch code := codes.Code(failure.GetCode()); {
		case failure.GetReason() == replaydv1.ErrorReason_ERROR_REASON_TOO_SLOW, code == codes.Canceled, code == codes.DeadlineExceeded:
			return result{fatal: err}
		case code == codes.InvalidArgument && !r.begun && !errors.Is(err, codec.ErrNoMap):
			return result{what: skipped} // the filters can match nothing in it
		case code == codes.Unavailable || code == codes.ResourceExhausted:
			failure.Retried = true
			if r.told != failure.GetReason() {
				r.told = failure.GetReason()
				if s.queue.put(ctx, item{of: r, failure: failure}) != nil {
					return result{}
				}
			}
			r.pause = min(max(2*r.pause, pauseFirst), pauseMost)
			if r.pause > pauseHere && code == codes.Unavailable { // with too many streams, others would fail, too
				return result{what: paused, again: time.Now().Add(r.pause)}
			}
			if sleep(ctx, r.pause) != nil {
				return result{}
			}
		case code == codes.DataLoss && !s.Selection.MayGrow(e) && s.mayChange(ctx, e):
			return result{what: paused, again: e.Modified.Add(settled)}
		default:
			r.tried[e.Name] = true
			if first == nil {
				first = failure
			}
		}
		if ctx.Err() != nil {
			return result{}
		}
	}
}

// isMoved reports whether an error means that the file is gone, or is another one.
func isMoved(err error) bool {
	for _, moved := range []error{
		errOther, catalog.ErrNotFound, source.ErrRemoved, source.ErrReplaced, source.ErrShrunk, stream.ErrCursorReplay,
	} {
		if errors.Is(err, moved) {
			return true
		}
	}
	return false
}

func isShrunk(end *frame.Frame) bool {
	return end != nil && end.Response().GetEnd().GetReason() == replaydv1.EndReason_END_REASON_SHRUNK
}

// tell puts the last item of a replay into the queue.
func (s *subscription) tell(ctx context.Context, i item, what outcome) result {
	if s.queue.put(ctx, i) != nil {
		return result{}
	}
	return result{what: what}
}

// tellEnd tells the end of a replay whose file is gone.
func (s *subscription) tellEnd(ctx context.Context, r *replay) result {
	end := r.held
	if r.held = nil; end == nil {
		var err error
		var box frame.Outbox
		at := r.reached
		at.Format, at.Replay = r.format, cursor.HashOf(r.of.Identity)
		end, err = box.Of(&replaydv1.StreamEventsResponse{Response: &replaydv1.StreamEventsResponse_End{End: &replaydv1.StreamEnd{
			Reason: replaydv1.EndReason_END_REASON_REMOVED, BytesRead: at.Position.Offset, LastTick: at.Tick,
		}}}, at.Append(nil))
		if err != nil {
			return result{fatal: err}
		}
	}
	return s.tell(ctx, item{of: r, frame: end}, over)
}

// sleep waits.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// locate returns a file that holds the replay and was not tried, nil if there is none. While that is not certain, it waits.
func (s *subscription) locate(ctx context.Context, r *replay) (*index.Entry, error) {
	for looks := 0; ; looks++ {
		list, known := s.Selection.Files(r.of, r.begun)
		for _, e := range list {
			if !r.tried[e.Name] {
				return e, nil
			}
		}
		switch {
		case looks == 0:
		case len(list) > 0, known && !r.begun, looks >= sureLooks && s.Selection.Gone(r.of.Root):
			return nil, nil
		default:
			if err := sleep(ctx, time.Second); err != nil {
				return nil, err
			}
		}
		if err := s.Selection.Refresh(ctx, r.of); err != nil {
			return nil, err
		}
	}
}

// mayChange reports whether a file that is damaged has changed, or was written to recently: it may be being copied.
func (s *subscription) mayChange(ctx context.Context, e *index.Entry) bool {
	now, err := s.Selection.Look(ctx, e.Name)
	return err != nil || now.Size != e.Size || !now.Modified.Equal(e.Modified) || now.ID != e.ID || time.Since(e.Modified) < settled
}

// open streams the file of a replay, from where the replay stands.
func (s *subscription) open(ctx context.Context, r *replay, e *index.Entry) (err error) {
	if r.held != nil {
		r.held.Free()
		r.held = nil
	}
	defer func() {
		if p := recover(); p != nil { // of a decoder: what was put into the queue is whole
			err = s.Panicked(p, e.Name)
		}
	}()
	if err := s.Reserve(1); err != nil {
		return err
	}
	defer func() { _ = s.Reserve(-1) }()
	req := proto.CloneOf(s.Options)
	req.Replay, req.Follow, r.format = e.Name, true, e.Format
	req.ResolvePlayers = req.GetResolvePlayers() && s.Resolves(e.Format)
	if r.begun {
		at := r.reached
		at.Format, at.Replay = e.Format, cursor.HashOf(r.of.Identity)
		if req.Start == nil {
			req.Start = &replaydv1.Start{}
		}
		req.Start.At = &replaydv1.Start_Cursor{Cursor: at.Append(nil)}
	}
	return s.Stream(ctx, req, func(f *frame.Frame) error { return s.pass(ctx, r, f) })
}

// pass is the stream.Send of a replay's streams. It does not wait if all responses before were sent.
func (s *subscription) pass(ctx context.Context, r *replay, f *frame.Frame) error {
	switch response := f.Response(); {
	case response.GetStart() != nil && response.GetStart().GetReplay().GetIdentity() != r.of.Identity:
		f.Free()
		return errOther
	case response.GetEnd() == nil:
	case response.GetEnd().GetReason() == replaydv1.EndReason_END_REASON_SERVER_DRAINING:
		r.drained = true
		f.Free()
		return nil
	case isGone(response.GetEnd().GetReason()):
		r.held = f
		return nil
	}
	begun, at, end := r.begun, r.reached, f.Response().GetEnd() != nil
	if len(f.Cursor()) > 0 {
		var err error
		if at, err = cursor.Parse(f.Cursor()); err != nil {
			f.Free()
			return err
		}
		begun, at.Format, at.Replay = true, 0, 0
	}
	if err := s.queue.put(ctx, item{of: r, frame: f}); err != nil {
		return err
	}
	r.begun, r.reached, r.over = begun, at, end // only now: what is not put is sent again
	return nil
}

// isGone reports whether an end means that the file is gone, and not that the replay is over.
func isGone(reason replaydv1.EndReason) bool {
	return reason == replaydv1.EndReason_END_REASON_REMOVED || reason == replaydv1.EndReason_END_REASON_REPLACED ||
		reason == replaydv1.EndReason_END_REASON_SHRUNK
}
