package admission

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Connections limits the number of open connections. It is safe for concurrent use.
type Connections struct {
	most, perAddress int
	exempt           func(netip.Addr) bool
	log              *slog.Logger

	mu      sync.Mutex
	open    int
	of      map[netip.Addr]int
	refused *prometheus.CounterVec
	failed  prometheus.Counter
}

// NewConnections returns a limit of most connections in total, and perAddress from one address; 0 means no limit. Connections
// from exempt addresses, such as proxies, count only towards the total. exempt may be nil.
func NewConnections(most, perAddress int, exempt func(netip.Addr) bool, log *slog.Logger) *Connections {
	return &Connections{
		most: most, perAddress: perAddress, exempt: exempt, log: log, of: map[netip.Addr]int{},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "replayd", Name: "refused_connections_total", Help: "Connections that were closed at once, by whose limit: all or address.",
		}, []string{"whose"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "replayd", Name: "failed_accepts_total", Help: "Connections that the system could not give, such as for want of descriptors.",
		}),
	}
}

// Register registers the metrics of the connections with Prometheus.
func (c *Connections) Register(reg prometheus.Registerer) {
	reg.MustRegister(c.refused, c.failed, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "replayd", Name: "connections", Help: "Connections that are open, of all listeners.",
	}, func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return float64(c.open)
	}))
}

// Listen returns a listener that limits the connections of l.
func (c *Connections) Listen(l net.Listener) net.Listener { return &limited{l, c} }

type limited struct {
	net.Listener

	limit *Connections
}

// Accept implements net.Listener. It closes connections beyond the limits. It logs an error when file descriptors run out.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
				l.limit.failed.Inc()
				l.limit.log.Error("no connection can be accepted for want of file descriptors: raise the limit (ulimit -n), or lower --max-connections",
					"address", l.Addr().String(), "error", err)
				time.Sleep(10 * time.Millisecond) // until some are closed
			}
			return nil, err
		}
		addr, whose := l.limit.admit(conn.RemoteAddr())
		if whose == "" {
			return &counted{Conn: conn, limit: l.limit, addr: addr}, nil
		}
		l.limit.refused.WithLabelValues(whose).Inc()
		l.limit.log.Warn("a connection was closed: there are too many", "whose", whose, "address", addr.String())
		_ = conn.Close()
	}
}

// admit counts a connection, or returns the limit that is reached: "all" or "address".
func (c *Connections) admit(peer net.Addr) (addr netip.Addr, refused string) {
	if ap, err := netip.ParseAddrPort(peer.String()); err == nil {
		addr = ap.Addr().Unmap()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	limited := addr.IsValid() && c.perAddress > 0 && (c.exempt == nil || !c.exempt(addr))
	switch {
	case c.most > 0 && c.open >= c.most:
		return addr, "all"
	case limited && c.of[addr] >= c.perAddress:
		return addr, "address"
	}
	c.open++
	c.of[addr]++
	return addr, ""
}

// counted is a connection that counts towards the limits until it is closed.
type counted struct {
	net.Conn

	limit  *Connections
	addr   netip.Addr
	closed atomic.Bool
}

// Close implements net.Conn.
func (c *counted) Close() error {
	if !c.closed.Swap(true) {
		l := c.limit
		l.mu.Lock()
		l.open--
		if l.of[c.addr]--; l.of[c.addr] == 0 {
			delete(l.of, c.addr)
		}
		l.mu.Unlock()
	}
	return c.Conn.Close()
}

// SyscallConn implements syscall.Conn, so that socket options can be set.
func (c *counted) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
