package service

import (
	"context"
	"errors"
	"io"

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
	case req.GetStart().GetLastEvents() > 0:
		return badRequest("options.start.last_events", "is not possible with an upload")
	case req.GetStart().GetNow() != nil:
		return badRequest("options.start.now", "is not possible with an upload: how much of it is there now is chance")
	}
	err = s.decode(ctx, req, in.Recv, s.counted(in))
	return s.fail(ctx, err, req.GetReplay())
}

// decode streams the events of an upload.
func (s *Server) decode(
	ctx context.Context, req *replaydv1.StreamEventsRequest,
	recv func() (*replaydv1.DecodeReplayRequest, error), send stream.Send,
) error {
	up := newUpload(ctx, recv, s.MaxUpload, s.drain)
	file, err := source.FromReader(up, req.GetReplay(), source.Limits{Inflated: s.MaxInflated})
	if err != nil {
		up.close()
		return err
	}
	defer func() {
		up.close() // first: the file may be waiting for it
		_ = file.Close()
	}()
	var grows stream.Follower
	if codec, err := codecOf(file.Info().Format); err == nil && !codec.RandomAccess {
		// Read like a file that grows, so that neither events that are there nor heartbeats wait for bytes that are not.
		ahead, err := file.ReadAhead()
		if err != nil {
			return err
		}
		grows = growingUpload{ahead}
	}
	c, err := Subscribe(ctx, file, req)
	if err != nil {
		return err
	}
	c.Replay.Follower, c.Replay.Complete = grows, s.complete
	c.Replay.RevealSecrets, c.Drain, c.Version = s.RevealSecrets, s.drain, s.Version
	return stream.Run(ctx, c, send)
}

// growingUpload is an upload as a stream.Follower.
type growingUpload struct{ *source.Ahead }

// Look implements stream.Follower.
func (g growingUpload) Look() (int64, error) {
	n, err := g.Ahead.Look()
	if errors.Is(err, io.EOF) {
		err = stream.ErrComplete
	}
	return n, err
}

// upload is the bytes that a client sends. A goroutine of its own receives them, one message ahead of the reader.
type upload struct {
	ctx   context.Context //nolint:containedctx // an upload lives as long as the call that it is of
	stop  context.CancelFunc
	drain <-chan struct{}
	limit int64
	parts chan []byte // closed behind the last one
	err   error       // why there is no more: io.EOF at the end of the upload; set before parts is closed
	part  []byte      // what is left of the part that is being read; the reader's own
}

func newUpload(
	ctx context.Context, recv func() (*replaydv1.DecodeReplayRequest, error), limit int64, drain <-chan struct{},
) *upload {
	ctx, stop := context.WithCancel(ctx)
	u := &upload{ctx: ctx, stop: stop, drain: drain, limit: limit, parts: make(chan []byte, 1)}
	go func() { // ends with the call: nothing can wait for it in here, for only the call's end ends a Recv
		u.err = u.receive(recv)
		close(u.parts)
	}()
	return u
}

// receive takes messages until there are no more.
func (u *upload) receive(recv func() (*replaydv1.DecodeReplayRequest, error)) error {
	received := int64(0)
	for {
		msg, err := recv()
		if err != nil {
			return err
		}
		if msg.GetOptions() != nil {
			return badRequest("options", "may come only once")
		}
		if received += int64(len(msg.GetData())); received > u.limit {
			return decoders.Errorf(decoders.Unknown, u.limit, decoders.NoTick, "upload", decoders.ErrLimit,
				"it has more than %d bytes", u.limit)
		}
		if len(msg.GetData()) == 0 {
			continue
		}
		select {
		case u.parts <- msg.GetData():
		case <-u.ctx.Done():
			return u.ctx.Err()
		}
	}
}

// close stops to use what the client sends: Read does not wait for it any more. It must be the end of the call.
func (u *upload) close() { u.stop() }

// Read implements io.Reader. While it waits for the client it returns stream.ErrDraining when the server shuts down.
func (u *upload) Read(p []byte) (int, error) {
	if len(u.part) == 0 {
		select {
		case part, ok := <-u.parts:
			if !ok {
				return 0, u.err
			}
			u.part = part
		case <-u.drain:
			return 0, stream.ErrDraining
		case <-u.ctx.Done():
			return 0, u.ctx.Err()
		}
	}
	n := copy(p, u.part)
	u.part = u.part[n:]
	return n, nil
}
