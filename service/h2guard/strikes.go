package h2guard

import (
	"maps"
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
	mostKnown   = 10_000 // the most addresses that are remembered
)

// addresses holds a value for each of at most mostKnown addresses. The zero value is empty.
type addresses[T any] struct {
	of    map[string]T
	swept time.Time // when values that are gone were last removed
}

// get returns the value of an address, or the result of fresh. It returns false if the address is new and there are too many.
// gone reports whether a value is no longer of use.
func (a *addresses[T]) get(key string, now time.Time, gone func(T) bool, fresh func() T) (T, bool) {
	if known, ok := a.of[key]; ok {
		return known, true
	}
	if len(a.of) >= mostKnown && now.Sub(a.swept) > time.Second {
		a.swept = now
		maps.DeleteFunc(a.of, func(_ string, other T) bool { return gone(other) })
	}
	made := fresh()
	if len(a.of) >= mostKnown {
		return made, false
	}
	if a.of == nil {
		a.of = map[string]T{}
	}
	a.of[key] = made
	return made, true
}

// strikes counts the closed connections of each address. The counts decrease with time. It is safe for concurrent use.
type strikes struct {
	mu sync.Mutex

	addresses[*level]
}

// fading is how many strikes expire in a second.
const fading = float64(time.Second) / float64(strikeFades)

// add records that a connection from an address was closed.
func (s *strikes) add(key string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := func(l *level) bool { return l.now(fading, now) == 0 }
	if l, ok := s.get(key, now, gone, func() *level { return &level{at: now} }); ok {
		l.add(fading, now)
		l.full = min(l.full, mostStrikes)
	}
}

// count returns how many strikes an address has, rounded up.
func (s *strikes) count(key string, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.of[key]
	if l == nil {
		return 0
	}
	n := l.now(fading, now)
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

// commons holds the common counts of the connections of each address. It is safe for concurrent use.
type commons struct {
	mu sync.Mutex

	addresses[*common]
}

// bucket returns the bucket of a new connection for small DATA frames. If there are too many addresses, the bucket has no common
// count. Open connections go on with a count that was removed, without effect on others.
func (s *commons) bucket(key string, share float64, now time.Time) *bucket {
	r := rates[TinyData]
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := func(c *common) bool { return c.now(r.second, now) == 0 }
	c, ok := s.get(key, now, gone, func() *common { return &common{level: level{at: now}} })
	if !ok {
		return &bucket{level: level{at: now}}
	}
	return &bucket{level: level{full: min(c.now(r.second, now), (r.burst-spared)/share), at: now}, common: c}
}

// wait returns how long a new connection waits.
func wait(strikes int) time.Duration {
	if strikes == 0 {
		return 0
	}
	return min(firstWait<<(strikes-1), longestWait)
}

// keyOf returns the key of an address for counting strikes. For an IPv6 address it is the network of the first 64 bits, because a
// client usually has that whole network. All local sockets share one key.
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
