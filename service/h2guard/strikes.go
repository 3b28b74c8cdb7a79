package h2guard

import (
	"math"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// A client whose connection was closed can connect again at once and continue. So for a while new connections from its address
// wait before they are read, and may send fewer of the counted frames. The wait grows with the number of strikes. Other clients
// with the same address wait only when they connect again, and only for seconds. Open connections are not affected.
const (
	strikeFades = 10 * time.Second // the time in which one strike expires
	mostStrikes = 8
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
	afterStrike = 20     // bursts of connections are divided by it after a strike
	mostKnown   = 10_000 // addresses that are remembered
)

// strikes counts the closed connections of each address. The counts decrease with time. It is safe for concurrent use.
type strikes struct {
	mu    sync.Mutex
	of    map[string]*leak
	swept time.Time // when expired entries were last removed
}

// leak is a number that decreases with time.
type leak struct {
	n  float64
	at time.Time
}

func (l *leak) now(now time.Time) float64 {
	return max(l.n-max(now.Sub(l.at).Seconds(), 0)/strikeFades.Seconds(), 0) // setting the clock back adds nothing
}

// add records that a connection from an address was closed.
func (s *strikes) add(key string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.of[key]
	if l == nil {
		if len(s.of) >= mostKnown && now.Sub(s.swept) > time.Second {
			s.swept = now
			for k, l := range s.of {
				if l.now(now) == 0 {
					delete(s.of, k)
				}
			}
		}
		if len(s.of) >= mostKnown {
			return
		}
		l = &leak{}
		s.of[key] = l
	}
	l.n, l.at = min(l.now(now)+1, mostStrikes), now
}

// count returns how many strikes an address has, rounded up.
func (s *strikes) count(key string, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.of[key]
	if l == nil {
		return 0
	}
	n := l.now(now)
	if n == 0 {
		delete(s.of, key)
	}
	return int(math.Ceil(n))
}

// common counts the small DATA frames of all connections of an address. An upload of single bytes sends thousands of them at once, which
// is no abuse, but a client could send as many on each of many connections, one after another. So a new connection may send fewer after
// earlier ones have sent many, but spared at least. Open connections are not affected. It is safe for concurrent use.
type common struct {
	mu sync.Mutex
	level
}

const spared = 2000

func (c *common) add(second float64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.level.add(second, now)
}

func (c *common) now(second float64, now time.Time) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level.now(second, now)
}

// commons holds what is common to the connections of each address. It is safe for concurrent use.
type commons struct {
	mu    sync.Mutex
	of    map[string]*common
	swept time.Time // when those that are empty were last removed
}

// bucket returns the bucket of a new connection for small DATA frames. If there are too many addresses, the connection is on its own.
func (s *commons) bucket(key string, share float64, now time.Time) *bucket {
	r := rates[TinyData]
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of[key]
	if c == nil && len(s.of) >= mostKnown && now.Sub(s.swept) > time.Second {
		s.swept = now
		for k, other := range s.of { // connections that are open count on with what was removed, for nobody
			if other.now(r.second, now) == 0 {
				delete(s.of, k)
			}
		}
	}
	if c == nil && len(s.of) < mostKnown {
		c = &common{level: level{at: now}}
		s.of[key] = c
	}
	b := &bucket{level: level{at: now}, common: c}
	if c != nil {
		b.full = min(c.now(r.second, now), (r.burst-spared)/share)
	}
	return b
}

// wait returns how long a new connection waits.
func wait(strikes int) time.Duration {
	if strikes == 0 {
		return 0
	}
	return min(firstWait<<(strikes-1), longestWait)
}

// keyOf returns the key under which the strikes of an address are counted. For an IPv6 address it is the network of the first
// 64 bits, because a client usually has that whole network. All local sockets share one key.
func keyOf(peer net.Addr) (key string, addr netip.Addr) {
	ap, err := netip.ParseAddrPort(peer.String())
	if err != nil {
		return peer.Network(), addr
	}
	addr = ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String(), addr
		}
	}
	return addr.String(), addr
}

// strikesOf returns how many strikes an address has, and strike adds one. It returns 0 for exempt addresses.
func (g *Guard) strikesOf(peer net.Addr) int {
	key, addr := keyOf(peer)
	if g.exempt != nil && g.exempt(addr) {
		return 0
	}
	return g.strikes.count(key, time.Now())
}

func (g *Guard) strike(peer net.Addr) {
	key, _ := keyOf(peer)
	g.strikes.add(key, time.Now())
}

// Slow returns a listener that delays connections from addresses with strikes. Use it below TLS, so that the delay comes before
// the handshake.
func (g *Guard) Slow(l net.Listener) net.Listener { return &slowListener{l, g} }

type slowListener struct {
	net.Listener

	guard *Guard
}

// Accept implements net.Listener. It does not wait itself: the first Read of the connection does.
func (l *slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if d := wait(l.guard.strikesOf(conn.RemoteAddr())); d > 0 {
		return &slow{Conn: conn, until: time.Now().Add(d), closed: make(chan struct{})}, nil
	}
	return conn, nil
}

// slow is a connection that is not read before the time until.
type slow struct {
	net.Conn

	until  time.Time
	once   sync.Once
	closed chan struct{}
}

// Read implements net.Conn.
func (s *slow) Read(p []byte) (int, error) {
	if d := time.Until(s.until); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.closed:
		}
	}
	return s.Conn.Read(p)
}

// Close implements net.Conn.
func (s *slow) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}

// SyscallConn implements syscall.Conn, so that socket options can be set.
func (s *slow) SyscallConn() (syscall.RawConn, error) {
	if c, ok := s.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, syscall.EINVAL
}
