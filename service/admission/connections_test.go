package admission

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// exhausted is a listener for which there are no descriptors.
type exhausted struct{ net.Listener }

func (exhausted) Accept() (net.Conn, error) { return nil, fmt.Errorf("accept: %w", syscall.EMFILE) }
func (exhausted) Addr() net.Addr            { return &net.TCPAddr{} }

// TestExhausted: want of descriptors is counted and logged, which net/http and gRPC do not tell.
func TestExhausted(t *testing.T) {
	var log bytes.Buffer
	c := NewConnections(3, 2, nil, slog.New(slog.NewTextHandler(&log, nil)))
	if _, err := c.Listen(exhausted{}).Accept(); !errors.Is(err, syscall.EMFILE) || !strings.Contains(log.String(), "ulimit -n") {
		t.Errorf("%v, log: %s", err, log.String())
	}
	if got := testutil.ToFloat64(c.failed); got != 1 {
		t.Errorf("%v failures are counted", got)
	}
}

// TestConnections: connections beyond the limits are closed. Closing a connection frees its place exactly once.
func TestConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := NewConnections(3, 2, nil, slog.New(slog.DiscardHandler))
	l := c.Listen(inner)
	defer l.Close()
	accepted := make(chan net.Conn, 8)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	})
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	one, two := dial(), dial()
	first, second := <-accepted, <-accepted
	if raw, err := first.(syscall.Conn).SyscallConn(); err != nil || raw.Control(func(uintptr) {}) != nil {
		t.Errorf("the options of its socket cannot be set: %v", err)
	}
	three := dial()
	_ = three.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := three.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a third connection from one address: %v", err)
	}
	_, _ = first.Close(), first.Close()
	four := dial()
	fourth := <-accepted
	if c.open != 2 {
		t.Errorf("%d are open", c.open)
	}
	for _, conn := range []net.Conn{one, two, three, four, second, fourth} {
		_ = conn.Close()
	}
	if c.open != 0 || len(c.of) != 0 {
		t.Errorf("%d are open, of %d addresses", c.open, len(c.of))
	}
	_ = l.Close()
	wg.Wait()
	c = NewConnections(4, 1, netip.Addr.IsLoopback, slog.New(slog.DiscardHandler))
	for _, test := range []struct{ addr, whose string }{
		{"192.0.2.1:1", ""}, {"192.0.2.1:2", "address"}, {"192.0.2.2:1", ""}, {"127.0.0.1:1", ""}, {"127.0.0.1:2", ""}, {"127.0.0.1:3", "all"}, {"192.0.2.3:1", "all"},
	} {
		if _, whose := c.admit(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(test.addr))); whose != test.whose {
			t.Errorf("%s: %q, want %q", test.addr, whose, test.whose)
		}
	}
}
