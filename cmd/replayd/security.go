package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// security is who may talk to the daemon, and how.
type security struct {
	TLSCert   string `help:"Serve by TLS with this certificate." type:"existingfile" name:"tls-cert" placeholder:"FILE" group:"Security"`
	TLSKey    string `help:"The certificate's key." type:"existingfile" name:"tls-key" placeholder:"FILE" group:"Security"`
	ClientCA  string `help:"Demand client certificates that are signed by one of these." type:"existingfile" name:"client-ca" placeholder:"FILE" group:"Security"`
	TokenFile string `help:"Demand a bearer token: one of this file's lines." type:"existingfile" placeholder:"FILE" group:"Security"`
	Insecure  bool   `help:"Allow to listen without TLS on addresses that others can reach." group:"Security"`
}

// check tells whether the flags go together, with these addresses to listen on.
func (s *security) check(listen ...string) error {
	switch {
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case s.ClientCA != "" && s.TLSCert == "":
		return errors.New("--client-ca needs --tls-cert")
	}
	for _, l := range listen {
		if l != "" && s.TLSCert == "" && !s.Insecure && !isLoopback(l) {
			return fmt.Errorf("%s can be reached by others: use --tls-cert and --tls-key, or --insecure if that is meant", l)
		}
	}
	return nil
}

// options returns what the gRPC server needs for it.
func (s *security) options() ([]grpc.ServerOption, error) {
	var options []grpc.ServerOption
	config, err := s.tls()
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	if s.TokenFile != "" {
		check, err := tokenCheck(s.TokenFile)
		if err != nil {
			return nil, err
		}
		options = append(options,
			grpc.ChainUnaryInterceptor(auth.UnaryServerInterceptor(check)),
			grpc.ChainStreamInterceptor(auth.StreamServerInterceptor(check)))
	}
	return options, nil
}

func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// tls returns the settings for TLS, or nil without it.
func (s *security) tls() (*tls.Config, error) {
	if s.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	if s.ClientCA != "" {
		if config.ClientCAs, err = certificates(s.ClientCA); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// certificates reads the certificates of a file.
func certificates(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}

// tokenCheck demands a token of the file for every call, health and reflection included. Tokens are compared by their
// hashes, so that the time that it takes tells nothing.
func tokenCheck(file string) (auth.AuthFunc, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var known [][sha256.Size]byte
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		token := strings.TrimSpace(line)
		switch {
		case token == "", strings.HasPrefix(token, "#"):
		case !isToken(token):
			return nil, usageError{fmt.Errorf(
				"%s, line %d: a token is printable ASCII without white space; a comment has a line of its own", file, number)}
		default:
			known = append(known, sha256.Sum256([]byte(token)))
		}
	}
	if len(known) == 0 {
		return nil, usageError{fmt.Errorf("%s holds no token", file)}
	}
	return func(ctx context.Context) (context.Context, error) {
		token, err := auth.AuthFromMD(ctx, "bearer")
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256([]byte(token))
		match := 0
		for i := range known {
			match |= subtle.ConstantTimeCompare(sum[:], known[i][:])
		}
		if match == 0 {
			return nil, status.Error(codes.Unauthenticated, "unknown token")
		}
		return ctx, nil
	}, nil
}

// isToken tells whether a text can be sent as a token: white space would end it, and headers are ASCII.
func isToken(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
