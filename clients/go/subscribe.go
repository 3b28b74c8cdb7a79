package replayd

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Subscribed is a response of a subscription.
type Subscribed struct {
	// Token resumes the subscription after this response. Store it together with the results of the events.
	Token []byte
	// Replay describes the replay that the response is of. It is nil for a heartbeat, and for a failure before the replay's start.
	Replay *replaydv1.Replay
	// Response is what [Client.Stream] has for the replay: events, a start, an end. It is the zero value if one of the next is set.
	Response
	// Failure says why the replay is not streamed; others go on.
	Failure *replaydv1.SubscriptionFailure
	// Heartbeat has the progress.
	Heartbeat *replaydv1.SubscriptionHeartbeat
}

// Subscribe streams the events of all replays that a request selects: those that are over, live ones, and those to come. A nil request
// selects all. The iterator goes on until ctx ends, or an error that is not [Transient]. When the daemon restarts or the connection
// breaks, it continues after the last response, as [WithRetry] says; OnBreak and OnResume are not called. The request's token is
// where it begins.
func (c *Client) Subscribe(ctx context.Context, req *replaydv1.SubscribeEventsRequest) iter.Seq2[Subscribed, error] {
	return func(yield func(Subscribed, error) bool) {
		own := &replaydv1.SubscribeEventsRequest{}
		proto.Merge(own, req)
		retry, failures, failing := c.retry.withDefaults(), 0, time.Time{}
		for {
			left, err := c.subscribe(ctx, own, func(s Subscribed) bool {
				failures = 0
				if !yield(s, nil) {
					return false
				}
				own.Token = s.Token
				return true
			})
			if left {
				return
			}
			if failures == 0 {
				failing = time.Now()
			}
			c.conn.current().ResetConnectBackoff()
			if ctx.Err() != nil || retry.Never || !Transient(err) || retry.GiveUpAfter > 0 && time.Since(failing) > retry.GiveUpAfter {
				yield(Subscribed{}, err)
				return
			}
			timer := time.NewTimer(retry.delay(failures, err.after))
			failures++
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				yield(Subscribed{}, broken(ctx, ctx.Err()))
				return
			}
		}
	}
}

// subscribe makes one call. left reports whether each has returned false.
func (c *Client) subscribe(
	ctx context.Context, req *replaydv1.SubscribeEventsRequest, each func(Subscribed) bool,
) (left bool, failed *Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn := c.conn.current()
	call, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		replaydv1.ReplayService_SubscribeEvents_FullMethodName, grpc.ForceCodecV2(rawcodec.New()))
	if err == nil {
		if err = call.SendMsg(req); err == nil || errors.Is(err, io.EOF) {
			err = call.CloseSend()
		}
	}
	if err != nil {
		return false, broken(ctx, err)
	}
	dog := newWatchdog(silence(req.GetOptions().GetHeartbeatInterval()), cancel)
	defer dog.stop()
	replays := map[uint32]*replaydv1.Replay{}
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
		s, err := parseSubscribed(raw.Bytes, replays)
		if err != nil {
			return false, explain(err)
		}
		if !each(s) {
			return true, nil
		}
	}
}

// parseSubscribed parses a response. It keeps the descriptions of the replays that have begun.
func parseSubscribed(wire []byte, replays map[uint32]*replaydv1.Replay) (s Subscribed, err error) {
	number := uint32(0)
	var streamed []byte
	for rest := wire; len(rest) > 0; {
		f, left, ok := protoscan.Next(rest)
		if !ok {
			return s, errMalformed
		}
		switch rest = left; f.Number {
		case protoscan.SubscribedReplay:
			number = uint32(f.Value)
		case protoscan.SubscribedToken:
			s.Token = f.Bytes
		case protoscan.SubscribedStreamed:
			streamed = f.Bytes
		}
	}
	if streamed == nil {
		var r replaydv1.SubscribeEventsResponse
		if err := proto.Unmarshal(wire, &r); err != nil {
			return s, err
		}
		s.Failure, s.Heartbeat = r.GetFailure(), r.GetHeartbeat()
	} else if s.Response, err = ParseResponse(streamed); err != nil {
		return s, err
	}
	if start := s.Message.GetStart(); start != nil {
		replays[number] = start.GetReplay()
	}
	s.Replay = replays[number]
	if s.Message.GetEnd() != nil || s.Failure != nil && !s.Failure.GetRetried() {
		delete(replays, number)
	}
	return s, nil
}
