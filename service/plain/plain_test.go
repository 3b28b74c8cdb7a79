package plain_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/replayd/replayd/service/plain"
)

// endless is the body of an upload. It counts the bytes that are read, and ends when it is closed.
type endless struct {
	read   atomic.Int64
	closed atomic.Bool
}

func (e *endless) Read(p []byte) (int, error) {
	if e.closed.Load() {
		return 0, io.EOF
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// TestUploadWaits: no more of an upload is read than the service takes, however fast it comes; and a call that ends does not
// wait for the rest.
func TestUploadWaits(t *testing.T) {
	const window = 1 << 20
	body := &endless{}
	handler := plain.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ended := make(chan struct{})
		go func() { // as gRPC does, whether the service takes it or not
			defer close(ended)
			_, _ = io.Copy(io.Discard, r.Body)
		}()
		settled := func() int64 {
			for before := int64(-1); before != body.read.Load(); time.Sleep(50 * time.Millisecond) {
				before = body.read.Load()
			}
			return body.read.Load()
		}
		first := settled()
		if first > window {
			t.Errorf("%d bytes are read ahead", first)
		}
		const taken = 10 << 20
		for n := 0; n < taken; n += 64 << 10 {
			plain.Took(r.Context(), 64<<10)
		}
		for deadline := time.Now().Add(time.Minute); body.read.Load() < taken; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes are read when %d were taken", body.read.Load(), taken)
			}
		}
		if second := settled(); second > taken+window {
			t.Errorf("%d bytes are read when %d were taken", second, taken)
		}
		body.closed.Store(true)
		_ = r.Body.Close()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("a waiting Read does not end with the call")
		}
	}), 100)
	r := httptest.NewRequest(http.MethodPost, "/v1/replays", body)
	handler.ServeHTTP(httptest.NewRecorder(), r)
}
