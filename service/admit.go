package service

import (
	"context"
	"net/netip"

	"google.golang.org/grpc"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/stream"
)

// What things cost in memory, in bytes, from above. Decompressors tell their own cost; see package source.
const (
	streamCost = 192 << 10 // a batch, what waits to be sent, goroutines
	uploadCost = 512 << 10 // what was received, and what was read ahead
	feedCost   = 5 << 20   // what is kept of a live replay, and its decoder
	watchCost  = 64 << 10
)

// decoderCost returns how many bytes of memory the decoder of a replay of that many bytes takes at most; -1 stands for a size
// that is not known.
func decoderCost(f decoders.Format, size int64) int64 {
	c, err := codecOf(f)
	if err != nil {
		return 0 // there is no decoder
	}
	if size < 0 {
		size = 1 << 20
	}
	return c.Cost(size)
}

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

// AddressKey tells addresses apart for what is limited for each: IPv6 addresses by their first 64 bits, for whoever has one of
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

// callerKey tells callers apart that get turns.
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
