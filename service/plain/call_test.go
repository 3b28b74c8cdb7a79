package plain_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/frame"
	"github.com/replayd/replayd/service/plain"
)

// heartbeat returns a response with a cursor: its outbox counts it until it is freed.
func heartbeat(t *testing.T, out *frame.Outbox) *frame.Frame {
	t.Helper()
	f, err := out.Of(&replaydv1.StreamEventsResponse{
		Response: &replaydv1.StreamEventsResponse_Heartbeat{Heartbeat: &replaydv1.Heartbeat{}},
	}, []byte("at"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// within fails the test if a channel is not closed.
func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error(what)
	}
}

// TestWhoCalls: a method sees who calls, and no other headers.
func TestWhoCalls(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/v1/replays", http.NoBody)
	r.RemoteAddr, r.TLS = "192.0.2.7:5", &tls.ConnectionState{ServerName: "here"}
	for name, value := range map[string]string{"Authorization": "Bearer x", "X-Forwarded-For": "192.0.2.9", "Cookie": "a=b", "X-Other": "c"} {
		r.Header.Set(name, value)
	}
	called := false
	plain.New(func(name string, ss grpc.ServerStream) error {
		called = true
		md, _ := metadata.FromIncomingContext(ss.Context())
		if len(md) != 2 || md.Get("authorization")[0] != "Bearer x" || md.Get("x-forwarded-for")[0] != "192.0.2.9" {
			t.Error(md)
		}
		p, _ := peer.FromContext(ss.Context())
		if info, _ := p.AuthInfo.(credentials.TLSInfo); p.Addr.String() != r.RemoteAddr || p.Addr.Network() != "tcp" || info.State.ServerName != "here" {
			t.Error(p)
		}
		if name != replaydv1.ReplayService_ListReplays_FullMethodName {
			t.Error(name)
		}
		if err := ss.RecvMsg(new(replaydv1.ListReplaysRequest)); err != nil {
			t.Error(err)
		}
		if err := ss.RecvMsg(new(replaydv1.ListReplaysRequest)); !errors.Is(err, io.EOF) {
			t.Error("a second request:", err)
		}
		return ss.SendMsg(new(replaydv1.ListReplaysResponse))
	}, 100).ServeHTTP(httptest.NewRecorder(), r)
	if !called {
		t.Error("the method was not called")
	}
}

// TestAllResponses: every response is printed, also the last one of a method that returns at once, and freed.
func TestAllResponses(t *testing.T) {
	for n := range 200 {
		var out frame.Outbox
		w := httptest.NewRecorder()
		plain.New(func(_ string, ss grpc.ServerStream) error {
			for range n % 4 {
				if err := ss.SendMsg(heartbeat(t, &out)); err != nil {
					return err
				}
			}
			return nil
		}, 100).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/replays/x/events", http.NoBody))
		if lines := strings.Count(w.Body.String(), "\n"); lines != n%4 || !out.Empty() {
			t.Fatalf("%d lines of %d responses, all freed: %t", lines, n%4, out.Empty())
		}
	}
}

// flushed is a ResponseWriter that tells when it is flushed.
type flushed struct {
	*httptest.ResponseRecorder

	done chan struct{}
}

func (f flushed) Flush() { close(f.done) }

// TestFlush: a response after which none follows is sent while the call goes on.
func TestFlush(t *testing.T) {
	w := flushed{httptest.NewRecorder(), make(chan struct{})}
	var out frame.Outbox
	plain.New(func(_ string, ss grpc.ServerStream) error {
		err := ss.SendMsg(heartbeat(t, &out))
		within(t, "the response is not flushed", w.done)
		w.done = make(chan struct{})
		return err
	}, 100).ServeHTTP(&w, httptest.NewRequest(http.MethodGet, "/v1/replays/x/events", http.NoBody))
}

// gone is a ResponseWriter whose client has gone.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestGone: a call whose answer cannot be written ends, whether it waits or goes on sending, and what it has sent is freed.
func TestGone(t *testing.T) {
	for _, sends := range []bool{false, true} {
		var out frame.Outbox
		plain.New(func(_ string, ss grpc.ServerStream) error {
			err := ss.SendMsg(heartbeat(t, &out))
			for sends && err == nil {
				err = ss.SendMsg(heartbeat(t, &out))
			}
			within(t, "the call goes on", ss.Context().Done())
			return err
		}, 100).ServeHTTP(gone{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/v1/replays/x/events", http.NoBody))
		if !out.Empty() {
			t.Error("a response was not freed")
		}
	}
}

// TestLeft: a method that still sends when its call has ended, as one that was abandoned does, is not stuck.
func TestLeft(t *testing.T) {
	var out frame.Outbox
	left := make(chan struct{})
	plain.New(func(_ string, ss grpc.ServerStream) error {
		go func() {
			defer close(left)
			for ss.SendMsg(heartbeat(t, &out)) == nil {
			}
		}()
		return context.Canceled
	}, 100).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/replays/x/events", http.NoBody))
	within(t, "it is stuck", left)
}

// TestUploadLimit: an upload to decode at once may have so many bytes and no more, and keeps its data while it is read on.
func TestUploadLimit(t *testing.T) {
	for size, want := range map[int]int{100: http.StatusOK, 101: http.StatusRequestEntityTooLarge} {
		body := io.MultiReader(strings.NewReader(strings.Repeat("a", 50)), strings.NewReader(strings.Repeat("b", size-50)))
		w := httptest.NewRecorder()
		plain.New(func(_ string, ss grpc.ServerStream) error {
			got := ""
			var kept [][]byte
			for {
				part := new(replaydv1.DecodeReplayRequest)
				if err := ss.RecvMsg(part); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					return err
				}
				kept = append(kept, part.GetData())
			}
			for _, part := range kept {
				got += string(part)
			}
			if got != strings.Repeat("a", 50)+strings.Repeat("b", size-50) {
				t.Error(got)
			}
			return nil
		}, 100).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/decode", body))
		if w.Code != want {
			t.Errorf("%d bytes: %d, want %d: %s", size, w.Code, want, w.Body)
		}
	}
}
