package replayd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// uploadPart is how much is sent at once.
const uploadPart = 64 << 10

// Decode streams the events of a replay that the daemon does not have: it uploads what r holds, compressed or not, and
// receives the events at the same time. The request may be nil; its replay is a name for error messages, and it cannot
// follow.
//
// r is read no faster than the events are taken. The loop over the stream waits for the last Read before it ends, so that
// the caller may use r then; a Read that may block for ever should end with ctx. An upload is not resumed: what breaks the
// connection ends the stream.
func (c *Client) Decode(ctx context.Context, r io.Reader, req *replaydv1.StreamEventsRequest) *Stream {
	var sending sync.WaitGroup
	s := &Stream{ctx: ctx, req: clone(req), retry: Retry{Never: true}, done: sending.Wait}
	s.open = func(ctx context.Context, cancel context.CancelCauseFunc) (grpc.ClientStream, error) {
		call, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
			replaydv1.ReplayService_DecodeReplay_FullMethodName, grpc.ForceCodecV2(rawcodec.New()))
		if err != nil {
			return nil, err
		}
		options := &replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: s.req}}
		if err := call.SendMsg(options); err != nil {
			return call, ignoreEOF(err)
		}
		sending.Go(func() {
			if err := upload(call, r); err != nil {
				cancel(fmt.Errorf("replayd: upload: %w", err))
			}
		})
		return call, nil
	}
	return s
}

// upload sends what r holds. It returns the reader's error; RecvMsg returns those of the call.
func upload(call grpc.ClientStream, r io.Reader) error {
	for call.Context().Err() == nil {
		part := make([]byte, uploadPart) // gRPC may look at it later
		n, err := r.Read(part)
		if n > 0 && call.SendMsg(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: part[:n]}}) != nil {
			break
		}
		if errors.Is(err, io.EOF) {
			_ = call.CloseSend()
			break
		}
		if err != nil {
			return err
		}
	}
	return nil //nolint:nilerr // the call is over, so an error of the reader does not matter
}

// ignoreEOF drops io.EOF, by which gRPC says that RecvMsg returns the reason.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
