// Package shipmenttest has what tests of shipping share: a NATS server that can be killed, and a reader of a stream's contents.
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

// Stop stops the server. Its data stays.
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

// Last returns the last message of a file's state, or an empty message.
func Last(t testing.TB, conn *nats.Conn, source, path string) shipment.Stored {
	t.Helper()
	subject, err := shipment.Subject(shipment.StreamName, source, path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Open(t, conn).Find(t.Context(), subject)
	if err != nil || found.Last() == nil {
		return shipment.Stored{}
	}
	return *found.Last()
}

// Content holds the contents of a file in a stream.
type Content struct {
	Bytes []byte
	// Kind is that of the last message, and Message the message.
	Kind     shipment.Kind
	Message  shipment.Message
	Messages int
	Size     int64 // of all messages' data
	// Begun counts the messages at offset 0.
	Begun int
}

// Contents reads a stream. It fails the test if bytes are missing, out of order, or differ between two messages.
func Contents(t testing.TB, conn *nats.Conn) map[string]Content {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	files := map[string]Content{}
	stream := Open(t, conn)
	done := errors.New("all was read")
	read := func(with func(context.Context, func(*shipment.Delivered) error, func()) error, each func(name string, m shipment.Message, f Content) Content) {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		err := with(ctx, func(d *shipment.Delivered) error {
			source, path, _, err := shipment.ParseSubject(shipment.StreamName, d.Subject)
			if err := errors.Join(err, d.Err); err != nil {
				t.Error(d.Subject, err)
				return nil
			}
			name := source + "/" + path
			d.Data = bytes.Clone(d.Data)
			f := each(name, d.Message, files[name])
			f.Messages++
			f.Size += int64(len(d.Data))
			files[name] = f
			return nil
		}, func() { stop(done) })
		if !errors.Is(err, done) && !errors.Is(context.Cause(ctx), done) {
			t.Fatal(err)
		}
	}
	read(func(ctx context.Context, each func(*shipment.Delivered) error, caughtUp func()) error {
		return stream.Read(ctx, shipment.Which{}, 0, time.Time{}, each, caughtUp)
	}, func(name string, m shipment.Message, f Content) Content {
		had := int64(len(f.Bytes))
		switch {
		case m.Offset == 0 && m.Generation != f.Message.Generation:
			f.Bytes, f.Begun = m.Data, f.Begun+1
		case m.Generation != f.Message.Generation:
			t.Errorf("%s: generation %s at offset %d follows %s", name, m.Generation, m.Offset, f.Message.Generation)
		case m.Offset > had || m.End() < had:
			t.Errorf("%s: bytes from %d to %d follow %d", name, m.Offset, m.End(), had)
		case !bytes.Equal(f.Bytes[m.Offset:], m.Data[:had-m.Offset]):
			t.Errorf("%s: other bytes from %d on", name, m.Offset)
		default:
			f.Bytes = append(f.Bytes, m.Data[had-m.Offset:]...)
		}
		f.Kind, f.Message = m.Kind, m
		return f
	})
	read(func(ctx context.Context, each func(*shipment.Delivered) error, caughtUp func()) error {
		return stream.ReadStates(ctx, shipment.Which{}, each, caughtUp)
	}, func(name string, m shipment.Message, f Content) Content {
		if len(f.Bytes) > 0 && (m.Generation != f.Message.Generation || m.Offset < int64(len(f.Bytes))) {
			return f // it belongs to an earlier file
		}
		if m.Kind == shipment.Finished && m.Offset != int64(len(f.Bytes)) {
			t.Errorf("%s: %d bytes, but it finished with %d", name, len(f.Bytes), m.Offset)
		}
		f.Kind, f.Message = m.Kind, m
		return f
	})
	return files
}
