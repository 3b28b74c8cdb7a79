package faulttest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Proxy is the network between a program and a server: it passes TCP connections on until told otherwise. It ends with the test.
type Proxy struct {
	// Addr is the address for the program.
	Addr string

	to string
	wg sync.WaitGroup

	mu     sync.Mutex
	free   chan struct{} // closed while bytes pass
	cut    bool
	closed bool
	conns  map[net.Conn]bool
}

// NewProxy starts a proxy to the server at an address.
func NewProxy(t *testing.T, to string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), to: to, free: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(p.free)
	p.wg.Go(func() { p.accept(l) })
	t.Cleanup(func() {
		p.Free()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Cut()
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

// Hold lets nothing pass, like a network that loses everything. Bytes sent meanwhile arrive after Free, however late that is.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.free:
		p.free = make(chan struct{})
	default:
	}
}

// Cut breaks all connections, and new ones until Free.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		_ = c.Close()
	}
}

// Free ends Hold and Cut.
func (p *Proxy) Free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = p.closed
	select {
	case <-p.free:
	default:
		close(p.free)
	}
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		cut := p.cut
		p.mu.Unlock()
		if cut {
			_, _ = client.Close(), server.Close()
		}
		p.wg.Go(func() { p.pass(client, server) })
		p.wg.Go(func() { p.pass(server, client) })
	}
}

// pass passes on the bytes from one side, and ends both sides at their end.
func (p *Proxy) pass(from, to net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		free := p.free
		p.mu.Unlock()
		<-free
		if n > 0 {
			if _, failed := to.Write(b[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = from.Close(), to.Close()
	p.mu.Lock()
	delete(p.conns, from)
	p.mu.Unlock()
}
