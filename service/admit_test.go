package service_test

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/codec"
	"github.com/replayd/replayd/replay/codec/teehistorian"
	"github.com/replayd/replayd/replay/source"
	"github.com/replayd/replayd/service"
	"github.com/replayd/replayd/service/admission"
	"github.com/replayd/replayd/service/describe"
)

// TestStalledUpload: an upload that stops sending, at its beginning or in the middle, ends and gives back its resources. An
// upload that sends empty messages to keep alive does not end.
func TestStalledUpload(t *testing.T) {
	control := admission.New(admission.Limits{})
	d := start(t, t.TempDir(), func(c *service.Config) { c.UploadTimeout, c.Admission = 300*time.Millisecond, control })
	// A live upload gets more time than a loaded machine needs between two messages.
	patient := start(t, t.TempDir(), func(c *service.Config) { c.UploadTimeout, c.Admission = 3*time.Second, control })
	data := read(t, finishedSample)
	t.Run("uploads", func(t *testing.T) {
		for name, test := range map[string]struct {
			send  int // bytes; -1 for not even the options
			empty int // messages, each after a sixth of the patience
			want  codes.Code
		}{
			"nothing":         {-1, 0, codes.DeadlineExceeded},
			"options":         {0, 0, codes.DeadlineExceeded},
			"half":            {len(data) / 2, 0, codes.DeadlineExceeded},
			"slow, but alive": {len(data), 8, codes.OK},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := d
				if test.want == codes.OK {
					d = patient
				}
				s, err := d.client.DecodeReplay(timeout(t))
				if err != nil {
					t.Fatal(err)
				}
				send := func(data []byte) {
					err := s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: data}})
					if err != nil && test.want == codes.OK { // otherwise it may have ended by now
						t.Fatal(err)
					}
				}
				if test.send >= 0 {
					options := &replaydv1.DecodeReplayRequest_Options{Options: &replaydv1.StreamEventsRequest{Replay: "x"}}
					if err := s.Send(&replaydv1.DecodeReplayRequest{Part: options}); err != nil && test.want == codes.OK {
						t.Fatal(err)
					}
					send(data[:test.send/2])
					for range test.empty {
						send(nil)
						time.Sleep(500 * time.Millisecond)
					}
					send(data[test.send/2 : test.send])
				}
				if test.want == codes.OK {
					_ = s.CloseSend()
				}
				for err == nil {
					_, err = s.Recv()
				}
				if err.Error() == "EOF" {
					err = nil
				}
				if status.Code(err) != test.want {
					t.Errorf("%v, want %v", err, test.want)
				}
			})
		}
	})
	for control.Taken(admission.Streams) != 0 || control.Taken(admission.Memory) != 0 {
		time.Sleep(time.Millisecond)
	}
}

