package service

import (
	"context"
	"net/netip"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/stream"
)

// Upper estimates of memory costs, in bytes. The costs of decompressors and decoders are separate; see package source and
// codec.Codec.
const (
	streamCost = 192 << 10 // a batch, data that waits to be sent, goroutines
	uploadCost = 512 << 10 // received data and read-ahead
	feedCost   = 5 << 20   // what a feed keeps of a live replay; the cost of its decoder is separate
	watchCost  = 64 << 10
)

// whoOf returns the caller on whose account the call of ctx takes resources.
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

// AddressKey returns the key of an address for per-caller limits. For an IPv6 address it is the network of the first 64 bits,
// because a client usually has that whole network. It is empty for loopback addresses, which local users and proxies have.
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

// callerKey returns the key of the caller for admission.Turns.
func (s *Server) callerKey(ctx context.Context) string {
	w := s.whoOf(ctx)
	return w.Token + " " + w.Address
}

// enter begins a stream, or returns why it is refused. Return must be called on the ticket, which is also in the context.
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

// limitCalls is the interceptor that takes a place among the running calls for each unary call.
func (s *Server) limitCalls(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	t, err := s.Admission.Enter(s.whoOf(ctx), admission.Calls)
	if err != nil {
		return nil, s.fail(ctx, err, "")
	}
	defer t.Return()
	return handler(admission.With(ctx, t), req)
}
