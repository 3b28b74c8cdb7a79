// Package natsconn connects the programs of this repository to NATS. It handles URLs, credentials, errors
// without secrets, and escapes texts for subjects and headers.
package natsconn

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Credentials are flags for the identity of the connecting program. User and password come from the environment variables of the
// nats command, and from nowhere else.
type Credentials struct {
	NatsCreds string `help:"A file with the credentials for NATS, as nsc makes it. A user and a password are taken from NATS_USER and NATS_PASSWORD." type:"existingfile" env:"NATS_CREDS" placeholder:"FILE"`
	NatsCA    string `help:"Trust these certificate authorities for NATS." type:"existingfile" name:"nats-ca" env:"NATS_CA" placeholder:"FILE"`
	NatsCert  string `help:"The client certificate for NATS." type:"existingfile" env:"NATS_CERT" placeholder:"FILE"`
	NatsKey   string `help:"The key of the client certificate." type:"existingfile" env:"NATS_KEY" placeholder:"FILE"`
}

// Check rejects a certificate without its key, and a key without its certificate.
func (c *Credentials) Check() error {
	if (c.NatsCert == "") != (c.NatsKey == "") {
		return errors.New("--nats-cert and --nats-key must be used together")
	}
	return nil
}

// ErrURL means that a server's URL is invalid. It does not repeat the URL.
var ErrURL = errors.New("want nats://HOST:PORT or tls://HOST:PORT, without a user or a password: these are taken from NATS_CREDS, or NATS_USER and NATS_PASSWORD")

// CheckServers returns ErrURL unless a text is a list of URLs of servers, comma-separated, without credentials.
func CheckServers(list string) error {
	for server := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" ||
			u.Fragment != "" || strings.ContainsAny(server, "@?#") {
			return ErrURL
		}
	}
	return nil
}

// Is reports whether a text looks like the URL of a Place.
func Is(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (strings.EqualFold(scheme, "nats") || strings.EqualFold(scheme, "tls"))
}

// Place is a stream on NATS servers.
type Place struct {
	// Servers are the URLs of the servers, comma-separated.
	Servers string
	// Stream is the name of the stream. Empty if the URL has none.
	Stream string
	// Values are the parameters.
	Values url.Values
}

// Parse parses a URL of a stream: nats://HOST:PORT,HOST:PORT,.../STREAM?PARAMETER=VALUE&... Each parameter server adds a server,
// for lists in which a comma separates values; it is not among the Values. Errors do not repeat the URL, which may have secrets.
func Parse(text string) (Place, error) {
	if !Is(text) {
		return Place{}, ErrURL
	}
	scheme, rest, _ := strings.Cut(text, "://")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, stream, _ := strings.Cut(rest, "/")
	p := Place{Stream: stream}
	for host := range strings.SplitSeq(hosts, ",") {
		if p.Servers != "" {
			p.Servers += ","
		}
		p.Servers += strings.ToLower(scheme) + "://" + host
	}
	if err := CheckServers(p.Servers); err != nil {
		return Place{}, err
	}
	var err error
	if p.Values, err = url.ParseQuery(query); err != nil || strings.Contains(stream, "/") {
		return Place{}, errors.New("want nats://HOST:PORT/STREAM?PARAMETER=VALUE")
	}
	for _, host := range p.Values["server"] {
		p.Servers += "," + strings.ToLower(scheme) + "://" + host
	}
	p.Values.Del("server")
	return p, CheckServers(p.Servers)
}

// String returns the URL without its parameters.
func (p Place) String() string { return p.Servers + "/" + p.Stream }

// Connect connects to comma-separated servers. A broken connection is restored, however long that takes. The servers show name as
// the connection's name. The caller closes it.
func Connect(servers, name string, c Credentials, options ...nats.Option) (*nats.Conn, error) {
	options = append([]nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, time.Second), nats.Timeout(5 * time.Second), nats.PingInterval(20 * time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, options...)
	if user := os.Getenv("NATS_USER"); user != "" {
		options = append(options, nats.UserInfo(user, os.Getenv("NATS_PASSWORD")))
	}
	if c.NatsCreds != "" {
		options = append(options, nats.UserCredentials(c.NatsCreds))
	}
	if c.NatsCA != "" {
		options = append(options, nats.RootCAs(c.NatsCA))
	}
	if c.NatsCert != "" {
		options = append(options, nats.ClientCert(c.NatsCert, c.NatsKey))
	}
	return nats.Connect(servers, options...)
}

// Conflict reports whether a message was refused because its subject's last message is not the expected one. A replicated stream
// in which another message was on its way has its own code for that.
func Conflict(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Explain describes briefly why NATS cannot be used, for a log. It wraps unknown errors, which may contain names.
func Explain(err error) error {
	if known := reason(err); known != nil {
		return known
	}
	return fmt.Errorf("NATS: %w", err)
}

// Public describes why NATS cannot be used, for anybody: without names of servers, users, files or streams.
func Public(err error) error {
	if known := reason(err); known != nil {
		return known
	}
	return errors.New("NATS refuses a request; the log says more")
}

// reason returns an error without names for a frequent cause, and nil for others.
func reason(err error) error {
	_, network := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return errors.New("NATS refuses the credentials")
	case errors.Is(err, nats.ErrNoServers), network:
		return errors.New("NATS cannot be reached; replayd-nats is a server for one machine")
	case errors.Is(err, nats.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return errors.New("the NATS server has no JetStream")
	case errors.Is(err, ErrSilent):
		return ErrSilent
	}
	return nil
}
