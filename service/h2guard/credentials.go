package h2guard

import (
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Guard guards the connections of a daemon.
type Guard struct {
	log     *slog.Logger
	closed  *prometheus.CounterVec
	exempt  func(netip.Addr) bool
	strikes strikes
	tiny    commons
}

// NewGuard returns a guard that logs the connections that it closes. Unless reg is nil, it also counts them for Prometheus.
// New connections from the address of a closed one are slowed down, unless exempt reports true for the address. Exempt the
// addresses of proxies, because they have many clients. exempt may be nil.
func NewGuard(log *slog.Logger, reg prometheus.Registerer, exempt func(netip.Addr) bool) *Guard {
	g := &Guard{log: log, exempt: exempt, closed: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "replayd", Name: "abused_connections_total", Help: "Connections that were closed because they were abused, by of what there was too much.",
	}, []string{"abuse"})}
	for sort := range rates {
		g.closed.WithLabelValues(string(sort))
	}
	if reg != nil {
		reg.MustRegister(g.closed)
	}
	return g
}

// Conn returns a guarded conn.
func (g *Guard) Conn(conn net.Conn) *Conn {
	share := 1
	if g.strikesOf(conn.RemoteAddr()) > 0 {
		share = afterStrike
	}
	c := newConn(conn, share, func(sort Abuse) {
		g.strike(conn.RemoteAddr())
		g.closed.WithLabelValues(string(sort)).Inc()
		g.log.Warn("a connection was closed: it is abused", "abuse", string(sort), "address", conn.RemoteAddr().String())
	})
	if key, addr := keyOf(conn.RemoteAddr()); g.exempt == nil || !g.exempt(addr) {
		c.full[TinyData] = g.tiny.bucket(key, c.share, time.Now())
	}
	return c
}

// Credentials returns credentials of a gRPC server that guard each connection after the handshake of inner. A nil inner means no
// TLS. The first message of a call may have MaxRequest bytes. The server must refuse messages of 15 MiB.
func (g *Guard) Credentials(inner credentials.TransportCredentials) credentials.TransportCredentials {
	if inner == nil {
		inner = insecure.NewCredentials()
	}
	return guarded{inner, g}
}

type guarded struct {
	credentials.TransportCredentials

	guard *Guard
}

// ServerHandshake implements credentials.TransportCredentials.
func (g guarded) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := g.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return nil, nil, err
	}
	guarded := g.guard.Conn(conn)
	guarded.starts = newStarts()
	return guarded, info, nil
}

// Clone implements credentials.TransportCredentials.
func (g guarded) Clone() credentials.TransportCredentials {
	return guarded{g.TransportCredentials.Clone(), g.guard}
}

// Listen returns a listener that guards the connections of l, which has no TLS.
func (g *Guard) Listen(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener

	guard *Guard
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.guard.Conn(conn), nil
}
