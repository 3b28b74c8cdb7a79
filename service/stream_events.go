package service

import (
	"context"

	"google.golang.org/grpc"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/catalog"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
)

// StreamEvents implements the API.
func (s *Server) StreamEvents(
	req *replaydv1.StreamEventsRequest, out grpc.ServerStreamingServer[replaydv1.StreamEventsResponse],
) error {
	ctx, name := out.Context(), req.GetReplay()
	return stream.Around(func() error {
		if err := s.enter(ctx, streamCost); err != nil {
			return err
		}
		c, err := s.open(ctx, req)
		if err != nil {
			return err
		}
		return stream.Begin(ctx, s.here(ctx, c), s.counted(out))
	}, func(run func() error) error {
		err := run()
		if _, idle := stream.IsIdle(err); idle {
			return err
		}
		return s.fail(ctx, err, name)
	})
}

// Stream streams the events of a replay, and with FollowSuccessors of its successors, to send. It returns errors of the packages
// below, and of invalid requests, unchanged; the gRPC handler converts them to statuses.
func (s *Server) Stream(ctx context.Context, req *replaydv1.StreamEventsRequest, send stream.Send) error {
	c, err := s.open(ctx, req)
	if err != nil {
		return err
	}
	return s.run(ctx, c, send)
}

// open opens the replay of a call for run.
func (s *Server) open(ctx context.Context, req *replaydv1.StreamEventsRequest) (stream.Config, error) {
	if err := checkName(req.GetReplay()); err != nil {
		return stream.Config{}, err
	}
	switch {
	case req.GetFollowSuccessors() && !req.GetFollow():
		return stream.Config{}, fault.BadRequest("follow_successors", "needs follow")
	case req.GetSuccessorRule() != replaydv1.SuccessorRule_SUCCESSOR_RULE_UNSPECIFIED && !req.GetFollowSuccessors():
		return stream.Config{}, fault.BadRequest("successor_rule", "needs follow_successors")
	}
	if !scope.Reaches(access.Of(ctx), req.GetReplay()) {
		return stream.Config{}, catalog.NotFound(req.GetReplay())
	}
	return s.opened.Open(ctx, req)
}

// run streams the opened replay of a call.
func (s *Server) run(ctx context.Context, c stream.Config, send stream.Send) error {
	return stream.Run(ctx, s.here(ctx, c), send)
}

// here returns the configuration of a stream with what the server has for all.
func (s *Server) here(ctx context.Context, c stream.Config) stream.Config {
	c.Drain, c.Version, c.Turns, c.Caller = s.drain, s.Version, s.Turns, s.callerKey(ctx)
	return c
}

// Local is what a stream without a Server has in place of its configuration.
type Local struct {
	Secrets codec.Secrets
	// Version is the program's, for the start of the stream.
	Version string
	// Maps is the directory of the maps of games, empty for none.
	Maps string
}

// StreamFile answers a request with the events of a file in its present state, without a Server. It takes ownership of the file,
// and closes it. Its errors are those of [stream.Run].
func StreamFile(
	ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest, by Local, send stream.Send,
) error {
	c, err := opened.Alone(ctx, file, req, by.Secrets, by.Maps)
	if err != nil {
		return err
	}
	c.Version = by.Version
	return stream.Run(ctx, c, send)
}

// columnBytes is the size of values at which a batch of columns is full. Each column of each table of a batch costs a little.
const columnBytes = 1 << 20

// StreamColumns is StreamFile for a send that takes the columns of tables as they are: see [stream.Tables]. The request must ask for
// tables.
func StreamColumns(
	ctx context.Context, file *source.File, req *replaydv1.StreamEventsRequest, by Local, send stream.Send,
) error {
	c, err := opened.Alone(ctx, file, req, by.Secrets, by.Maps)
	if err != nil {
		return err
	}
	if c.Replay.Tables != nil {
		c.Replay.Tables.Encoder = nil
		c.Replay.Tables.Bytes = columnBytes
	}
	c.Version = by.Version
	return stream.Run(ctx, c, send)
}
