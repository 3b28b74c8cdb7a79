package main

import (
	"crypto/tls"
	"errors"

	client "github.com/replayd/replayd/clients/go"
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

// dial returns a client of the daemon. The caller closes it.
func (t *target) dial(more ...client.Option) (*client.Client, error) {
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
func (t *target) ask(f func(*client.Client) error) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return t.explain(f(c))
}
