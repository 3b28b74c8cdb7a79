package replayd_test

import (
	"net"
	"sync"
	"testing"
)

// newProxy passes connections on, and closes each after it has sent the client that many bytes.
func newProxy(t *testing.T, to string, after int64) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			wg.Go(func() { copyThen(out, in, 1<<40) })
			wg.Go(func() { copyThen(in, out, after) })
		}
	})
	return l.Addr().String()
}

func copyThen(dst, src net.Conn, limit int64) {
	defer dst.Close()
	defer src.Close()
	buf := make([]byte, 1000)
	for limit > 0 {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:min(int64(n), limit)]); err != nil {
				return
			}
			limit -= int64(n)
		}
		if err != nil {
			return
		}
	}
}

// mute is a proxy whose connections can stop passing bytes on without being closed.
type mute struct {
	addr string
	mu   sync.Mutex
	hush chan struct{} // of the present connections
}

func (m *mute) fall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.hush)
	m.hush = make(chan struct{})
}

func newMute(t *testing.T, to string) *mute {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{addr: l.Addr().String(), hush: make(chan struct{})}
	var wg sync.WaitGroup
	var conns []net.Conn
	t.Cleanup(func() {
		l.Close()
		for _, c := range conns {
			c.Close()
		}
		wg.Wait()
	})
	pass := func(dst, src net.Conn, hush <-chan struct{}) {
		defer dst.Close()
		buf := make([]byte, 4096)
		for {
			n, err := src.Read(buf)
			select {
			case <-hush:
				// The client's side stays open: the client does not see that the daemon's bytes are dropped.
				if err != nil {
					return
				}
				continue
			default:
			}
			if err != nil {
				return
			}
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	accept := func() bool {
		in, err := l.Accept()
		if err != nil {
			return false
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close()
			return true
		}
		conns = append(conns, in, out)
		m.mu.Lock()
		hush := m.hush
		m.mu.Unlock()
		wg.Go(func() { pass(out, in, hush) })
		wg.Go(func() { pass(in, out, hush) })
		return true
	}
	wg.Go(func() {
		for accept() {
		}
	})
	return m
}
