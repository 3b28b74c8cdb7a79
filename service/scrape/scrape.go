// Package scrape serves the metrics and the health of programs that are not daemons, under the rules of a daemon: an address that
// other machines can reach needs TLS, unless the operator says otherwise, and metrics need a token if there is a file of tokens.
package scrape

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/h2guard"
)

// Flags say where metrics are served, and to whom.
type Flags struct {
	Listen    string   `help:"The address to serve Prometheus metrics on, under /metrics, and health under /healthz: HOST:PORT or unix:PATH. Default: disabled." name:"metrics-listen" placeholder:"HOST:PORT" group:"Metrics"`
	TLSCert   string   `help:"Serve metrics over TLS with this certificate." type:"existingfile" name:"tls-cert" placeholder:"FILE" group:"Metrics"`
	TLSKey    string   `help:"The certificate's key." type:"existingfile" name:"tls-key" placeholder:"FILE" group:"Metrics"`
	ClientCA  string   `help:"Require client certificates signed by one of the certificate authorities in this file." type:"existingfile" name:"client-ca" placeholder:"FILE" group:"Metrics"`
	TokenFile string   `help:"Require a bearer token from this file for metrics, which has one token per line." type:"existingfile" placeholder:"FILE" group:"Metrics"`
	Insecure  bool     `help:"Allow serving metrics without TLS on addresses that other machines can reach." group:"Metrics"`
	Host      []string `help:"A host name by which metrics may be asked for. Repeatable. Default: localhost on loopback addresses, any name on others." placeholder:"NAME" group:"Metrics" name:"metrics-host"`
}

// Check rejects invalid flags, before anything is opened.
func (f *Flags) Check() error {
	switch {
	case (f.TLSCert == "") != (f.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key must be used together")
	case f.ClientCA != "" && f.TLSCert == "":
		return errors.New("--client-ca needs --tls-cert")
	case f.Listen == "":
		return nil
	}
	if path, unix := strings.CutPrefix(f.Listen, unixPrefix); unix {
		if path == "" {
			return errors.New("--metrics-listen: the path of the socket is missing")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(f.Listen)
	if err != nil {
		return errors.New("--metrics-listen: want HOST:PORT, or :PORT for all addresses, or unix:PATH")
	}
	if f.TLSCert == "" && !f.Insecure && !loopback(host) {
		return fmt.Errorf("--metrics-listen: %s can be reached from other machines: use --tls-cert and --tls-key, or --insecure to serve without TLS", f.Listen)
	}
	return nil
}

const unixPrefix = "unix:"

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Serve serves until stop is called: GET /metrics has what reg gathers, and GET /healthz answers 200 if health returns nil, and 503 with
// the text of its error otherwise, which must have no secrets: anybody who reaches the address may read it. health is called for each
// request. Without an address Serve does nothing.
func (f *Flags) Serve(ctx context.Context, reg *prometheus.Registry, health func(context.Context) error, log *slog.Logger) (stop func(), err error) {
	if f.Listen == "" {
		return func() {}, nil
	}
	gate, err := access.NewGate(access.Options{TokenFile: f.TokenFile, Hosts: f.Host, Log: log, Metrics: reg})
	if err != nil {
		return nil, err
	}
	reloads := []access.Reloadable{}
	if f.TokenFile != "" {
		reloads = append(reloads, access.Reloadable{
			What: "tokens", Files: []string{f.TokenFile}, Reload: gate.Reload, Look: func() { gate.Expire(time.Now()) },
		})
	}
	network, addr := "tcp", f.Listen
	if path, unix := strings.CutPrefix(addr, unixPrefix); unix {
		network, addr = "unix", path
	}
	var config *tls.Config
	if f.TLSCert != "" {
		certs, err := access.NewCertificates(f.TLSCert, f.TLSKey, f.ClientCA)
		if err == nil {
			config, err = certs.Config("http/1.1")
		}
		if err != nil {
			return nil, err
		}
		reloads = append(reloads, access.Reloadable{What: "certificates", Files: []string{f.TLSCert, f.TLSKey}, Reload: certs.Reload})
	}
	l, err := new(net.ListenConfig).Listen(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(l.Addr().String())
	local := network == "unix" || loopback(host)
	if config != nil {
		l = tls.NewListener(l, config)
	} else if !local && f.TokenFile == "" {
		log.WarnContext(ctx, "this address serves metrics to all callers: --token-file or --client-ca restrict that", "address", l.Addr().String())
	}
	server := &http.Server{
		Handler: h2guard.KnowTLS(gate.GuardHost(local, routes(gate, reg, health))), ConnContext: h2guard.KeepConn,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{}, 2)
	go func() {
		access.ReloadOnChange(ctx, log, make(chan os.Signal), reloads)
		done <- struct{}{}
	}()
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.ErrorContext(ctx, "metrics are no longer served", "error", err)
		}
		done <- struct{}{}
	}()
	log.InfoContext(ctx, "serving metrics", "address", l.Addr().String())
	return func() { cancel(); _ = server.Close(); <-done; <-done }, nil
}

// patience is how long a program may take to say how it is.
const patience = 3 * time.Second

func routes(gate *access.Gate, reg *prometheus.Registry, health func(context.Context) error) http.Handler {
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: reg}))
	mux := http.NewServeMux()
	mux.Handle("/", gate.Handler(access.Metrics, metrics))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		if err := health(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return mux
}
