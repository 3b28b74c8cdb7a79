package service

import (
	"context"
	"net/netip"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/stream"
)

// What things cost in memory, in bytes, from above. Decompressors and decoders have costs of their own; see package source and
// codec.Codec.
const (
	streamCost = 192 << 10 // a batch, what waits to be sent, goroutines
	uploadCost = 512 << 10 // what was received, and what was read ahead
	feedCost   = 5 << 20   // what is kept of a live replay; its decoder has a cost of its own
	watchCost  = 64 << 10
)

// whoOf is for whom a call takes something.
func (s *Server) whoOf(ctx context.Context) admission.Who {
	g, use := access.Of(ctx), access.UseOf(ctx)
	w := admission.Who{Address: AddressKey(use.Address)}
	if g != nil {
		w.Token, w.Rate = g.Key(), g.Quota.Rate
		w.Limits[admission.Streams] = int64(g.Quota.Streams)
		w.Limits[admission.Memory], w.Limits[admission.Spool] = g.Quota.Memory, g.Quota.Spool
	}
	return w
}

// AddressKey returns the key of an address for limits that each caller has: of IPv6 addresses the first 64 bits, for whoever has one of
// them has them all. It is empty for addresses of this machine, which are its own users' or a proxy's.
func AddressKey(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.IsLoopback() {
		return ""
	}
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// callerKey is the key of callers that take turns.
func (s *Server) callerKey(ctx context.Context) string {
	w := s.whoOf(ctx)
	return w.Token + " " + w.Address
}

// enter begins a stream, or returns why it may not. The ticket in the context must be returned.
func (s *Server) enter(ctx context.Context, cost int64) (context.Context, *admission.Ticket, error) {
	select {
	case <-s.drain:
		return ctx, nil, stream.ErrDraining
	default:
	}
	t, err := s.Admission.Enter(s.whoOf(ctx), admission.Streams)
	if err != nil {
		return ctx, nil, err
	}
	if err := t.Memory(cost); err != nil {
		t.Return()
		return ctx, nil, err
	}
	return admission.With(ctx, t), t, nil
}

// limitCalls is the interceptor that counts calls which are no streams, and takes a place for each.
func (s *Server) limitCalls(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	t, err := s.Admission.Enter(s.whoOf(ctx), admission.Calls)
	if err != nil {
		return nil, s.fail(ctx, err, "")
	}
	defer t.Return()
	return handler(admission.With(ctx, t), req)
}
