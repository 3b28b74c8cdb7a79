package replayd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	replayd "github.com/replayd/replayd/clients/go"
	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

func TestReplays(t *testing.T) {
	d := serve(t, samples)
	client := d.connect()
	var names []string
	for r, err := range client.Replays(soon(t), &replaydv1.ListReplaysRequest{Directory: root + "/teehistorian", PageSize: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.GetName())
	}
	if len(names) < 6 || !slices.IsSorted(names) || !slices.Contains(names, root+"/"+finished) {
		t.Errorf("replays %q", names)
	}
	for range client.Replays(soon(t), nil) {
		break
	}
	req := &replaydv1.ListReplaysRequest{
		PageSize: 1, Formats: []replaydv1.Format{replaydv1.Format_FORMAT_TEEHISTORIAN},
		Filter: &replaydv1.ReplayFilter{MapName: "no such map"},
	}
	for r, err := range client.Replays(soon(t), req) {
		t.Errorf("a filter that matches nothing: %v, %v", r, err)
	}
	req.Filter, req.View = nil, replaydv1.ReplayView_REPLAY_VIEW_FULL
	n := 0
	for r, err := range client.Replays(soon(t), req) {
		if n++; err != nil || r.GetTeehistorian() == nil {
			t.Errorf("with headers: %v, %v", r, err)
		}
	}
	if n < 6 || req.GetPageToken() != "" {
		t.Errorf("%d replays; the request is now %v", n, req)
	}
	for _, err := range client.Replays(soon(t), &replaydv1.ListReplaysRequest{Directory: "nothing"}) {
		if status.Code(err) != codes.NotFound {
			t.Errorf("got %v", err)
		}
	}
	r, err := client.Replay(soon(t), root+"/"+finished)
	if err != nil || r.GetTeehistorian() == nil {
		t.Errorf("replay %v, %v", r, err)
	}
	if _, err := client.Replay(soon(t), "nothing"); replayd.ReasonOf(err) != replaydv1.ErrorReason_ERROR_REASON_REPLAY_NOT_FOUND {
		t.Errorf("got %v", err)
	}
	info, err := client.Info(soon(t))
	if err != nil || info.GetVersion() != "test" {
		t.Errorf("info %v, %v", info, err)
	}
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	file := read(t, filepath.Join(samples, filepath.FromSlash(finished)))
	if err := os.WriteFile(filepath.Join(dir, "first.teehistorian"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, dir)
	seen := map[string]bool{} // by name: whether the replay was in the initial list
	for c, err := range d.connect().Watch(soon(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == replaydv1.ChangeKind_CHANGE_KIND_ADDED {
			seen[c.Replay.GetName()] = c.Initial
		}
		if len(seen) == 2 {
			break
		}
		if err := os.WriteFile(filepath.Join(dir, "second.teehistorian"), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !seen[root+"/first.teehistorian"] || seen[root+"/second.teehistorian"] {
		t.Errorf("seen %v", seen)
	}
	var last error
	for _, err := range d.connect().Watch(soon(t), nil) {
		d.kill()
		last = err
	}
	if status.Code(last) != codes.Unavailable {
		t.Errorf("got %v", last)
	}
}

// answering starts a server that responds to every call with the error that answer returns.
func answering(t *testing.T, answer func(context.Context) error) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return answer(s.Context()) }))
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() { server.Stop(); wg.Wait() })
	return l.Addr().String()
}

// TestContextError checks that an error matches context.DeadlineExceeded and context.Canceled even if the daemon reports it first.
func TestContextError(t *testing.T) {
	for _, code := range []codes.Code{codes.DeadlineExceeded, codes.Canceled, codes.NotFound} {
		client, err := replayd.Dial(answering(t, func(context.Context) error { return status.Error(code, "by the daemon") }))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Replay(soon(t), finished)
		if got, want := errors.Is(err, context.DeadlineExceeded), code == codes.DeadlineExceeded; got != want {
			t.Errorf("%v: matches DeadlineExceeded: %v", err, got)
		}
		if got, want := errors.Is(err, context.Canceled), code == codes.Canceled; got != want {
			t.Errorf("%v: matches Canceled: %v", err, got)
		}
		_ = client.Close()
	}
}

