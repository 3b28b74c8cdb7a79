package command

import (
	"crypto/tls"
	"errors"

	client "github.com/replayd/replayd/clients/go"
	"github.com/replayd/replayd/service/access"
)

// Target holds the flags of the daemon that a command calls, if any.
type Target struct {
	Addr  string `help:"Use the daemon at this address instead of local files. Default port: 7171." placeholder:"HOST[:PORT]"`
	TLS   bool   `help:"Connect to the daemon over TLS." name:"tls"`
	Token string `help:"The bearer token for the daemon." placeholder:"TOKEN"`

	CAFile     string `help:"Connect over TLS and trust these certificate authorities. Default: those of the system." type:"existingfile" name:"ca-file" placeholder:"FILE"`
	ClientCert string `help:"Connect over TLS with this client certificate." type:"existingfile" placeholder:"FILE"`
	ClientKey  string `help:"The key of the client certificate." type:"existingfile" placeholder:"FILE"`
}

// Validate rejects a client certificate without its key, and a key without its certificate.
func (t *Target) Validate() error {
	if (t.ClientCert == "") != (t.ClientKey == "") {
		return errors.New("--client-cert and --client-key must be used together")
	}
	return nil
}

// secure reports whether to connect over TLS.
func (t *Target) secure() bool { return t.TLS || t.CAFile != "" || t.ClientCert != "" }

// tls returns the TLS configuration, or nil without TLS.
func (t *Target) tls() (*tls.Config, error) {
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

// Dial returns a client of the daemon. The caller closes it.
func (t *Target) Dial(more ...client.Option) (*client.Client, error) {
	config, err := t.tls()
	if err != nil {
		return nil, err
	}
	options := []client.Option{client.WithInsecure(), client.WithToken(t.Token)}
	if config != nil {
		options[0] = client.WithTLS(config)
	}
	return client.Dial(withPort(t.Addr), append(options, more...)...)
}

// ask calls f with a client of the daemon.
func (t *Target) ask(f func(*client.Client) error) error {
	c, err := t.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return t.Explain(f(c))
}
