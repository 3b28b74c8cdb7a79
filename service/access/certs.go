package access

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// Certificates are those of a daemon, which are read again when they change. It is safe for concurrent use.
type Certificates struct {
	cert, key, clients string

	mu    sync.Mutex
	views []*view
}

// view is the settings of one listener.
type view struct {
	protocols []string
	config    atomic.Pointer[tls.Config]
}

// NewCertificates reads a certificate and its key, and, where clients is not empty, the certificates of who signs those that
// clients must have then.
func NewCertificates(cert, key, clients string) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, clients: clients}
	_, err := c.load()
	return c, err
}

// load makes settings of the files as they are.
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

// ReadPool reads the certificates of a file.
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

// Config returns the settings of a listener for some protocols. Connections that are made after Reload use the new files.
// Sessions of before are not resumed then: the settings that they would be resumed with are gone.
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

// use has new connections use settings.
func (v *view) use(config *tls.Config) {
	config = config.Clone() // each listener has keys of its own for the tickets of sessions
	config.NextProtos = v.protocols
	v.config.Store(config)
}

// Reload reads the files again. On an error all stays as it was.
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
