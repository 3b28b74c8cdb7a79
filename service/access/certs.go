package access

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Certificates holds the TLS certificates of a daemon. Reload reads their files again. It is safe for concurrent use.
type Certificates struct {
	cert, key, clients string

	mu    sync.Mutex
	views []*view
}

// view holds the TLS settings of one listener.
type view struct {
	protocols []string
	config    atomic.Pointer[tls.Config]
}

// NewCertificates reads a certificate and its key. If clients is not empty, it names a file of CA certificates, and each client
// must present a certificate that one of these CAs signed.
func NewCertificates(cert, key, clients string) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, clients: clients}
	_, err := c.load()
	return c, err
}

// load returns settings made from the current files.
func (c *Certificates) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	if c.clients != "" {
		if config.ClientCAs, err = ReadPool(c.clients); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// ReadPool reads the PEM certificates of a file.
func ReadPool(file string) (*x509.CertPool, error) {
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

// Config returns the TLS settings of a listener for the protocols. Connections accepted after Reload use the new files. Older
// TLS sessions cannot be resumed then, because their ticket keys are gone.
func (c *Certificates) Config(protocols ...string) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &view{protocols: protocols}
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	v.use(config)
	c.views = append(c.views, v)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return v.config.Load(), nil },
	}, nil
}

// use makes new connections use config.
func (v *view) use(config *tls.Config) {
	config = config.Clone() // each listener has its own keys for session tickets
	config.NextProtos = v.protocols
	v.config.Store(config)
}

// Reload reads the files again. On an error it changes nothing.
func (c *Certificates) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	config, err := c.load()
	if err != nil {
		return err
	}
	for _, v := range c.views {
		v.use(config)
	}
	return nil
}
