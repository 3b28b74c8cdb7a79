package access

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// methods maps each method to the powers that it requires. All other methods require all powers. So a new method that is
// missing here is closed to callers with limited powers.
var methods = map[string]Power{
	"/replayd.v1.ReplayService/ListReplays":        Read,
	"/replayd.v1.ReplayService/GetReplay":          Read,
	"/replayd.v1.ReplayService/GetReport":          Read,
	"/replayd.v1.ReplayService/StreamEvents":       Read,
	"/replayd.v1.ReplayService/WatchReplays":       Read,
	"/replayd.v1.ReplayService/SubscribeEvents":    Read,
	"/replayd.v1.ReplayService/AcknowledgeEvents":  Read,
	"/replayd.v1.ReplayService/DeleteSubscription": Read,
	"/replayd.v1.ReplayService/WatchState":         Read,
	"/replayd.v1.ReplayService/DecodeReplay":       Upload,
	"/replayd.v1.ReplayService/CreateReplay":       Upload,
	"/replayd.v1.ReplayService/DeleteReplay":       Upload,
	"/replayd.v1.ReplayService/FollowBroadcast":    Upload,
	"/replayd.v1.ReplayService/GetServerInfo":      0,

	"/arrow.flight.protocol.FlightService/ListFlights":   Read,
	"/arrow.flight.protocol.FlightService/GetFlightInfo": Read,
	"/arrow.flight.protocol.FlightService/GetSchema":     Read,
	"/arrow.flight.protocol.FlightService/DoGet":         Read,
	// These are not implemented.
	"/arrow.flight.protocol.FlightService/Handshake":      Read,
	"/arrow.flight.protocol.FlightService/PollFlightInfo": Read,
	"/arrow.flight.protocol.FlightService/DoPut":          Read,
	"/arrow.flight.protocol.FlightService/DoExchange":     Read,
	"/arrow.flight.protocol.FlightService/DoAction":       Read,
	"/arrow.flight.protocol.FlightService/ListActions":    Read,

	"/grpc.health.v1.Health/Check": 0,
	"/grpc.health.v1.Health/List":  0,
	"/grpc.health.v1.Health/Watch": 0,

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      0,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": 0,
}

// PowerOf returns the powers that a method requires. method is its full name.
func PowerOf(method string) Power {
	if p, ok := methods[method]; ok {
		return p
	}
	return all
}

// Known reports whether the powers that a method requires are listed here.
func Known(method string) bool {
	_, ok := methods[method]
	return ok
}

// StreamInterceptor is the gate for calls. It refuses a call before its handler, which receives the requests, runs.
func (g *Gate) StreamInterceptor(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	use := g.visit(ss.Context(), info.FullMethod)
	ctx, leave, err := g.admit(ss.Context(), use)
	defer func() { g.audit(use, err) }()
	if err != nil {
		return err
	}
	defer leave()
	return ended(ctx, handler(srv, &noted{middleware.WrappedServerStream{ServerStream: ss, WrappedContext: ctx}, use}))
}

// noted is a stream that records its requests in a Use.
type noted struct {
	middleware.WrappedServerStream

	use *Use
}

// RecvMsg implements grpc.ServerStream.
func (n *noted) RecvMsg(m any) error {
	err := n.WrappedServerStream.RecvMsg(m)
	if err == nil {
		n.use.note(m)
	}
	return err
}

// visit returns the Use of a new call.
func (g *Gate) visit(ctx context.Context, method string) *Use {
	use := &Use{Method: strings.TrimPrefix(method, "/"), began: time.Now()}
	md, _ := metadata.FromIncomingContext(ctx)
	if p, ok := peer.FromContext(ctx); ok {
		use.Address = g.Address(p.Addr, md.Get("x-forwarded-for"))
	}
	return use
}

// admit admits a call, or returns a status error.
func (g *Gate) admit(ctx context.Context, use *Use) (context.Context, func(), error) {
	grant, err := g.Admit(shownIn(ctx))
	if err == nil {
		use.Who, use.grant = grant.Name, grant
		err = g.Demand(grant, PowerOf("/"+use.Method))
	}
	if err != nil {
		return ctx, nil, statusOf(err)
	}
	ctx, leave := g.enter(context.WithValue(ctx, useKey{}, use), grant)
	return ctx, leave, nil
}

// shownIn returns the credentials of a gRPC call.
func shownIn(ctx context.Context) (s Shown) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.Token = bearer(md.Get("authorization"))
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
			s.Certificate = info.State.PeerCertificates[0]
		}
	}
	return s
}

// bearer returns the token of the Authorization headers, nil for none. More than one header counts as a wrong token.
func bearer(headers []string) *string {
	if len(headers) == 0 {
		return nil
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "bearer") {
		token = ""
	}
	return &token
}

// Forbid returns the status error for a caller who lacks a power.
func Forbid() error { return statusOf(ErrForbidden) }

func statusOf(err error) error {
	switch {
	case errors.Is(err, ErrUnauthenticated), errors.Is(err, ErrRevoked):
		return status.Error(codes.Unauthenticated, err.Error())
	case errors.Is(err, ErrChanged):
		return status.Error(codes.Unavailable, err.Error())
	}
	return status.Error(codes.PermissionDenied, err.Error())
}

// ended returns the error of a call: if the gate ended the call, the reason.
func ended(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrRevoked) || errors.Is(cause, ErrChanged) {
		return statusOf(cause)
	}
	return err
}

// audit logs a call that has ended.
func (g *Gate) audit(use *Use, err error) {
	s := status.Convert(err)
	attrs := []slog.Attr{
		slog.String("who", use.Who), slog.String("address", use.Address), slog.String("method", use.Method),
		slog.String("code", s.Code().String()), slog.Duration("took", time.Since(use.began).Round(time.Microsecond)),
		slog.Int64("sent", use.sent.Load()), slog.Int64("received", use.received.Load()),
	}
	if name, _ := use.name.Load().(string); name != "" {
		attrs = append(attrs, slog.String("replay", name))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", s.Message()))
	}
	g.Log.LogAttrs(context.Background(), levelOf(s.Code()), "call", attrs...)
}

// levelOf returns the log level for the end of a call. Cancelled calls and mistakes of clients are no problem for the operator.
func levelOf(code codes.Code) slog.Level {
	switch code {
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return slog.LevelError
	case codes.Unavailable, codes.ResourceExhausted:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}
