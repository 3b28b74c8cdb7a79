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

// uploadPart is the size of an upload message in bytes.
const uploadPart = 64 << 10

// Decode streams the events of a replay that the daemon does not have. It uploads the bytes of r, compressed or not, and
// receives the events at the same time. The request may be nil. Its replay is only a name for error messages, and it cannot
// follow.
//
// r is read no faster than the loop takes events. The loop waits for the last Read before it ends, so that the caller can use r
// afterwards. A Read that may block forever should therefore end with ctx. An upload is not resumed: if the connection breaks,
// the stream ends with an error.
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

// upload sends the bytes of r. It returns only an error of r; RecvMsg returns the errors of the call.
func upload(call grpc.ClientStream, r io.Reader) error {
	for call.Context().Err() == nil {
		part := make([]byte, uploadPart) // not reused, because gRPC may read it after SendMsg returns
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
	return nil //nolint:nilerr // the call has ended, so an error of the reader does not matter
}

// ignoreEOF returns err unless it is io.EOF. SendMsg returns io.EOF when RecvMsg will return the actual error.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
