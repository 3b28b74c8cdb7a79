package replayd_test

import (
	"net"
	"sync"
	"testing"
)

// newProxy starts a proxy to another address. It closes each connection after it has sent the client a number of bytes.
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

// silentProxy is a proxy whose connections can stop forwarding bytes without being closed.
type silentProxy struct {
	addr   string
	mu     sync.Mutex
	silent chan struct{} // closed to silence the current connections
}

// silence makes the current connections drop all bytes. It does not affect later connections.
func (p *silentProxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.silent)
	p.silent = make(chan struct{})
}

func newSilentProxy(t *testing.T, to string) *silentProxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &silentProxy{addr: l.Addr().String(), silent: make(chan struct{})}
	var wg sync.WaitGroup
	var conns []net.Conn
	t.Cleanup(func() {
		l.Close()
		for _, c := range conns {
			c.Close()
		}
		wg.Wait()
	})
	forward := func(dst, src net.Conn, silent <-chan struct{}) {
		defer dst.Close()
		buf := make([]byte, 4096)
		for {
			n, err := src.Read(buf)
			select {
			case <-silent:
				// The client's side stays open, so that the client does not notice the dropped bytes.
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
		p.mu.Lock()
		silent := p.silent
		p.mu.Unlock()
		wg.Go(func() { forward(out, in, silent) })
		wg.Go(func() { forward(in, out, silent) })
		return true
	}
	wg.Go(func() {
		for accept() {
		}
	})
	return p
}
