package playcast

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// TestReachable: which addresses a relay's name may lead to.
func TestReachable(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for text, want := range map[string]bool{
		"203.0.113.9": true, "2001:db8::1": true, "10.1.2.3": true, "192.0.2.7": true,
		"10.2.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "::1": false, "fe80::1": false, "fd00::1": false, "::": false, "ff02::1": false,
	} {
		if got := reachable(netip.MustParseAddr(text), netip.Addr{}, networks); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if at := netip.MustParseAddr("127.0.0.1"); !reachable(at, at, nil) {
		t.Error("the address in the URL itself")
	}
}

// TestRebinding: a name whose address changes is not followed to the new one.
func TestRebinding(t *testing.T) {
	allowed, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip(err) // not on all systems
	}
	_, port, _ := net.SplitHostPort(allowed.Addr().String())
	private, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Skip(err)
	}
	var asked, reached atomic.Int64
	for l, counter := range map[net.Listener]*atomic.Int64{allowed: &asked, private: &reached} {
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			counter.Add(1)
			w.Header().Set("Connection", "close")
		})}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = names.Close() }()
	go answer(names, []byte{127, 0, 0, 2}, []byte{127, 0, 0, 1})

	u, err := url.Parse("http://relay.example.:" + port + "/tv")
	if err != nil {
		t.Fatal(err)
	}
	r := newRemote(u, []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, 0, "")
	defer r.close()
	r.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", names.LocalAddr().String())
	}}
	if _, err := r.get(t.Context(), 10, 0, "sync"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.get(t.Context(), 10, 0, "sync"); !errors.Is(err, errAddress) || asked.Load() != 1 || reached.Load() > 0 {
		t.Error(err, asked.Load(), reached.Load())
	}
}

// answer answers questions for addresses: the first one with one address, and the others with another.
func answer(conn net.PacketConn, first, others []byte) {
	b := make([]byte, 512)
	for address := first; ; {
		n, from, err := conn.ReadFrom(b)
		if err != nil {
			return
		}
		end := 12 // of the question
		for end < n && b[end] != 0 {
			end += 1 + int(b[end])
		}
		kind := binary.BigEndian.Uint16(b[end+1:])
		reply := append([]byte{b[0], b[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, b[12:end+5]...)
		if kind == 1 {
			reply[7] = 1
			reply = append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), address...)
			address = others
		}
		_, _ = conn.WriteTo(reply, from)
	}
}

// TestTrickle: a body that comes a byte at a time is given up, however long it goes on.
func TestTrickle(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		for request.Context().Err() == nil {
			_, _ = w.Write([]byte{0})
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})}
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	r := newRemote(&url.URL{Scheme: "http", Host: l.Addr().String()}, nil, 0, "")
	defer r.close()
	if r.client.Timeout != requestTimeout {
		t.Error(r.client.Timeout)
	}
	r.client.Timeout = 100 * time.Millisecond
	if body, err := r.get(t.Context(), maxBody, 0, "35", "delta"); err == nil {
		t.Errorf("%d bytes", len(body))
	}
}
