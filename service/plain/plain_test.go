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
	plain.New(func(_ string, ss grpc.ServerStream) error {
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
