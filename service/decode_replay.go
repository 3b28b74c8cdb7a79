package service

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/stream"
)

// DecodeReplay implements the API.
func (s *Server) DecodeReplay(
	in grpc.BidiStreamingServer[replaydv1.DecodeReplayRequest, replaydv1.StreamEventsResponse],
) (err error) {
	ctx := in.Context()
	req := new(replaydv1.StreamEventsRequest)
	defer func() { err = s.fail(ctx, err, req.GetReplay()) }()
	if err := s.enter(ctx, streamCost+uploadCost); err != nil {
		return err
	}
	s.failures.uploads.Inc()
	defer s.failures.uploads.Dec()
	first, err := first(ctx, s, in.Recv)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	options := first.GetOptions()
	switch {
	case options == nil:
		return fault.BadRequest("options", "must come first")
	case options.GetFollow() || options.GetFollowSuccessors():
		return fault.BadRequest("options.follow", "is not possible with an upload")
	case options.GetStart().GetLastEvents() > 0:
		return fault.BadRequest("options.start.last_events", "is not possible with an upload")
	case options.GetStart().GetNow() != nil:
		return fault.BadRequest("options.start.now", "is not possible with an upload: how much of it is there now is chance")
	}
	req = options
	return s.decode(ctx, req, partsOf(in.Recv), s.counted(in))
}

// part is a message of an upload.
type part struct {
	data    []byte
	options bool // it has options and no data
}

// partsOf returns a function that receives an upload's messages.
func partsOf(recv func() (*replaydv1.DecodeReplayRequest, error)) func() (part, error) {
	return func() (part, error) {
		msg, err := recv()
		return part{msg.GetData(), msg.GetOptions() != nil}, err
	}
}

// decode streams the events of an upload.
func (s *Server) decode(
	ctx context.Context, req *replaydv1.StreamEventsRequest, recv func() (part, error), send stream.Send,
) error {
	limits := source.Limits{Inflated: s.MaxInflated}
	if ticket := admission.Of(ctx); ticket != nil {
		limits.Budget = ticket
	}
	c, err := s.opened.Upload(ctx, req, func() (*source.File, error) {
		return source.FromReadCloser(s.newUpload(ctx, recv), req.GetReplay(), limits)
	})
	if err != nil {
		return err
	}
	return s.run(ctx, c, send)
}

// upload is an io.Reader of the bytes that a client sends. A goroutine of its own receives them, one message ahead of Read.
type upload struct {
	ctx   context.Context //nolint:containedctx // an upload lives as long as its call
	stop  context.CancelFunc
	drain <-chan struct{}
	limit int64
	parts chan []byte // closed after the last one
	err   error       // why there are no more parts: io.EOF at the end of the upload; set before parts is closed
	part  []byte      // the unread rest of the current part; used by Read alone
	// patience is how long a Read waits for the client.
	patience time.Duration
	// count counts the bytes received.
	count prometheus.Counter
	// ticket is charged for partsHeld messages of the largest size so far: being received, waiting, being read. largest is the
	// size that was charged for.
	ticket  *admission.Ticket
	largest int64
}

// partsHeld is how many messages of an upload are in memory at once. uploadCost covers messages of up to smallPart bytes.
const (
	partsHeld = 4 // one of them counts twice: as received, and unmarshalled
	smallPart = 64 << 10
)

func (s *Server) newUpload(ctx context.Context, recv func() (part, error)) *upload {
	ctx, stop := context.WithCancel(ctx)
	u := &upload{
		ctx: ctx, stop: stop, drain: s.drain, limit: s.MaxUpload, parts: make(chan []byte, 1),
		patience: s.UploadTimeout, count: s.failures.received, ticket: admission.Of(ctx), largest: smallPart,
	}
	go func() { // the goroutine ends with the call; waiting for it here would deadlock, because only the end of the call ends Recv
		u.err = u.receive(recv)
		close(u.parts)
	}()
	return u
}

// receive takes messages until there are no more.
func (u *upload) receive(recv func() (part, error)) error {
	received := int64(0)
	for {
		msg, err := recv()
		if err != nil {
			return err
		}
		if msg.options {
			return fault.BadRequest("options", "may come only once")
		}
		if received += int64(len(msg.data)); received > u.limit {
			return decoders.Errorf(decoders.Unknown, u.limit, decoders.NoTick, "upload", decoders.ErrLimit,
				"it has more than %d bytes", u.limit)
		}
		if more := int64(len(msg.data)) - u.largest; more > 0 {
			if err := u.ticket.Memory(partsHeld * more); err != nil {
				return err
			}
			u.largest += more
		}
		u.count.Add(float64(len(msg.data)))
		select { // even a message without data keeps the upload from stalling
		case u.parts <- msg.data:
		case <-u.ctx.Done():
			return u.ctx.Err()
		}
	}
}

// errStalled is the error of an upload whose client sends nothing for too long.
var errStalled = errors.New("the upload has stalled")

// first receives the first message, for which it waits no longer than UploadTimeout.
func first[M any](ctx context.Context, s *Server, recv func() (*M, error)) (*M, error) {
	type received struct {
		msg *M
		err error
	}
	got := make(chan received, 1)
	go func() { // ends with the call
		msg, err := recv()
		got <- received{msg, err}
	}()
	stalled := time.NewTimer(s.UploadTimeout)
	defer stalled.Stop()
	select {
	case r := <-got:
		return r.msg, r.err
	case <-stalled.C:
		return nil, errStalled
	case <-s.drain:
		return nil, stream.ErrDraining
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements io.Closer: Read stops waiting for the client. The call must end then.
func (u *upload) Close() error {
	u.stop()
	return nil
}

// Read implements io.Reader. While it waits for the client it returns stream.ErrDraining when the server shuts down.
func (u *upload) Read(p []byte) (int, error) {
	for len(u.part) == 0 {
		if err := u.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, u.part)
	u.part = u.part[n:]
	return n, nil
}

// next waits for another part, which may be empty.
func (u *upload) next() error {
	stalled := time.NewTimer(u.patience)
	defer stalled.Stop()
	select {
	case part, ok := <-u.parts:
		if !ok {
			return u.err
		}
		u.part = part
		return nil
	case <-stalled.C:
		return errStalled
	case <-u.drain:
		return stream.ErrDraining
	case <-u.ctx.Done():
		return u.ctx.Err()
	}
}
