package service

import (
	"context"
	"time"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/subscription"
)

// Defaults of named subscriptions.
const (
	defaultSubscriptions    = 100
	defaultSubscriptionLife = 30 * 24 * time.Hour
)

// namedConfig returns the configuration of named subscriptions with its defaults.
func (s *Server) namedConfig() subscription.NamedConfig {
	c := s.Subscriptions
	c.Log = s.Log
	if c.Most <= 0 {
		c.Most = defaultSubscriptions
	}
	if c.MostOfOwner <= 0 {
		c.MostOfOwner = c.Most
	}
	if c.Life <= 0 {
		c.Life = defaultSubscriptionLife
	}
	return c
}

// errKeepsNoNames is the error of a server that keeps no subscriptions.
var errKeepsNoNames = notImplemented("subscription",
	"this server keeps no subscriptions by name (--subscriptions); without a name, the token of a response is all that a client needs")

// checkSubscription refuses the name of a subscription that cannot be.
func (s *Server) checkSubscription(name string) error {
	switch {
	case s.named == nil:
		return errKeepsNoNames
	case !subscription.IsName(name):
		return fault.BadRequest("subscription", "must be 1 to 64 letters, digits, '.', '_' and '-'")
	}
	return nil
}

// AcknowledgeEvents implements the API.
func (s *Server) AcknowledgeEvents(
	ctx context.Context, req *replaydv1.AcknowledgeEventsRequest,
) (_ *replaydv1.AcknowledgeEventsResponse, err error) {
	defer func() { err = s.fail(ctx, err, "") }()
	if err := s.checkSubscription(req.GetSubscription()); err != nil {
		return nil, err
	}
	if err := s.named.Acknowledge(ownerOf(ctx), req.GetSubscription(), req.GetToken()); err != nil {
		return nil, err
	}
	return &replaydv1.AcknowledgeEventsResponse{}, nil
}

// DeleteSubscription implements the API.
func (s *Server) DeleteSubscription(
	ctx context.Context, req *replaydv1.DeleteSubscriptionRequest,
) (_ *replaydv1.DeleteSubscriptionResponse, err error) {
	defer func() { err = s.fail(ctx, err, "") }()
	if err := s.checkSubscription(req.GetSubscription()); err != nil {
		return nil, err
	}
	if err := s.named.Remove(ownerOf(ctx), req.GetSubscription()); err != nil {
		return nil, err
	}
	return &replaydv1.DeleteSubscriptionResponse{}, nil
}

// ownerOf returns whose subscriptions a caller has: those of the name of its token, so that another token may get the name.
func ownerOf(ctx context.Context) string {
	if g := access.Of(ctx); g != nil {
		return g.Name
	}
	return ""
}

// subscriptions returns how many named subscriptions there are, and the bytes of their checkpoints.
func (s *Server) subscriptions() (names, space int) {
	if s.named == nil {
		return 0, 0
	}
	return s.named.Figures()
}
