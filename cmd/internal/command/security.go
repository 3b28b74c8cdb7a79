package command

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/service/access"
)

// security holds the flags that control who may connect to the daemon, and how.
type security struct {
	TLSCert   string `help:"Serve over TLS with this certificate." type:"existingfile" name:"tls-cert" placeholder:"FILE" group:"Security"`
	TLSKey    string `help:"The certificate's key." type:"existingfile" name:"tls-key" placeholder:"FILE" group:"Security"`
	ClientCA  string `help:"Require client certificates signed by one of the certificate authorities in this file." type:"existingfile" name:"client-ca" placeholder:"FILE" group:"Security"`
	TokenFile string `help:"Require a bearer token from this file, which has one token per line. The file is read again when it changes." type:"existingfile" placeholder:"FILE" group:"Security"`

	TrustedProxy []string `help:"A network of proxies whose X-Forwarded-For is trusted, or unix. Repeatable." placeholder:"CIDR" group:"Security"`
	Host         []string `help:"A host name that browsers may use for this daemon. Repeatable. Default: localhost on loopback addresses, any name on others." placeholder:"NAME" group:"Security"`
	Insecure     bool     `help:"Allow listening without TLS on addresses that other machines can reach." group:"Security"`
}

// check returns an error for flags that are missing or that do not permit listening on these addresses.
func (s *security) check(listen ...string) error {
	var errs []error
	switch {
	case (s.TLSCert == "") != (s.TLSKey == ""):
		errs = append(errs, errors.New("--tls-cert and --tls-key must be used together"))
	case s.ClientCA != "" && s.TLSCert == "":
		errs = append(errs, errors.New("--client-ca needs --tls-cert"))
	}
	for _, l := range listen {
		if l != "" && !strings.HasPrefix(l, systemdPrefix) { // checkOpen checks a passed socket, whose address is unknown here
			errs = append(errs, s.checkReach(l, isLocal(l)))
		}
	}
	return errors.Join(errs...)
}

// checkOpen returns an error if the flags do not permit listening on the address of an open listener.
func (s *security) checkOpen(l net.Listener) error {
	return s.checkReach(l.Addr().String(), servesLocally(l))
}

func (s *security) checkReach(addr string, local bool) error {
	if s.TLSCert == "" && !s.Insecure && !local {
		return fmt.Errorf("%s can be reached from other machines: use --tls-cert and --tls-key, or --insecure to serve without TLS", addr)
	}
	return nil
}

// isLocal reports whether only this machine can reach an address to listen on.
func isLocal(listen string) bool {
	if strings.HasPrefix(listen, unixPrefix) {
		return true
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// servesLocally reports whether only this machine can reach an open listener, also one that systemd has passed.
func servesLocally(l net.Listener) bool {
	return l.Addr().Network() == "unix" || isLocal(l.Addr().String())
}

// certificates reads the daemon's certificates. It returns nil without TLS.
func (s *security) certificates() (*access.Certificates, error) {
	if s.TLSCert == "" {
		return nil, nil
	}
	return access.NewCertificates(s.TLSCert, s.TLSKey, s.ClientCA)
}

// gate returns the gate that authenticates callers. together is passed to access.Options.
func (s *security) gate(together [][]string, log *slog.Logger, metrics prometheus.Registerer) (*access.Gate, error) {
	o := access.Options{TokenFile: s.TokenFile, Together: together, Hosts: s.Host, Log: log, Metrics: metrics}
	for _, text := range s.TrustedProxy {
		p, err := access.ParseProxy(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--trusted-proxy %s: want a network, such as 10.0.0.0/8, an address, or unix", text)}
		}
		o.Proxies = append(o.Proxies, p)
	}
	gate, err := access.NewGate(o)
	if err != nil {
		return nil, usageError{err}
	}
	return gate, nil
}

// reloadable returns the files that are read again when they change, and on SIGHUP.
func (s *security) reloadable(gate *access.Gate, certs *access.Certificates) (list []access.Reloadable) {
	if s.TokenFile != "" {
		list = append(list, access.Reloadable{
			What: "tokens", Files: []string{s.TokenFile}, Reload: gate.Reload, Look: func() { gate.Expire(time.Now()) },
		})
	}
	if certs != nil {
		files := []string{s.TLSCert, s.TLSKey}
		if s.ClientCA != "" {
			files = append(files, s.ClientCA)
		}
		list = append(list, access.Reloadable{What: "certificates", Files: files, Reload: certs.Reload})
	}
	return list
}

// warn logs each address that serves remote callers without authentication, which an operator may not intend. Listeners may be nil.
func (s *security) warn(log *slog.Logger, listeners ...net.Listener) {
	if s.TokenFile != "" || s.ClientCA != "" {
		return
	}
	for _, l := range listeners {
		if l == nil || servesLocally(l) {
			continue
		}
		log.Warn("this address serves all callers without authentication: --token-file or --client-ca restrict that", "address", l.Addr().String())
	}
}
