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

// methods says which powers a call takes. All others take all that there are, so that one that is added and forgotten here is
// closed to callers who are limited.
var methods = map[string]Power{
	"/replayd.v1.ReplayService/ListReplays":   Read,
	"/replayd.v1.ReplayService/GetReplay":     Read,
	"/replayd.v1.ReplayService/StreamEvents":  Read,
	"/replayd.v1.ReplayService/WatchReplays":  Read,
	"/replayd.v1.ReplayService/DecodeReplay":  Upload,
	"/replayd.v1.ReplayService/CreateReplay":  Upload,
	"/replayd.v1.ReplayService/DeleteReplay":  all,
	"/replayd.v1.ReplayService/GetServerInfo": 0,

	"/grpc.health.v1.Health/Check": 0,
	"/grpc.health.v1.Health/List":  0,
	"/grpc.health.v1.Health/Watch": 0,

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      0,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": 0,
}

// PowerOf is what it takes to call a method, by its full name.
func PowerOf(method string) Power {
	if p, ok := methods[method]; ok {
		return p
	}
	return all
}

// Known reports whether it was decided what it takes to call a method.
func Known(method string) bool {
	_, ok := methods[method]
	return ok
}

// UnaryInterceptor is the gate before calls with one response.
func (g *Gate) UnaryInterceptor(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (resp any, err error) {
	use := g.visit(ctx, info.FullMethod)
	use.note(req)
	ctx, leave, err := g.admit(ctx, use)
	defer func() { g.audit(use, err) }()
	if err != nil {
		return nil, err
	}
	defer leave()
	resp, err = handler(ctx, req)
	return resp, ended(ctx, err)
}

// StreamInterceptor is the gate before all other calls.
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

// noted is a stream whose requests are looked at.
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

// visit notes a call.
func (g *Gate) visit(ctx context.Context, method string) *Use {
	use := &Use{Method: strings.TrimPrefix(method, "/"), began: time.Now()}
	md, _ := metadata.FromIncomingContext(ctx)
	if p, ok := peer.FromContext(ctx); ok {
		use.Address = g.Address(p.Addr, md.Get("x-forwarded-for"))
	}
	return use
}

// admit lets a call in, or returns a status.
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

// shownIn is what the caller of a gRPC method shows.
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

// bearer returns the token of an authorization, nil for none. More than one header is as good as a wrong one.
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

// Forbid is the status for who may not do what he asks for.
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

// ended is the error of a call: why it was ended, where that was the gate.
func ended(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrRevoked) || errors.Is(cause, ErrChanged) {
		return statusOf(cause)
	}
	return err
}

// audit writes the line of a call that is over.
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

// levelOf says how loud the end of a call is: clients that leave and clients that err are no news for the operator.
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
