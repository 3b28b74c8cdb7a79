package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/cmd/internal/agent"
)

type mcpCmd struct {
	Target

	HTTP         string `help:"Answer requests by HTTP at this address, instead of on the standard input. Each caller sends a token of the daemon." name:"http" placeholder:"HOST:PORT"`
	HTTPCert     string `help:"Serve --http over TLS with this certificate." type:"existingfile" name:"http-cert" placeholder:"FILE"`
	HTTPKey      string `help:"The key of that certificate." type:"existingfile" name:"http-key" placeholder:"FILE"`
	HTTPInsecure bool   `help:"Allow --http without TLS on an address that other machines can reach." name:"http-insecure"`

	Path string `arg:"" optional:"" help:"Without --addr: the directory whose replays are offered. Default: the current one."`
}

// Validate refuses a path beside a daemon.
func (c *mcpCmd) Validate() error {
	if c.Addr != "" && c.Path != "" {
		return fmt.Errorf("%s: --addr offers the replays of a daemon, not a directory of its own", c.Path)
	}
	return cmp.Or(c.validateHTTP(), c.Target.Validate())
}

// validateHTTP rejects an address that would give others what is not theirs.
func (c *mcpCmd) validateHTTP() error {
	switch {
	case (c.HTTPCert == "") != (c.HTTPKey == ""):
		return errors.New("--http-cert and --http-key must be used together")
	case c.HTTP == "" && (c.HTTPCert != "" || c.HTTPInsecure):
		return errors.New("--http-cert and --http-insecure need --http")
	case c.HTTP == "":
		return nil
	case c.Token != "":
		return errors.New("--http: each caller sends a token of its own, so leave out --token and $REPLAYD_TOKEN")
	}
	if _, _, err := net.SplitHostPort(c.HTTP); err != nil {
		return fmt.Errorf("--http %s: want HOST:PORT", c.HTTP)
	}
	switch local := isLocal(c.HTTP); {
	case !local && c.Addr == "":
		return fmt.Errorf("--http: %s can be reached from other machines, and a directory has no tokens: name a daemon with --addr", c.HTTP)
	case !local && c.HTTPCert == "" && !c.HTTPInsecure:
		return fmt.Errorf("--http: %s can be reached from other machines: use --http-cert and --http-key, or --http-insecure", c.HTTP)
	}
	return nil
}

// Run answers requests on the standard input until it ends, or by HTTP until ctx ends.
func (c *mcpCmd) Run(ctx context.Context, con Console) error {
	daemon, end, err := c.daemon(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	if c.HTTP != "" {
		return c.serve(ctx, con, agent.Handler(daemon, Version()))
	}
	err = agent.New(daemon, Version()).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(con.In), Writer: unclosed{con.Out}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil // whoever asked has left
	}
	return err
}

// serve answers requests by HTTP.
func (c *mcpCmd) serve(ctx context.Context, con Console, tools http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.HTTP)
	if err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	server := &http.Server{
		Handler: tools, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13},
	}
	scheme, serve := "http", func() error { return server.Serve(listener) }
	if c.HTTPCert != "" {
		scheme, serve = "https", func() error { return server.ServeTLS(listener, c.HTTPCert, c.HTTPKey) }
	}
	_, _ = fmt.Fprintf(con.Err, "replayd: assistants reach %s://%s\n", scheme, listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// daemon returns a client of the daemon, which may be one of the command's own, and a function that gives it back.
func (c *mcpCmd) daemon(ctx context.Context) (*client.Client, func() error, error) {
	if c.Addr != "" {
		daemon, err := c.Dial()
		if err != nil {
			return nil, nil, err
		}
		return daemon, daemon.Close, nil
	}
	if os.Getenv("REPLAYD") == "" { // this program is the daemon, too
		self, err := os.Executable()
		if err != nil {
			return nil, nil, fmt.Errorf("finding this program: %w", err)
		}
		if err := os.Setenv("REPLAYD", self); err != nil {
			return nil, nil, err
		}
	}
	path := cmp.Or(c.Path, ".")
	if stat, err := os.Stat(path); err == nil && !stat.IsDir() { // its daemon would offer what is beside the file, too
		return nil, nil, fmt.Errorf("%s is a file: name its directory, whose replays are offered", path)
	}
	daemon, err := client.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return daemon.Client, daemon.Close, nil
}

// unclosed is a writer whose Close does nothing.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }
