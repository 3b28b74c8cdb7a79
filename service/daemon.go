package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // for clients that ask for it, over slow networks
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/reflection"

	"github.com/replayd/replayd/proto/rawcodec"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	plainhttp "github.com/replayd/replayd/service/plain"
	"github.com/replayd/replayd/service/stream"
)

// Limits of the transport. Requests are small. Keepalive finds dead connections; heartbeats in the streams keep proxies from
// closing them as idle.
const (
	maxMessageBytes      = 1 << 20  // of an upload; h2guard.MaxRequest limits requests
	windowBytes          = 64 << 10 // the bytes that a client may send ahead of the handler, beyond the message that it reads
	connWindowBytes      = 1 << 20
	maxHeaderBytes       = 16 << 10
	readBufferBytes      = 1 << 10 // clients send little; larger messages are read past this buffer
	writeBufferBytes     = 8 << 10 // h2guard makes larger writes of those that fill it
	maxStreamsPerConn    = 256
	connectionTimeout    = 10 * time.Second
	keepaliveTime        = 45 * time.Second
	keepaliveTimeout     = 20 * time.Second
	minClientKeepalive   = 10 * time.Second
	defaultDrainDeadline = 10 * time.Second
)

// buffers holds the data of DATA frames, of 16 KiB at most, and messages. gRPC's own pool has fewer sizes, so that a client can
// make it keep four times what the client sends.
var buffers = mem.NewTieredBufferPool(256, 1<<10, 2<<10, 3<<10, 4<<10, 6<<10, 8<<10, 12<<10, 16<<10, 32<<10, 64<<10, 128<<10, 256<<10, 512<<10, 1<<20)

// Daemon is a gRPC server for a Server.
type Daemon struct {
	server  *Server
	grpc    *grpc.Server
	methods early
	health  *health.Server
	// abandoned is closed when handlers did not end in time. They then run until the process ends.
	abandoned chan struct{}
}

// NewDaemon makes a gRPC server with everything that surrounds the handlers. It registers metrics with reg unless that is nil. It
// adds options last, such as credentials.
func NewDaemon(s *Server, reg prometheus.Registerer, options ...grpc.ServerOption) *Daemon {
	metrics := grpcprom.NewServerMetrics()
	if reg != nil {
		reg.MustRegister(metrics)
		s.register(reg)
		s.Admission.Register(reg)
	}
	all := append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(rawcodec.New()),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.StaticStreamWindowSize(windowBytes),
		grpc.StaticConnWindowSize(connWindowBytes),
		experimental.BufferPool(buffers),
		grpc.ReadBufferSize(readBufferBytes),
		grpc.WriteBufferSize(writeBufferBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreamsPerConn),
		grpc.ConnectionTimeout(connectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: minClientKeepalive, PermitWithoutStream: true,
		}),
	}, options...)

	d := &Daemon{server: s, grpc: grpc.NewServer(all...), health: health.NewServer(), abandoned: make(chan struct{})}
	d.methods = early{Server: d.grpc, byName: map[string]func(grpc.ServerStream) error{}, interceptors: []grpc.StreamServerInterceptor{
		keepStream, measure(metrics), s.Gate.StreamInterceptor, s.detach, s.admit,
		s.recovered, // innermost, so that the others see the status into which it turns a panic
	}}
	replaydv1.RegisterReplayServiceServer(d.methods, s)
	flight.RegisterFlightServiceServer(d.methods, &flights{server: s})
	for _, f := range tableFormats {
		d.methods.local(plainhttp.TableMethod(string(f)), replaydv1.ReplayService_StreamEvents_FullMethodName, s, s.sendTable(f))
	}
	healthv1.RegisterHealthServer(d.methods, d.health)
	d.health.SetServingStatus(replaydv1.ReplayService_ServiceDesc.ServiceName, healthv1.HealthCheckResponse_SERVING)
	reflection.Register(d.methods)
	metrics.InitializeMetrics(d.grpc)
	return d
}

// recovered is the interceptor that turns a panic into a status.
func (s *Server) recovered(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return stream.Around(func() error { return handler(srv, ss) }, func(run func() error) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = internal(incident(ss.Context(), s.Log, "panic", fmt.Sprintf("%v\n%s", p, debug.Stack()), "")).GRPCStatus().Err()
			}
		}()
		return run()
	})
}

// Serve serves gRPC on l, and web on webListener unless web is nil, until ctx ends. Then it drains: streams end with a cursor and
// the reason, new ones are refused, and calls that still run at the deadline (default 10 s) are cut off. It waits for everything
// that it started, until half a second after the deadline at the latest, and returns nil.
func (d *Daemon) Serve(ctx context.Context, l net.Listener, web *Web, webListener net.Listener, deadline time.Duration) error {
	if deadline <= 0 {
		deadline = defaultDrainDeadline
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := d.grpc.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
	if web != nil {
		group.Go(func() error { return web.Serve(webListener) })
	}
	group.Go(func() error {
		<-ctx.Done() // also when one of the above fails
		d.stop(web, deadline)
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	select {
	case err := <-ended:
		return errors.Join(err, d.server.Close())
	case <-d.abandoned:
		d.server.abandon()
		return nil
	}
}

// stop drains until the deadline, and then cuts off the calls that are left.
func (d *Daemon) stop(web *Web, deadline time.Duration) {
	// After the calls are cut off, some more work takes time.
	ctx, cancel := context.WithTimeout(context.Background(), deadline-min(deadline/2, 10*handlerGrace))
	defer cancel()
	d.health.Shutdown()
	d.server.Drain()
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		if web != nil && web.Shutdown(ctx) != nil { // first: gRPC's server cannot drain calls that come through the web server
			return
		}
		d.grpc.GracefulStop()
		close(ended)
	}()
	select {
	case <-ended:
		if ctx.Err() == nil {
			return
		}
	case <-ctx.Done():
	}
	d.server.Log.Warn("some calls did not end in time and were cut off", "deadline", deadline)
	close(d.server.late) // ends calls without their handlers
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select { // time for the ends to reach the clients
		case <-ended:
		case <-time.After(2 * handlerGrace):
		}
		if web != nil {
			web.Close()
		}
		d.grpc.Stop()
		d.server.handlers.Wait()
		<-gone
	}()
	select {
	case <-stopped:
	case <-time.After(5 * handlerGrace):
		close(d.abandoned)
	}
}