// TestSilentCall: a call that never sends its request ends, by gRPC and by the web.
func TestSilentCall(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := startWith(t, t.TempDir(), listener, time.Second, func(c *service.Config) { c.UploadTimeout = 200 * time.Millisecond })
	web, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	for way, conn := range map[string]*grpc.ClientConn{"gRPC": d.conn, "web": web} {
		for _, method := range []string{replaydv1.ReplayService_StreamEvents_FullMethodName, replaydv1.ReplayService_DecodeReplay_FullMethodName} {
			s, err := conn.NewStream(timeout(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.RecvMsg(new(replaydv1.StreamEventsResponse)); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("%s by %s: %v", method, way, err)
			}
		}
	}
}

// slowReader is a reader of a replay that never ends.
type slowReader struct {
	codec.Reader

	fill func(*codec.Batch) error
}

func (r slowReader) Fill(b *codec.Batch) error { return r.fill(b) }

// codecWith is the codec of teehistorian, with another Fill.
func codecWith(fill func(codec.Reader, *codec.Batch) error) *codec.Codec {
	c := teehistorian.Codec
	open := c.Open
	c.Open = func(in source.Input, o codec.Options) (codec.Reader, error) {
		r, err := open(in, o)
		return slowReader{r, func(b *codec.Batch) error { return fill(r, b) }}, err
	}
	c.Shared = false
	return &c
}

// TestNeverReads: a stream whose client does not read ends with an error that says why, and gives back its resources. Another
// stream of the same connection continues.
func TestNeverReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := read(t, finishedSample)
	long := append(append(data[:len(data)-1:len(data)-1], make([]byte, 2<<20)...), 0x40)
	for i := len(data) - 1; i+1 < len(long)-1; i += 2 {
		long[i] = 0x41 // a tick in which nothing happens, and so an event
	}
	write(t, dir+"/long.teehistorian", long)
	control := admission.New(admission.Limits{})
	d := start(t, dir, func(c *service.Config) { c.SendTimeout, c.Admission = 300*time.Millisecond, control })
	s, err := d.client.StreamEvents(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("long.teehistorian")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Header(); err != nil {
		t.Fatal(err)
	}
	for control.Taken(admission.Streams) == 0 {
		time.Sleep(time.Millisecond)
	}
	for control.Taken(admission.Streams) != 0 || control.Taken(admission.Memory) != 0 { // until the daemon has ended the stream
		if t.Context().Err() != nil {
			t.Fatal("it goes on for ever")
		}
		time.Sleep(time.Millisecond)
	}
	for err == nil {
		_, err = s.Recv()
	}
	if f := explainFailure(t, err); f.code != codes.ResourceExhausted || f.reason != "TOO_SLOW" {
		t.Errorf("%v", err)
	}
	other := d.Session(timeout(t), &replaydv1.StreamEventsRequest{Replay: name("long.teehistorian"), Include: []*replaydv1.EventFilter{{Kinds: []string{"join"}}}}, nil)
	if other.Err != nil {
		t.Errorf("another stream of the connection: %v", other.Err)
	}
}

// TestDrainsWhateverHandlersDo: handlers that do not end, by gRPC and by the web, delay the daemon's end at most until a second
// after its deadline. Their clients are told that the daemon is shutting down.
func TestDrainsWhateverHandlersDo(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	entered := make(chan struct{}, 8)
	t.Cleanup(describe.SetCodecs(codecWith(func(codec.Reader, *codec.Batch) error {
		entered <- struct{}{}
		<-release // like a file system that does not respond, or an endless loop
		return codec.ErrYield
	})))
	dir := t.TempDir()
	replay := copyIn(t, dir, finishedSample)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const deadline = 500 * time.Millisecond
	d := startWith(t, dir, listener, deadline, func(c *service.Config) { c.SurveyBudget = 0 })
	web, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	ended := make(chan error, 2)
	for _, conn := range []*grpc.ClientConn{d.conn, web} {
		s, err := replaydv1.NewReplayServiceClient(conn).StreamEvents(timeout(t), &replaydv1.StreamEventsRequest{Replay: replay})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				if _, err := s.Recv(); err != nil {
					ended <- err
					return
				}
			}
		}()
		<-entered
	}
	began := time.Now()
	d.stop()
	if took := time.Since(began); took > deadline+30*time.Second { // a second, more on a loaded machine; they never end alone
		t.Errorf("it took %v to end", took)
	}
	for range 2 {
		// The error is the daemon's own status, not a lost connection.
		if f := explainFailure(t, <-ended); f.code != codes.Unavailable || f.reason != "DRAINING" || !f.retry {
			t.Errorf("a client gets: %v", f)
		}
	}
	if !strings.Contains(d.log.String(), "did not end in time") {
		t.Error("the log does not say so")
	}
}

// TestBudget: when the memory is used up, uploads that declare large windows are refused with RESOURCE_EXHAUSTED and the time
// of a retry. Running uploads continue. Their memory is given back when they end.
func TestBudget(t *testing.T) {
	control := admission.New(admission.Limits{All: admission.Amounts{admission.Memory: 64 << 20}})
	d := start(t, t.TempDir(), func(c *service.Config) { c.Admission = control })
	data := zstdWindow(t, read(t, finishedSample), 8<<20)
	var held []grpc.BidiStreamingClient[replaydv1.DecodeReplayRequest, replaydv1.StreamEventsResponse]
	refused := 0
	for range 10 {
		s, err := d.client.DecodeReplay(timeout(t))
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Options{Options: &replaydv1.StreamEventsRequest{Replay: "x"}}})
		_ = s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: data[:len(data)-7]}})
		if _, err := s.Recv(); err == nil {
			held = append(held, s)
			continue
		} else if f := explainFailure(t, err); f.code != codes.ResourceExhausted || f.reason != "LIMIT_EXCEEDED" || !f.retry {
			t.Errorf("%v", err)
		}
		refused++
	}
	if len(held) != 3 || refused != 7 {
		t.Errorf("%d of 10 uploads of 17 MiB go on with 64 MiB", len(held))
	}
	for _, s := range held {
		_ = s.Send(&replaydv1.DecodeReplayRequest{Part: &replaydv1.DecodeReplayRequest_Data{Data: data[len(data)-7:]}})
		_ = s.CloseSend()
		var err error
		for err == nil {
			_, err = s.Recv()
		}
		if err.Error() != "EOF" {
			t.Errorf("an upload that was let in: %v", err)
		}
	}
	for control.Taken(admission.Memory) != 0 {
		time.Sleep(time.Millisecond)
	}
}

// zstdWindow compresses data with a window of that many bytes.
func zstdWindow(tb testing.TB, data []byte, window int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Flush(); err != nil { // so that the size is not known, and the window is declared
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}
