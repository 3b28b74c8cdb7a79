package h2guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// from is a connection from an address. It returns the bytes that a client sent.
type from struct {
	net.Conn

	addr net.Addr
	data io.Reader
}

func (f *from) RemoteAddr() net.Addr       { return f.addr }
func (f *from) Read(p []byte) (int, error) { return f.data.Read(p) }
func (f *from) Close() error               { return nil }

// gate is a listener that accepts the connections sent on the channel.
type gate chan net.Conn

func (g gate) Accept() (net.Conn, error) { return <-g, nil }
func (g gate) Close() error              { return nil }
func (g gate) Addr() net.Addr            { return &net.TCPAddr{} }

// resets returns what a client sends that resets n streams.
func resets(n int) []byte {
	var b bytes.Buffer
	b.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&b, nil)
	_ = f.WriteSettings()
	for range n {
		_ = f.WriteRSTStream(1, http2.ErrCodeCancel)
	}
	return b.Bytes()
}

// visit connects from an address and resets n streams. It returns how long the connection waited until it was read, and whether
// it was read to the end.
func visit(t *testing.T, g *Guard, addr string, n int) (waited time.Duration, fine bool) {
	t.Helper()
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	entrance := make(gate, 1)
	entrance <- &from{addr: net.TCPAddrFromAddrPort(at), data: bytes.NewReader(resets(n))}
	began := time.Now()
	conn, err := g.Listen(g.Slow(entrance)).Accept()
	if err != nil || time.Since(began) > 0 {
		t.Fatalf("accepting takes %v: %v", time.Since(began), err)
	}
	_, err = io.Copy(io.Discard, conn)
	if err != nil && !errors.Is(err, ErrAbused) {
		t.Fatal(err)
	}
	return time.Since(began), err == nil
}

// TestStrikes: a client that abuses connections again and again waits longer each time, and may send less. Other clients and
// exempt addresses do not wait. After a while all strikes have expired.
func TestStrikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := netip.MustParseAddr("10.0.0.9")
		g := NewGuard(slog.New(slog.DiscardHandler), nil, func(a netip.Addr) bool { return a == proxy })
		const bad = "[2001:db8::1]:1"
		if waited, fine := visit(t, g, bad, 900); waited > 0 || !fine {
			t.Errorf("900 resets at first: waited %v, fine %v", waited, fine)
		}
		for i := range 12 {
			want := time.Duration(0)
			if i > 0 {
				want = min(25*time.Millisecond<<min(i, 8), 2*time.Second)
			}
			if waited, fine := visit(t, g, bad, 5000); waited != want || fine {
				t.Errorf("the %d. time: waited %v, want %v; fine %v", i, waited, want, fine)
			}
		}
		for addr, want := range map[string]struct {
			waits time.Duration
			fine  bool
		}{
			"[2001:db8::2:3]:5":   {2 * time.Second, false}, // another address of the same network
			"[2001:db8:0:1::1]:1": {0, true},
			"127.0.0.1:1":         {0, true},
		} {
			if waited, fine := visit(t, g, addr, 100); waited != want.waits || fine != want.fine {
				t.Errorf("%s: waited %v, fine %v, want %v", addr, waited, fine, want)
			}
		}
		if waited, fine := visit(t, g, bad, 40); waited != 2*time.Second || !fine {
			t.Errorf("few resets of who is known: waited %v, fine %v", waited, fine)
		}
		for range 3 {
			if waited, fine := visit(t, g, "10.0.0.9:1", 5000); waited > 0 || fine {
				t.Errorf("a proxy: waited %v, fine %v", waited, fine)
			}
		}
		time.Sleep(mostStrikes*strikeFades + time.Second)
		if waited, fine := visit(t, g, bad, 900); waited > 0 || !fine {
			t.Errorf("after a while: waited %v, fine %v", waited, fine)
		}
	})
}

// TestStrikesAreBounded: at most mostKnown addresses are remembered, and new strikes replace expired ones.
func TestStrikesAreBounded(t *testing.T) {
	s := strikes{}
	now := time.Now()
	for i := range 2 * mostKnown {
		s.add(fmt.Sprint(i), now)
	}
	if len(s.of) != mostKnown {
		t.Errorf("%d are remembered", len(s.of))
	}
	s.add("late", now.Add(time.Hour))
	if n := s.count("late", now.Add(time.Hour)); n != 1 || len(s.of) > 1 {
		t.Errorf("%d strikes, %d are remembered", n, len(s.of))
	}
}

// TestTinyDataOfAddress: small DATA frames count on later connections of the same address, too, which may send spared of them in any case.
// Other addresses, proxies, and connections that are open already may send as many as ever.
func TestTinyDataOfAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := netip.MustParseAddr("10.0.0.9")
		g := NewGuard(slog.New(slog.DiscardHandler), nil, func(a netip.Addr) bool { return a == proxy })
		type client struct {
			*Conn
			in *fed
		}
		dial := func(addr string) client {
			in := &fed{data: []byte(http2.ClientPreface), piece: 1 << 20}
			return client{g.Conn(&from{addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)), data: in}), in}
		}
		send := func(c client, n int) error {
			var b bytes.Buffer
			f := http2.NewFramer(&b, nil)
			for range n {
				_ = f.WriteData(1, false, []byte{0})
			}
			c.in.data = append(c.in.data, b.Bytes()...)
			_, err := io.ReadAll(c)
			return err
		}
		open := dial("192.0.2.1:1")
		for i := range 3 {
			if err := send(dial("192.0.2.1:1"), 9000); i < 2 != (err == nil) {
				t.Errorf("9000 frames on the %d. connection: %v", i, err)
			}
		}
		if err := send(open, 15_000); err != nil {
			t.Errorf("on one that was open: %v", err)
		}
		for _, other := range []string{"192.0.2.2:1", "10.0.0.9:1", "10.0.0.9:2"} {
			if err := send(dial(other), 15_000); err != nil {
				t.Errorf("from %s: %v", other, err)
			}
		}
		time.Sleep(mostStrikes*strikeFades + time.Second)
		if err := send(dial("192.0.2.1:1"), 15_000); err != nil {
			t.Errorf("after a while: %v", err)
		}
		if err := send(dial("192.0.2.1:1"), spared); err != nil {
			t.Errorf("those that are spared: %v", err)
		}
	})
	s := commons{}
	now := time.Now()
	for i := range mostKnown {
		s.bucket(fmt.Sprint(i), 1, now).common.add(1, now)
	}
	if b := s.bucket("one more", 1, now); b.common != nil || len(s.of) != mostKnown {
		t.Errorf("%d addresses are known", len(s.of))
	}
	if s.bucket("later", 1, now.Add(time.Hour)); len(s.of) != 1 {
		t.Errorf("%d addresses are known an hour later", len(s.of))
	}
}

// TestSlowCloses: a connection can be closed while it waits.
func TestSlowCloses(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	s := &slow{Conn: server, until: time.Now().Add(time.Hour), closed: make(chan struct{})}
	done := make(chan error)
	go func() {
		_, err := s.Read(make([]byte, 1))
		done <- err
	}()
	_ = s.Close()
	if err := <-done; err == nil {
		t.Error("a closed connection is read")
	}
}
