package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/source"
	"github.com/replayd/replayd/service/stream"
)

// DecodeReplay implements the API.
func (s *Server) DecodeReplay(
	in grpc.BidiStreamingServer[replaydv1.DecodeReplayRequest, replaydv1.StreamEventsResponse],
) error {
	ctx := in.Context()
	release, err := s.enter()
	if err != nil {
		return s.fail(ctx, err, "")
	}
	defer release()
	first, err := in.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	req := first.GetOptions()
	switch {
	case req == nil:
		return badRequest("options", "must come first")
	case req.GetFollow() || req.GetFollowSuccessors():
		return badRequest("options.follow", "is not possible with an upload")
	case req.GetLastEvents() > 0:
		return badRequest("options.last_events", "is not possible with an upload")
	}
	err = s.decode(ctx, req, in.Recv, s.counted(in.SendMsg))
	return s.fail(ctx, err, req.GetReplay())
}

// decode streams the events of an upload.
func (s *Server) decode(
	ctx context.Context, req *replaydv1.StreamEventsRequest,
	recv func() (*replaydv1.DecodeReplayRequest, error), send stream.Send,
) error {
	up := newUpload(ctx, recv, s.MaxUpload)
	defer up.close()
	file, err := source.FromReader(up, req.GetReplay(), source.Limits{Inflated: s.MaxInflated})
	if err != nil {
		return err
	}
	c, err := Subscribe(ctx, file, req)
	if err != nil {
		_ = file.Close()
		return err
	}
	c.Replay.RevealSecrets, c.Replay.Close = s.RevealSecrets, func() { _ = file.Close() }
	if file.Info().Compression == source.Plain && !c.Replay.Codec.RandomAccess {
		// Read like a file that grows, so that events which are there do not wait for bytes which are not.
		up.impatient = true
		c.Replay.Follower = up
	}
	c.Drain, c.Version = s.drain, s.Version
	return stream.Run(ctx, c, send)
}

// upload is the bytes that a client sends. A goroutine of its own receives them, one message ahead of the reader.
type upload struct {
	ctx       context.Context //nolint:containedctx // an upload lives as long as the call that it is of
	limit     int64
	parts     chan []byte
	changed   chan struct{}
	impatient bool // Read does not wait: what is not there yet is like the end of a file that grows

	part []byte // what is left of the part that is being read; the reader's own
	stop context.CancelFunc

	mu       sync.Mutex
	received int64
	err      error // why there is no more: io.EOF at the end of the upload
}

func newUpload(ctx context.Context, recv func() (*replaydv1.DecodeReplayRequest, error), limit int64) *upload {
	ctx, stop := context.WithCancel(ctx)
	u := &upload{ctx: ctx, limit: limit, parts: make(chan []byte, 1), changed: make(chan struct{}, 1), stop: stop}
	go func() { // ends with the call: nothing can wait for it in here, for only the call's end ends a Recv
		err := u.receive(recv)
		u.mu.Lock()
		u.err = err
		u.mu.Unlock()
		close(u.parts)
		u.signal()
	}()
	return u
}

// receive takes messages until there are no more.
func (u *upload) receive(recv func() (*replaydv1.DecodeReplayRequest, error)) error {
	for {
		msg, err := recv()
		if err != nil {
			return err
		}
		if msg.GetOptions() != nil {
			return badRequest("options", "may come only once")
		}
		u.mu.Lock()
		u.received += int64(len(msg.GetData()))
		over := u.received > u.limit
		u.mu.Unlock()
		if over {
			return decoders.Errorf(decoders.Unknown, u.limit, decoders.NoTick, "upload", decoders.ErrLimit,
				"it has more than %d bytes", u.limit)
		}
		if len(msg.GetData()) == 0 {
			continue
		}
		select {
		case u.parts <- msg.GetData():
			u.signal()
		case <-u.ctx.Done():
			return u.ctx.Err()
		}
	}
}

func (u *upload) signal() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// close stops to use what the client sends. It must be the end of the call.
func (u *upload) close() { u.stop() }

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	if len(u.part) == 0 {
		part, err := u.take()
		if err != nil {
			return 0, err
		}
		u.part = part
	}
	n := copy(p, u.part)
	u.part = u.part[n:]
	return n, nil
}

func (u *upload) take() ([]byte, error) {
	var (
		part []byte
		ok   bool
	)
	if u.impatient {
		select {
		case part, ok = <-u.parts:
		default:
			return nil, io.EOF
		}
	} else {
		part, ok = <-u.parts
	}
	if ok {
		return part, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return nil, u.err
}

// Changed implements stream.Follower.
func (u *upload) Changed() <-chan struct{} { return u.changed }

// Look implements stream.Follower.
func (u *upload) Look() (int64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.err == nil:
		return u.received, nil
	case errors.Is(u.err, io.EOF):
		return u.received, stream.ErrComplete
	}
	return u.received, fmt.Errorf("upload: %w", u.err)
}
