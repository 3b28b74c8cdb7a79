package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/decoders"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/filter"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/index"
	"github.com/replayd/replayd/service/opened"
	"github.com/replayd/replayd/service/scope"
	"github.com/replayd/replayd/service/stream"
	"github.com/replayd/replayd/service/subscription"
)

// SubscribeEvents implements the API.
func (s *Server) SubscribeEvents(
	req *replaydv1.SubscribeEventsRequest, out grpc.ServerStreamingServer[replaydv1.SubscribeEventsResponse],
) (err error) {
	ctx := out.Context()
	defer func() { err = s.fail(ctx, err, req.GetDirectory()) }()
	if err := s.enter(ctx, watchCost); err != nil {
		return err
	}
	return s.Subscribe(ctx, req, s.counted(out))
}

// Subscribe streams the events of all replays that a request selects to send. It returns errors of the packages below, and of invalid
// requests, unchanged; the gRPC handler converts them to statuses.
func (s *Server) Subscribe(ctx context.Context, req *replaydv1.SubscribeEventsRequest, send stream.Send) error {
	c := subscription.Config{
		Index: s.index, Token: req.GetToken(), Options: req.GetOptions(), Drain: s.drain,
		Stream: s.Stream, Resolves: resolves,
		Reserve:  func(n int) error { return admission.Of(ctx).Memory(int64(n) * streamCost) },
		Explain:  func(err error, replay string) *replaydv1.SubscriptionFailure { return s.explain(ctx, err, replay) },
		Panicked: func(p any, replay string) error { return s.panicked(ctx, p, replay) },
	}
	if c.Options == nil {
		c.Options = &replaydv1.StreamEventsRequest{}
	}
	if c.Parallel = int(min(req.GetParallel(), subscription.MaxParallel)); c.Parallel == 0 {
		c.Parallel = subscription.DefaultParallel
	}
	if err := s.index.CheckDirectory(ctx, req.GetDirectory(), scope.Of(ctx)); err != nil {
		return directoryError{err}
	}
	query, err := s.selected(ctx, req)
	if err != nil {
		return err
	}
	if query.Formats, err = usable(ctx, query.Formats, c.Options); err != nil {
		return ofOptions(err)
	}
	if c.Heartbeat, err = opened.Heartbeat(c.Options.GetHeartbeatInterval()); err != nil {
		return ofOptions(err)
	}
	c.Selection = s.index.Select(query)
	tagged, err := proto.MarshalOptions{Deterministic: true}.Marshal(&replaydv1.SubscribeEventsRequest{
		Directory: req.GetDirectory(), Formats: req.GetFormats(), Filter: req.GetFilter(),
	})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(tagged)
	c.Tag = subscription.Tag(sum[:len(c.Tag)])
	if name := req.GetSubscription(); name != "" {
		if err := s.checkSubscription(name); err != nil {
			return err
		}
		if c.Named, err = s.named.Open(ownerOf(ctx), name, s.index.Generation(), c.Tag, c.Token); err != nil {
			return err
		}
		defer c.Named.Close()
	}
	return subscription.Run(ctx, c, send)
}

// panicked logs a panic of a decoder in the goroutine that calls it, and returns the error for clients.
func (s *Server) panicked(ctx context.Context, p any, replay string) error {
	return internal(incident(ctx, s.Log, "panic", fmt.Sprintf("%v\n%s", p, debug.Stack()), replay))
}

// selected returns the query for the replays of a subscription.
func (s *Server) selected(ctx context.Context, req *replaydv1.SubscribeEventsRequest) (q index.Query, err error) {
	options := req.GetOptions()
	for field, set := range map[string]bool{
		"options.replay": options.GetReplay() != "", "options.start.at": options.GetStart().GetAt() != nil,
		"options.follow": options.GetFollow(), "options.follow_successors": options.GetFollowSuccessors(),
		"options.successor_rule": options.GetSuccessorRule() != 0,
	} {
		if set {
			return q, fault.BadRequest(field, "must be absent: a subscription has all replays, each from its beginning or the token")
		}
	}
	if req.GetFilter().GetPlayerName() != "" {
		return q, fault.BadRequest("filter.player_name", "is not possible: who plays is not known when a game begins")
	}
	if req.GetFilter().GetText() != "" {
		return q, fault.BadRequest("filter.text", "is not possible: who plays is not known when a game begins")
	}
	if len(req.GetFilter().GetStates()) > 0 {
		return q, fault.BadRequest("filter.states", "is not possible: the state changes while a game is played")
	}
	asked, err := formatsOf(req.GetFormats())
	if err != nil {
		return q, err
	}
	q = index.Query{Scope: scope.Of(ctx), Dir: req.GetDirectory(), Formats: scope.Formats(ctx, asked)}
	q.Filter, err = filterOf(req.GetFilter())
	return q, err
}

func resolves(f decoders.Format) bool {
	c, err := describe.CodecOf(f)
	return err == nil && c.ResolvesPlayers
}

// usable returns those of the formats, of which none means all, whose events the options can match. If they match none, it returns the
// reason for the first.
func usable(ctx context.Context, formats []decoders.Format, options *replaydv1.StreamEventsRequest) (list []decoders.Format, err error) {
	for _, c := range describe.Codecs() {
		if len(formats) > 0 && !slices.Contains(formats, c.Format) {
			continue
		}
		own := proto.CloneOf(options)
		own.ResolvePlayers = own.GetResolvePlayers() && c.ResolvesPlayers
		switch refused := opened.Check(ctx, own, c); {
		case refused == nil:
			list = append(list, c.Format)
		case err == nil:
			err = refused
		}
	}
	if len(list) > 0 || err == nil {
		return append(list, decoders.Unknown), nil // which no replay has: an empty list would mean all
	}
	return nil, err
}

// ofOptions names the fields of a bad request as those of the options.
func ofOptions(err error) error {
	if field, ok := errors.AsType[*filter.FieldError](err); ok {
		return fault.BadRequest("options."+field.Field, field.Problem)
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		for _, detail := range known.Details {
			if bad, ok := detail.(*errdetails.BadRequest); ok && len(bad.GetFieldViolations()) == 1 {
				return fault.BadRequest("options."+bad.GetFieldViolations()[0].GetField(), bad.GetFieldViolations()[0].GetDescription())
			}
		}
	}
	return err
}

// explain describes the error of a replay's stream, which is logged and counted as that of a call is.
func (s *Server) explain(ctx context.Context, err error, replay string) *replaydv1.SubscriptionFailure {
	if err == nil {
		return nil
	}
	sent := status.Convert(s.fail(ctx, err, replay))
	f := &replaydv1.SubscriptionFailure{Name: replay, Code: int32(sent.Code()), Message: sent.Message()}
	for _, detail := range sent.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			f.Reason = replaydv1.ErrorReason(replaydv1.ErrorReason_value["ERROR_REASON_"+info.GetReason()])
		}
	}
	return f
}
