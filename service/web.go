package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	connectcors "connectrpc.com/cors"
	"connectrpc.com/vanguard/vanguardgrpc"
	"github.com/rs/cors"
)

// corsMaxAge is how long browsers may remember what they are allowed.
const corsMaxAge = 2 * time.Hour

// Web serves the same API by Connect and gRPC-Web, for browsers, which cannot speak gRPC.
type Web struct {
	server *http.Server
}

// NewWeb returns what serves the daemon's API to browsers. Pages of the listed origins, such as
// "https://example.org", may use it; "*" allows all, and none only pages that are served from its own address.
func (d *Daemon) NewWeb(origins []string) (*Web, error) {
	transcoder, err := vanguardgrpc.NewTranscoder(d.grpc)
	if err != nil {
		return nil, err
	}
	var handler http.Handler = transcoder
	if len(origins) > 0 {
		handler = cors.New(cors.Options{
			AllowedOrigins: origins,
			AllowedMethods: connectcors.AllowedMethods(),
			AllowedHeaders: append(connectcors.AllowedHeaders(), "Authorization"),
			ExposedHeaders: connectcors.ExposedHeaders(),
			MaxAge:         int(corsMaxAge / time.Second),
		}).Handler(handler)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &Web{&http.Server{
		Handler:           http.MaxBytesHandler(handler, maxRequestBytes),
		ReadHeaderTimeout: connectionTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         protocols,
	}}, nil
}

// Serve serves on the listener until Shutdown.
func (w *Web) Serve(l net.Listener) error {
	if err := w.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown refuses new calls and waits for those that run, as long as ctx allows; then it cuts them off.
func (w *Web) Shutdown(ctx context.Context) error {
	err := w.server.Shutdown(ctx)
	if err != nil {
		_ = w.server.Close()
	}
	return err
}
