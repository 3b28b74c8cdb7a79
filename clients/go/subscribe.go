package replayd

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/protoscan"
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
// where it begins; a named subscription without one begins behind what was acknowledged.
func (c *Client) Subscribe(ctx context.Context, req *replaydv1.SubscribeEventsRequest) iter.Seq2[Subscribed, error] {
	return func(yield func(Subscribed, error) bool) {
		own := &replaydv1.SubscribeEventsRequest{}
		proto.Merge(own, req)
		left, err := c.again(ctx, func(received func()) (bool, *Error) {
			replays := map[uint32]*replaydv1.Replay{}
			return c.receive(ctx, replaydv1.ReplayService_SubscribeEvents_FullMethodName, own,
				silence(own.GetOptions().GetHeartbeatInterval()), func(wire []byte) (bool, error) {
					s, err := parseSubscribed(wire, replays)
					if err != nil {
						return false, err
					}
					if received(); !yield(s, nil) {
						return false, nil
					}
					own.Token = s.Token
					return true, nil
				})
		})
		if !left {
			yield(Subscribed{}, err)
		}
	}
}

// Acknowledge notes that the events of a named subscription were processed, up to the response with a token. A later call of
// [Client.Subscribe] without a token goes on behind it.
func (c *Client) Acknowledge(ctx context.Context, subscription string, token []byte) error {
	_, err := c.service.AcknowledgeEvents(ctx, &replaydv1.AcknowledgeEventsRequest{Subscription: subscription, Token: token})
	if err != nil {
		return explain(err)
	}
	return nil
}

// DeleteSubscription removes a named subscription. A call that runs under its name ends.
func (c *Client) DeleteSubscription(ctx context.Context, subscription string) error {
	_, err := c.service.DeleteSubscription(ctx, &replaydv1.DeleteSubscriptionRequest{Subscription: subscription})
	if err != nil {
		return explain(err)
	}
	return nil
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
