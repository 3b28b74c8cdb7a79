package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
)

// target is the daemon that a command talks to, if any.
type target struct {
	Addr  string `help:"Ask the daemon at this address instead of reading files here. The port is 7171 where none is given." placeholder:"HOST[:PORT]"`
	TLS   bool   `help:"Talk to the daemon by TLS." name:"tls"`
	Token string `help:"The bearer token that the daemon demands." placeholder:"TOKEN"`

	CAFile     string `help:"By TLS, with a daemon whose certificate is signed by one of these. Default: those that the system trusts." type:"existingfile" name:"ca-file" placeholder:"FILE"`
	ClientCert string `help:"By TLS, with this certificate of the client." type:"existingfile" placeholder:"FILE"`
	ClientKey  string `help:"That certificate's key." type:"existingfile" placeholder:"FILE"`
}

// Validate tells whether the flags go together.
func (t *target) Validate() error {
	if (t.ClientCert == "") != (t.ClientKey == "") {
		return errors.New("--client-cert and --client-key go together")
	}
	return nil
}

// secure reports whether the daemon is talked to by TLS.
func (t *target) secure() bool { return t.TLS || t.CAFile != "" || t.ClientCert != "" }

// tls returns the settings for TLS, or nil without it.
func (t *target) tls() (*tls.Config, error) {
	if !t.secure() {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	var err error
	if t.CAFile != "" {
		if config.RootCAs, err = access.ReadPool(t.CAFile); err != nil {
			return nil, err
		}
	}
	if t.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(t.ClientCert, t.ClientKey)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// After so much silence a connection is asked whether it is alive, and after so much more taken for dead. The daemon
// allows 10 s and more.
const (
	keepaliveTime    = 12 * time.Second
	keepaliveTimeout = 8 * time.Second
)

// dial connects to the daemon. The caller closes the connection.
func (t *target) dial() (*grpc.ClientConn, replaydv1.ReplayServiceClient, error) {
	creds := insecure.NewCredentials()
	config, err := t.tls()
	if err != nil {
		return nil, nil, err
	}
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	}
	if t.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer{t.Token, config != nil}))
	}
	conn, err := grpc.NewClient(withPort(t.Addr), options...)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.Addr, err)
	}
	return conn, replaydv1.NewReplayServiceClient(conn), nil
}

// ask calls f with a client of the daemon.
func (t *target) ask(ctx context.Context, f func(context.Context, replaydv1.ReplayServiceClient) error) error {
	conn, client, err := t.dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return t.explain(f(ctx, client))
}

// bearer sends a token with every call. Without TLS anybody on the way can read it: that is between the user and the
// network.
type bearer struct {
	token string
	tls   bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return b.tls }
