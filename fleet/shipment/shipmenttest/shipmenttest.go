// Package shipmenttest has what tests of shipping share: a NATS server that can be killed, and what a stream has.
package shipmenttest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/replayd/replayd/fleet/queue/natsserver"
	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/internal/freeport"
)

// Patience is how long tests wait for what must happen.
const Patience = time.Minute

// Until waits for a condition, and fails the test if it does not hold in time. what says what was waited for.
func Until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen:", what)
		}
	}
}

// Append appends to a file, which it makes if it is not there.
func Append(t testing.TB, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Begin runs a part of the program. The returned function ends it, waits for it, and closes what it used. It is called when the test ends,
// too.
func Begin(t testing.TB, run func(context.Context), closed func() error) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); run(ctx) }()
	end = sync.OnceFunc(func() { cancel(); <-ended; _ = closed() })
	t.Cleanup(end)
	return end
}

// Server is a NATS server in this process.
type Server struct {
	URL  string
	dir  string
	stop func()
}

// Serve starts a server. It ends with the test.
func Serve(t testing.TB) *Server {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: "nats://" + addr, dir: t.TempDir()}
	s.Start(t)
	t.Cleanup(s.Stop)
	return s
}

// Start starts a server that was stopped.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	stop, err := natsserver.Start(natsserver.Options{Dir: s.dir, URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.stop = stop
}

// Stop stops the server. What it has stays.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// Wipe makes a stopped server forget everything.
func (s *Server) Wipe(t testing.TB) { s.dir = t.TempDir() }

// Connect returns a connection. It ends with the test.
func Connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1),
		nats.RetryOnFailedConnect(true), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// Open returns a stream, and makes it if it is not there.
func Open(t testing.TB, conn *nats.Conn) *shipment.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for {
		s, err := shipment.Open(ctx, conn, shipment.Options{})
		if err == nil {
			return s
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Content is what a stream has of a file.
type Content struct {
	Bytes []byte
	// Kind is that of the last message, and Message the message.
	Kind     shipment.Kind
	Message  shipment.Message
	Messages int
	// Begun is how often the file begins at offset 0.
	Begun int
}

// Contents reads a stream, and fails the test if bytes are missing, twice, or out of order.
func Contents(t testing.TB, conn *nats.Conn) map[string]Content {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	files := map[string]Content{}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.OrderedConsumer(ctx, shipment.StreamName, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for left := info.NumPending; left > 0; {
		raw, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		meta, err := raw.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		left = meta.NumPending
		source, path, err := shipment.ParseSubject(shipment.StreamName, raw.Subject())
		if err != nil {
			t.Fatal(raw.Subject(), err)
		}
		m, err := shipment.Decode(raw.Headers(), bytes.Clone(raw.Data()))
		if err != nil {
			t.Fatal(raw.Subject(), err)
		}
		name := source + "/" + path
		f := files[name]
		switch {
		case m.Kind != shipment.Bytes:
			if m.Kind == shipment.Finished && m.Offset != int64(len(f.Bytes)) {
				t.Errorf("%s: %d bytes, but it finished with %d", name, len(f.Bytes), m.Offset)
			}
		case m.Offset == 0 && m.Generation != f.Message.Generation:
			f.Bytes, f.Begun = bytes.Clone(m.Data), f.Begun+1
		case m.Generation != f.Message.Generation:
			t.Errorf("%s: generation %s at offset %d follows %s", name, m.Generation, m.Offset, f.Message.Generation)
		case m.Offset != int64(len(f.Bytes)):
			t.Errorf("%s: offset %d follows %d bytes", name, m.Offset, len(f.Bytes))
		default:
			f.Bytes = append(f.Bytes, m.Data...)
		}
		f.Kind, f.Message = m.Kind, m
		f.Messages++
		files[name] = f
	}
	return files
}
