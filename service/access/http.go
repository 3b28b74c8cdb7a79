package access

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Handler returns the gate for HTTP paths that are no API methods: metrics and debugging. It answers 401 without a valid
// credential, and 403 without the power p.
func (g *Gate) Handler(p Power, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		var s Shown
		s.Token = bearer(r.Header.Values("Authorization"))
		if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
			s.Certificate = r.TLS.PeerCertificates[0]
		}
		grant, err := g.Admit(s)
		if err == nil {
			err = g.Demand(grant, p)
		}
		code := http.StatusOK
		switch {
		case errors.Is(err, ErrUnauthenticated):
			code = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", "Bearer")
		case err != nil:
			code = http.StatusForbidden
		}
		if err != nil {
			http.Error(w, err.Error(), code)
		} else {
			next.ServeHTTP(w, r)
		}
		who := ""
		if grant != nil {
			who = grant.Name
		}
		level := slog.LevelDebug // metrics are scraped every few seconds
		if err != nil || p == Debug {
			level = slog.LevelInfo
		}
		g.Log.LogAttrs(r.Context(), level, "call",
			slog.String("who", who), slog.String("address", g.Address(remote(r), r.Header.Values("X-Forwarded-For"))),
			slog.String("method", r.URL.Path), slog.Int("code", code), slog.Duration("took", time.Since(began).Round(time.Microsecond)))
	})
}

// remote returns the address of the client.
func remote(r *http.Request) net.Addr { return textAddr(r.RemoteAddr) }

type textAddr string

func (a textAddr) Network() string {
	if strings.Contains(string(a), ":") {
		return "tcp"
	}
	return "unix"
}

func (a textAddr) String() string { return string(a) }

// GuardHost returns a handler that refuses requests for other host names with 421. This prevents DNS rebinding: any web page
// could resolve its own name to an address of this machine, and make the browser send requests here. local means that only this
// machine can reach the listener.
func (g *Gate) GuardHost(local bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !HostAllowed(r.Host, local, g.Hosts) {
			g.denied.WithLabelValues(deniedHost).Inc()
			http.Error(w, "this host is not served here; see --host", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// HostAllowed reports whether a request for a host, with or without a port, is answered. A local listener, which only this
// machine can reach, answers for localhost, loopback addresses and the listed names. Any other listener answers for the listed
// names and all IP addresses. If no names are listed, it answers for every host.
func HostAllowed(host string, local bool, listed []string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if slices.ContainsFunc(listed, func(l string) bool { return strings.EqualFold(l, host) }) {
		return true
	}
	ip := net.ParseIP(host)
	if local {
		return host == "localhost" || ip != nil && ip.IsLoopback()
	}
	return len(listed) == 0 || ip != nil
}
