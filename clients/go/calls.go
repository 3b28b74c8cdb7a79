package replayd

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/rawcodec"
)

// receive makes a call with one request, and calls each with the responses. silence is how long none may come. left reports whether each
// has returned false.
func (c *Client) receive(
	ctx context.Context, method string, req proto.Message, silence time.Duration, each func(wire []byte) (bool, error),
) (left bool, failed *Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn := c.conn.current()
	call, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(rawcodec.New()))
	if err == nil {
		if err = call.SendMsg(req); err == nil || errors.Is(err, io.EOF) {
			err = call.CloseSend()
		}
	}
	if err != nil {
		return false, broken(ctx, err)
	}
	dog := newWatchdog(silence, cancel)
	defer dog.stop()
	for {
		var raw rawcodec.Message
		dog.start()
		err := call.RecvMsg(&raw)
		dog.stop()
		if err != nil {
			e := broken(ctx, err)
			if e.silent {
				c.conn.replace(conn)
			}
			return false, e
		}
		goesOn, err := each(raw.Bytes)
		if err != nil {
			return false, explain(err)
		}
		if !goesOn {
			return true, nil
		}
	}
}

// again makes a call again and again until it is left, ctx ends, or an error comes that is not transient. call calls its function
// after each response.
func (c *Client) again(ctx context.Context, call func(received func()) (left bool, err *Error)) (left bool, err error) {
	retry, failures, failing := c.retry.withDefaults(), 0, time.Time{}
	for {
		left, err := call(func() { failures = 0 })
		if left {
			return true, nil
		}
		if failures == 0 {
			failing = time.Now()
		}
		c.conn.current().ResetConnectBackoff()
		if ctx.Err() != nil || retry.Never || !Transient(err) || retry.GiveUpAfter > 0 && time.Since(failing) > retry.GiveUpAfter {
			return false, err
		}
		timer := time.NewTimer(retry.delay(failures, err.after))
		failures++
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, broken(ctx, ctx.Err())
		}
	}
}
