package service

import (
	"context"
	"net/netip"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/h2guard"
	"github.com/replayd/replayd/service/stream"
)

// Upper estimates of memory costs, in bytes. The costs of decompressors and decoders are separate; see package source and
// codec.Codec.
const (
	streamCost = 192 << 10 // a batch, data that waits to be sent, goroutines
	uploadCost = 512 << 10 // received data and read-ahead
	watchCost  = 64 << 10

	requestCost = windowBytes + h2guard.MaxRequest + 1 // a request while it is received
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

// admit is the interceptor that takes, at the headers of a call, what the call needs until its request is known: a place among
// the streams or the other calls, and the memory of the request. Then the request may arrive.
func (s *Server) admit(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := ss.Context()
	t, err := s.ticket(s.whoOf(ctx), info)
	if err != nil {
		return s.fail(ctx, err, "")
	}
	openBody(ctx)
	with := &middleware.WrappedServerStream{ServerStream: ss, WrappedContext: admission.With(ctx, t)}
	return stream.Around(func() error { return handler(srv, with) }, func(run func() error) error {
		err := run()
		if _, idle := stream.IsIdle(err); !idle {
			t.Return()
		}
		return err
	})
}

// ticket returns the ticket of a new call. Unary calls are never refused for lack of memory, so that health checks pass; the
// number of calls bounds the memory of their requests.
func (s *Server) ticket(w admission.Who, info *grpc.StreamServerInfo) (*admission.Ticket, error) {
	if isUnary(info) {
		t, err := s.Admission.Enter(w, admission.Calls)
		t.Charge(admission.Memory, requestCost)
		return t, err
	}
	t, err := s.Admission.Enter(w, admission.Streams)
	if err != nil {
		return nil, err
	}
	if err := t.Memory(requestCost); err != nil {
		t.Return()
		return nil, err
	}
	return t, nil
}

// enter takes the memory of a stream for its call. It includes the request's, which was taken before.
func (s *Server) enter(ctx context.Context, cost int64) error {
	select {
	case <-s.drain:
		return stream.ErrDraining
	default:
	}
	return admission.Of(ctx).Memory(cost - requestCost)
}
