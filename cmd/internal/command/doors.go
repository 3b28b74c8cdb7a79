package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/replayd/replayd/internal/hostos"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/h2guard"
)

// doors holds the listeners of a daemon. A listener that is not configured is nil.
type doors struct {
	grpc                net.Listener // without TLS; gRPC adds TLS itself, from creds
	web, metrics, debug net.Listener
	broadcast           net.Listener
	certs               *access.Certificates // nil without TLS
	creds               []grpc.ServerOption
}

// Prefixes of addresses that are not HOST:PORT.
const (
	unixPrefix    = "unix:"
	systemdPrefix = "systemd:"
)

// The default address for browsers, and the value of --web-listen that disables it.
const (
	defaultWeb = "127.0.0.1:7170"
	nowhere    = "none"
)

// CheckListen returns an error for an invalid address to listen on.
func CheckListen(listen string) error {
	path, unix := strings.CutPrefix(listen, unixPrefix)
	name, passed := strings.CutPrefix(listen, systemdPrefix)
	switch {
	case listen == "", unix && path != "", passed && name != "":
		return nil
	case unix:
		return errors.New("the path of the socket is missing")
	case passed:
		return errors.New("the name of the socket, its FileDescriptorName, is missing")
	}
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return errors.New("want HOST:PORT, or :PORT for all addresses, or unix:PATH, or systemd:NAME")
	}
	return nil
}

// doors opens all listeners. If one fails, it closes the others and returns the error.
func (c *serveCmd) doors(log *slog.Logger, connections *admission.Connections, guard *h2guard.Guard) (_ *doors, err error) {
	d := &doors{}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.certs, err = c.Security.certificates(); err != nil {
		return nil, err
	}
	passed := sync.OnceValues(activation.ListenersWithNames)
	for _, l := range []struct {
		to        *net.Listener
		flag      string
		addr      string
		protocols []string
	}{
		{&d.grpc, "listen", c.Listen, nil},
		{&d.web, "web-listen", cmp.Or(c.WebListen, defaultWeb), []string{"h2", "http/1.1"}},
		{&d.metrics, "metrics-listen", c.MetricsListen, []string{"http/1.1"}},
		{&d.debug, "debug-listen", c.DebugListen, []string{"http/1.1"}},
		{&d.broadcast, "broadcast-listen", c.Broadcasts.BroadcastListen, []string{"http/1.1"}},
	} {
		if l.addr == "" || l.addr == nowhere {
			continue
		}
		*l.to, err = open(l.addr, passed)
		switch {
		case err != nil && l.to == &d.web && c.WebListen == "": // the default address is optional
			log.Warn("the page is not served; use --web-listen to set another address", "address", l.addr, "error", err)
			continue
		case err != nil:
			return nil, fmt.Errorf("--%s: %w", l.flag, err)
		}
		if err := c.Security.checkOpen(*l.to); err != nil {
			return nil, err
		}
		*l.to = guard.Slow(connections.Listen(*l.to))
		if l.protocols == nil {
			continue
		}
		if d.certs != nil {
			config, err := d.certs.Config(l.protocols...)
			if err != nil {
				return nil, err
			}
			*l.to = tls.NewListener(*l.to, config)
		}
		*l.to = guard.Listen(*l.to)
	}
	var creds credentials.TransportCredentials
	if d.certs != nil {
		config, err := d.certs.Config("h2")
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(config)
	}
	d.creds = append(d.creds, grpc.Creds(guard.Credentials(creds)))
	return d, nil
}

// open opens a listener. passed returns the sockets that systemd passed to the process.
func open(addr string, passed func() (map[string][]net.Listener, error)) (net.Listener, error) {
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		return openUnix(path)
	}
	name, ok := strings.CutPrefix(addr, systemdPrefix)
	if !ok {
		return net.Listen("tcp", addr)
	}
	sockets, err := passed()
	if err != nil {
		return nil, err
	}
	if len(sockets[name]) != 1 || sockets[name][0] == nil {
		return nil, fmt.Errorf("systemd has passed %d listening sockets of the name %q, want 1", len(sockets[name]), name)
	}
	return sockets[name][0], nil
}

// socketMode lets the daemon's user and group connect to a Unix socket.
const socketMode = 0o660

// openUnix listens on a Unix socket. It replaces a stale socket file that no process listens on.
func openUnix(path string) (l net.Listener, err error) {
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s is in use by another process", path)
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path)
	}
	// The socket must have the right mode from its creation. With Chmod, another user could connect before the mode changes.
	hostos.WithMode(socketMode, func() { l, err = net.Listen("unix", path) })
	return l, err
}

func (d *doors) options() []grpc.ServerOption { return d.creds }

// page returns the URL of the page for a browser on this machine. It is empty if the page is not served on TCP.
func (d *doors) page() string {
	if d.web == nil {
		return ""
	}
	host, port, err := net.SplitHostPort(d.web.Addr().String())
	if err != nil {
		return "" // a Unix socket
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if d.certs != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// close closes all listeners. It may be called after the servers have closed them.
func (d *doors) close() {
	for _, l := range []net.Listener{d.grpc, d.web, d.metrics, d.debug, d.broadcast} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// serve serves HTTP on l until stop is called. what describes the content in the log.
func (*doors) serve(l net.Listener, h http.Handler, what string, log *slog.Logger) (stop func()) {
	server := &http.Server{
		Handler: h2guard.KnowTLS(h), ConnContext: h2guard.KeepConn, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error(what+" are no longer served", "error", err)
		}
	}()
	log.Info("serving "+what, "address", l.Addr().String())
	return func() { _ = server.Close(); <-done }
}

// metricsOf returns a handler of metrics.
func metricsOf(metrics *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{Registry: metrics}))
	return mux
}

// profiles returns a handler for the Go runtime's profiles.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// reload reads each file again when it changes, and all of them on each signal from again, until stop is called.
func reload(ctx context.Context, log *slog.Logger, again <-chan os.Signal, list []access.Reloadable) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		access.ReloadOnChange(ctx, log, again, list)
	}()
	return func() { cancel(); <-done }
}