// TestToken checks that the token is sent with every call, and that Dial uses TLS for any address on another machine.
func TestToken(t *testing.T) {
	sent := make(chan []string, 1)
	addr := answering(t, func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		sent <- md.Get("authorization")
		return status.Error(codes.Unauthenticated, "unknown token")
	})
	dialer := replayd.WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}))
	for _, test := range []struct {
		addr   string
		option replayd.Option
		tls    bool
	}{
		{"127.0.0.1:1", nil, false},
		{"[::1]:1", nil, false},
		{"localhost:1", nil, false},
		{"passthrough:///localhost:1", nil, false},
		{"passthrough:///replays.example.org:1", nil, true},
		{"192.0.2.1:1", nil, true},
		{"192.0.2.1:1", replayd.WithInsecure(), false},
		{"localhost:1", replayd.WithTLS(nil), true},
	} {
		options := []replayd.Option{dialer, replayd.WithToken("secret")}
		if test.option != nil {
			options = append(options, test.option)
		}
		client, err := replayd.Dial(test.addr, options...)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range client.Events(soon(t), stream(finished)) {
			if status.Code(err) == codes.Unauthenticated == test.tls {
				t.Errorf("%s: %v", test.addr, err)
			}
			if !test.tls && !slices.Equal(<-sent, []string{"Bearer secret"}) {
				t.Errorf("%s: the server received no token", test.addr)
			}
		}
		_ = client.Close()
	}
}

func TestDecode(t *testing.T) {
	d := serve(t, samples)
	client := d.connect()
	want := lines(t, client.Events(soon(t), stream(finished)))
	file := read(t, filepath.Join(samples, filepath.FromSlash(finished)))

	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)),
		"with the last bytes": iotest.DataErrReader(bytes.NewReader(file)),
	} {
		t.Run(name, func(t *testing.T) {
			s := client.Decode(soon(t), r, nil)
			if got := lines(t, s.Events()); !slices.Equal(got, want) {
				t.Errorf("%d events, want %d; or they differ", len(got), len(want))
			}
			if s.End().GetReason() != replaydv1.EndReason_END_REASON_FINISHED {
				t.Errorf("end %v", s.End())
			}
		})
	}
	t.Run("failing reader", func(t *testing.T) {
		broken := errors.New("disk on fire")
		var last error
		for _, err := range client.Decode(soon(t), io.MultiReader(bytes.NewReader(file[:1000]), iotest.ErrReader(broken)), nil).Events() {
			last = err
		}
		if !errors.Is(last, broken) {
			t.Errorf("got %v", last)
		}
	})
	t.Run("not a replay", func(t *testing.T) {
		var last error
		for _, err := range client.Decode(soon(t), strings.NewReader("not a replay"), nil).Events() {
			last = err
		}
		if replayd.ReasonOf(last) != replaydv1.ErrorReason_ERROR_REASON_UNKNOWN_FORMAT {
			t.Errorf("got %v", last)
		}
	})
	t.Run("left early", func(t *testing.T) {
		r := &endless{head: file}
		for _, err := range client.Decode(soon(t), r, nil).Events() {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if r.reading.Load() {
			t.Error("the reader is still being read")
		}
	})
}

// TestDecodeSlowly checks that Decode reads no faster than the loop takes events. The file is much larger than all buffers.
func TestDecodeSlowly(t *testing.T) {
	d := serve(t, samples)
	file := read(t, filepath.Join(samples, filepath.FromSlash(killed)))
	r := &endless{head: file, size: 256 << 20}
	taken := 0
	for _, err := range d.connect().Decode(soon(t), r, nil).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if taken++; taken > 10 {
			break
		}
		time.Sleep(30 * time.Millisecond)
	}
	if n := r.read.Load(); n > 64<<20 {
		t.Errorf("%d MiB were read for %d events", n>>20, taken)
	}
}

// endless is a reader of a replay that continues with ticks after its head, up to size bytes, or forever if size is 0.
type endless struct {
	head    []byte
	size    int64
	read    atomic.Int64
	reading atomic.Bool
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	e.reading.Store(true)
	defer e.reading.Store(false)
	if len(e.head) > 0 {
		n := copy(p, e.head)
		e.head = e.head[n:]
		e.read.Add(int64(n))
		return n, nil
	}
	if e.size > 0 && e.read.Load() >= e.size {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = [...]byte{0x41, 0x00}[i%2] // TICK_SKIP of 0 ticks
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}
