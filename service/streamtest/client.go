package streamtest

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Client records sessions.
type Client struct {
	Conn grpc.ClientConnInterface
	// Options are passed to every call.
	Options []grpc.CallOption
}

// Open starts a call of StreamEvents whose responses are received as bytes.
func (c Client) Open(ctx context.Context, req *replaydv1.StreamEventsRequest) (grpc.ClientStream, error) {
	options := append([]grpc.CallOption{grpc.ForceCodecV2(rawcodec.New())}, c.Options...)
	s, err := c.Conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		replaydv1.ReplayService_StreamEvents_FullMethodName, options...)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return s, s.CloseSend()
}

// Session calls StreamEvents and records the responses until the stream ends or each returns false. In the latter case the
// session is cut. each may be nil.
func (c Client) Session(
	ctx context.Context, req *replaydv1.StreamEventsRequest, each func(*replaydv1.StreamEventsResponse) bool,
) Session {
	return c.Raw(ctx, req, func(raw []byte) bool {
		if each == nil {
			return true
		}
		var r replaydv1.StreamEventsResponse
		return proto.Unmarshal(raw, &r) == nil && each(&r)
	})
}

// Raw is like Session, but passes the bytes of each response.
func (c Client) Raw(ctx context.Context, req *replaydv1.StreamEventsRequest, each func([]byte) bool) Session {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Open(ctx, req)
	if err != nil {
		return Session{Err: err}
	}
	var s Session
	for {
		var raw rawcodec.Message
		if err := stream.RecvMsg(&raw); err != nil {
			if !errors.Is(err, io.EOF) {
				s.Err = err
			}
			return s
		}
		s.Responses = append(s.Responses, raw.Bytes)
		if each != nil && !each(raw.Bytes) {
			s.Cut = true
			return s
		}
	}
}

// Resumed returns the request with which a client continues after a history. It is the same request from the last cursor on.
func Resumed(req *replaydv1.StreamEventsRequest, h History) *replaydv1.StreamEventsRequest {
	next := proto.CloneOf(req)
	if at := h.Cursor(); at != nil {
		next.Start = &replaydv1.Start{At: &replaydv1.Start_Cursor{Cursor: at}, WithState: req.GetStart().GetWithState()}
	}
	return next
}
