package plain_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/plain"
)

// endless is the body of an upload. It counts the bytes that are read, and after some it waits until its deadline.
type endless struct {
	http.ResponseWriter

	left, read atomic.Int64
	reading    atomic.Bool
	deadline   chan struct{}
	waiting    chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	e.reading.Store(true)
	defer e.reading.Store(false)
	if e.left.Add(-1) < 0 {
		close(e.waiting)
		<-e.deadline
		return 0, os.ErrDeadlineExceeded
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// SetReadDeadline is found by http.ResponseController.
func (e *endless) SetReadDeadline(t time.Time) error {
	if !t.After(time.Now()) {
		close(e.deadline)
	}
	return nil
}

// TestUpload: no more of an upload is read than the service takes, the data is the body's, and a call that ends does not wait for
// the rest.
func TestUpload(t *testing.T) {
	t.Run("stored", func(t *testing.T) {
		testUpload(t, "/v1/replays", 100, func() part { return new(replaydv1.CreateReplayRequest) }) // for which the limit is not
	})
	t.Run("decoded", func(t *testing.T) {
		testUpload(t, "/v1/decode", 1<<20, func() part { return new(replaydv1.DecodeReplayRequest) })
	})
}

// part is a message of an upload.
type part interface {
	proto.Message
	GetData() []byte
}

func testUpload(t *testing.T, path string, limit int64, message func() part) {
	t.Helper()
	const parts = 5
	body := &endless{ResponseWriter: httptest.NewRecorder(), deadline: make(chan struct{}), waiting: make(chan struct{})}
	body.left.Store(parts)
	received := make(chan error, 1)
	var call grpc.ServerStream
	plain.New(func(_ string, ss grpc.ServerStream) error {
		call = ss
		options := message()
		if err := ss.RecvMsg(options); err != nil || proto.Size(options) == 0 || len(options.GetData()) > 0 || body.read.Load() > 0 {
			t.Errorf("%v: %v after %d bytes", err, options, body.read.Load())
		}
		taken := int64(0)
		for range parts {
			next := message()
			if err := ss.RecvMsg(next); err != nil {
				t.Error(err)
			}
			if taken += int64(len(next.GetData())); taken == 0 || body.read.Load() != taken {
				t.Errorf("%d bytes are read when %d were taken", body.read.Load(), taken)
			}
		}
		go func() { received <- ss.RecvMsg(message()) }()
		<-body.waiting
		return status.Error(codes.Unavailable, "enough")
	}, limit).ServeHTTP(body, httptest.NewRequest(http.MethodPost, path, body))
	if body.reading.Load() {
		t.Error("the body is still read when the request was answered")
	}
	if err := <-received; err == nil {
		t.Error("there was another part")
	}
	if err := call.RecvMsg(message()); status.Code(err) != codes.Canceled {
		t.Errorf("who still receives gets %v", err)
	}
}

// TestBody: how a body ends says which error it is: of who wrote it, or of a connection that is gone.
func TestBody(t *testing.T) {
	for what, test := range map[string]struct {
		err     error
		chunked bool
		want    codes.Code
	}{
		"its end":           {io.EOF, true, codes.OutOfRange}, // stands for io.EOF
		"a malformed chunk": {errors.New("invalid byte in chunk length"), true, codes.InvalidArgument},
		"cut off":           {io.ErrUnexpectedEOF, true, codes.Unavailable},
		"too slow":          {os.ErrDeadlineExceeded, true, codes.Unavailable},
		"without chunks":    {errors.New("stream error"), false, codes.Unavailable},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/decode", io.MultiReader(strings.NewReader("some"), failing{test.err}))
		if r.ContentLength = 9; test.chunked {
			r.ContentLength = -1
		}
		w := httptest.NewRecorder()
		plain.New(func(_ string, ss grpc.ServerStream) (err error) {
			parts := 0
			for ; err == nil; parts++ {
				err = ss.RecvMsg(new(replaydv1.DecodeReplayRequest))
			}
			got := status.Code(err)
			if errors.Is(err, io.EOF) {
				got = codes.OutOfRange
			}
			if got != test.want || parts != 3 {
				t.Errorf("%s: %v with part %d, want %v", what, err, parts, test.want)
			}
			return err
		}, 100).ServeHTTP(w, r)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// TestPaths: a path becomes the request of one method, for the replay or the subscription that it names. No answer is kept by a cache.
func TestPaths(t *testing.T) {
	const name, path = "r/a b/c.dem", "r%2fa%20b/c.dem"
	for request, want := range map[string]proto.Message{
		"GET /v1/replays":                        &replaydv1.ListReplaysRequest{},
		"GET /v1/replays?map=m":                  &replaydv1.ListReplaysRequest{Filter: &replaydv1.ReplayFilter{MapName: "m"}},
		"GET /v1/replays/" + path:                &replaydv1.GetReplayRequest{Replay: name},
		"GET /v1/replays/" + path + "/report":    &replaydv1.GetReportRequest{Replay: name},
		"DELETE /v1/replays/" + path:             &replaydv1.DeleteReplayRequest{Replay: name},
		"GET /v1/replays/" + path + "/events":    &replaydv1.StreamEventsRequest{Replay: name, Start: &replaydv1.Start{}},
		"POST /v1/subscriptions/a%2Fb?cursor=AQ": &replaydv1.AcknowledgeEventsRequest{Subscription: "a/b", Token: []byte{1}},
		"DELETE /v1/subscriptions/a":             &replaydv1.DeleteSubscriptionRequest{Subscription: "a"},
		"POST /v1/broadcasts?url=http://x":       &replaydv1.FollowBroadcastRequest{Url: "http://x"},
		"GET /v1/replays/%ff":                    nil,
		"GET /v1/replays/a%ff/events":            nil,
	} {
		method, url, _ := strings.Cut(request, " ")
		calls, w := 0, httptest.NewRecorder()
		plain.New(func(called string, ss grpc.ServerStream) error {
			if calls++; want == nil {
				return errors.New("it was called")
			}
			got := want.ProtoReflect().New().Interface()
			if err := ss.RecvMsg(got); err != nil || !proto.Equal(got, want) {
				t.Errorf("%s: %s %v, %v", request, called, got, err)
			}
			if message := string(got.ProtoReflect().Descriptor().Name()); !strings.HasSuffix(called, "/"+strings.TrimSuffix(message, "Request")) {
				t.Errorf("%s calls %s", request, called)
			}
			return nil // without a response
		}, 1<<20).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, url, http.NoBody))
		answer, called := http.StatusBadRequest, 0
		if want != nil {
			answer, called = http.StatusInternalServerError, 1
		}
		if _, streams := want.(*replaydv1.StreamEventsRequest); streams {
			answer = http.StatusOK
		}
		if h := w.Header(); w.Code != answer || calls != called || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d calls, status %d: %s, %v", request, calls, w.Code, w.Body, h)
		}
		if lines := strings.Count(w.Body.String(), "\n"); answer >= 400 && lines != 1 {
			t.Errorf("%s: %d errors: %s", request, lines, w.Body)
		}
	}
}

// TestTableSent: a table is given back once it was sent, and never before.
func TestTableSent(t *testing.T) {
	sent, content := 0, strings.NewReader("rows")
	w := httptest.NewRecorder()
	plain.New(func(_ string, ss grpc.ServerStream) error {
		return ss.SendMsg(&plain.Table{Content: content, Tag: `"t"`, End: "FINISHED", Sent: func() {
			if sent++; content.Len() > 0 {
				t.Error("it is given back before it was sent")
			}
		}})
	}, 1<<20).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/replays/r/a/tables/join.csv", http.NoBody))
	if sent != 1 || w.Body.String() != "rows" || w.Header().Get("ETag") != `"t"` {
		t.Errorf("given back %d times: %s, %v", sent, w.Body, w.Header())
	}
}
