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

// Handler is the gate before what is no method: metrics and debugging. Who may not come in gets 401 or 403.
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
		level := slog.LevelDebug // those who collect metrics come every few seconds
		if err != nil || p == Debug {
			level = slog.LevelInfo
		}
		g.Log.LogAttrs(r.Context(), level, "call",
			slog.String("who", who), slog.String("address", g.Address(remote(r), r.Header.Values("X-Forwarded-For"))),
			slog.String("method", r.URL.Path), slog.Int("code", code), slog.Duration("took", time.Since(began).Round(time.Microsecond)))
	})
}

// remote is the address of who asks.
func remote(r *http.Request) net.Addr { return textAddr(r.RemoteAddr) }

type textAddr string

func (a textAddr) Network() string {
	if strings.Contains(string(a), ":") {
		return "tcp"
	}
	return "unix"
}

func (a textAddr) String() string { return string(a) }

// GuardHost refuses requests for a host of another name with 421: a page of anybody could give its own name an address of
// this machine, and have the browser ask in its place. local says that only this machine can reach the listener.
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

// HostAllowed reports whether a request for a host, with or without a port, is answered: by a listener that only this machine
// can reach for localhost, its addresses and the listed names; by others for all, or, where names are listed, for these and
// for addresses.
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
