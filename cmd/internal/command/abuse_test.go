package command

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/replayd/replayd/cmd/internal/commandtest"
	"github.com/replayd/replayd/internal/testlog"
)

// attacks holds functions that attack a connection when called over and over. Each returns an error when the connection is
// closed.
var attacks = map[string]func(f *http2.Framer, stream uint32) error{
	"resets": func(f *http2.Framer, stream uint32) error {
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: callHeaders(), EndHeaders: true}); err != nil {
			return err
		}
		return f.WriteRSTStream(stream, http2.ErrCodeCancel)
	},
	"empty_data": func(f *http2.Framer, stream uint32) error {
		if stream == 1 {
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: callHeaders(), EndHeaders: true}); err != nil {
				return err
			}
		}
		return f.WriteData(1, false, nil)
	},
	"tiny_data": func(f *http2.Framer, stream uint32) error {
		if stream == 1 {
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: callHeaders(), EndHeaders: true}); err != nil {
				return err
			}
		}
		return f.WriteData(1, false, []byte{0})
	},
	"settings":       func(f *http2.Framer, _ uint32) error { return f.WriteSettings() },
	"pings":          func(f *http2.Framer, _ uint32) error { return f.WritePing(false, [8]byte{}) },
	"priorities":     func(f *http2.Framer, _ uint32) error { return f.WritePriority(1, http2.PriorityParam{StreamDep: 3}) },
	"window_updates": func(f *http2.Framer, _ uint32) error { return f.WriteWindowUpdate(0, 1) },
	"others":         func(f *http2.Framer, _ uint32) error { return f.WriteRawFrame(0xfa, 0, 0, nil) },
}

// callHeaders returns the header block that begins a call.
func callHeaders() []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/grpc.health.v1.Health/Watch"}, {":authority", "localhost"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		_ = e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}) // writes to memory
	}
	return b.Bytes()
}

// TestAbuse attacks all listeners of the program that support HTTP/2, with and without TLS. The daemon must close the
// connection soon, log it in few lines, delay new connections of the attacker, and serve other clients.
func TestAbuse(t *testing.T) {
	dir := t.TempDir()
	if err := certifyIn(dir); err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		addr, web := commandtest.FreeAddr(t), commandtest.FreeAddr(t)
		args := []string{"serve", "--listen", addr, "--web-listen", web}
		health := []string{"health", "--addr", addr}
		if secure {
			args = append(args, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
			health = append(health, "--ca-file", filepath.Join(dir, "cert.pem"))
			args = append(args, "--trusted-proxy", "127.0.0.1") // proxies are not delayed
		}
		cmd := exec.Command(build(t), args...) // as released: how much an attacker is let do counts by time
		var log testlog.Log
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for released(t, health...).Run() != nil {
			time.Sleep(10 * time.Millisecond)
		}
		// All connect before the first one is closed: who comes later waits, and may send less.
		began := time.Now()
		var running sync.WaitGroup
		for name, attack := range attacks {
			for way, to := range map[string]string{"gRPC": addr, "web": web} {
				conn := attacker(t, to, secure)
				running.Go(func() {
					if frames, closed := assault(conn, attack); !closed {
						t.Errorf("%s by %s, TLS %v: goes on after %d frames", name, way, secure, frames)
					}
				})
			}
		}
		running.Wait()
		if !secure {
			for _, l := range []string{addr, web} {
				if took := hello(t, l); took < 40*time.Millisecond {
					t.Errorf("who comes again after that waits but %v", took)
				}
			}
		}
		if err := released(t, health...).Run(); err != nil {
			t.Errorf("others are no longer served: %v", err)
		}
		lacks := func(name string) bool { // for gRPC and for the web
			n := strings.Count(log.String(), "abuse="+name)
			// The library that serves the web may be first: it closes a connection that goes on with a call that has ended.
			return n != 2 && (name != "tiny_data" || n != 1)
		}
		for slices.ContainsFunc(slices.Collect(maps.Keys(attacks)), lacks) && time.Since(began) < commandtest.Patience {
			time.Sleep(10 * time.Millisecond) // a line comes after its connection was closed
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		text := log.String()
		for name := range attacks {
			if lacks(name) {
				t.Errorf("TLS %v: the log does not name %s twice:\n%s", secure, name, text)
			}
		}
		if n := strings.Count(text, "\n"); n > 300 {
			t.Errorf("the log has %d lines", n)
		}
	}
}

// hello connects, sends a request, and returns the time until the server has answered in any way and closed the connection.
func hello(t *testing.T, addr string) time.Duration {
	t.Helper()
	began := time.Now()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(began.Add(commandtest.Patience))
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nX: as long as a preface\r\n\r\n")); err != nil { // no HTTP/2, no Host header
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return time.Since(began)
}

// attacker connects and begins to speak HTTP/2.
func attacker(t *testing.T, addr string, secure bool) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(commandtest.Patience))
	if secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := http2.NewFramer(conn, nil).WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return conn
}

// assault repeats an attack until the connection is closed. It returns the number of repetitions, and whether the connection
// was closed before its deadline. Many frames go into one write: what one frame costs the attacker must not be the limit, also
// where the machine is busy.
func assault(conn net.Conn, attack func(*http2.Framer, uint32) error) (frames int, closed bool) {
	gone := make(chan error, 1)
	go func() { // attackers read the responses
		_, err := io.Copy(io.Discard, conn)
		gone <- err
	}()
	w := bufio.NewWriterSize(conn, 32<<10)
	f := http2.NewFramer(w, nil)
	for attack(f, uint32(2*frames+1)) == nil {
		frames++
	}
	return frames, !errors.Is(<-gone, os.ErrDeadlineExceeded)
}
