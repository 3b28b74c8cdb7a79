package service

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/service/fault"
)

// body is the body of a request by the web. Nothing of it is read before openBody, which is called once the gate has admitted the
// call and its cost was taken. Behind net/http, gRPC and the transcoder would otherwise read a body before any interceptor runs.
type body struct {
	io.ReadCloser

	control *http.ResponseController
	opened  chan struct{} // closed by openBody or by end
	once    sync.Once
	over    atomic.Bool // it was read to its end, or ended
	read    bool        // used by Read alone
}

type bodyKey struct{}

// withBody returns r with a body that must be opened.
func withBody(w http.ResponseWriter, r *http.Request) *http.Request {
	b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), opened: make(chan struct{})}
	r = r.WithContext(context.WithValue(r.Context(), bodyKey{}, b)) // a copy: the server looks at its own request's body to know what was not read
	r.Body = b
	return r
}

// openBody allows the body of the call of ctx to be read, if the call came by the web.
func openBody(ctx context.Context) {
	if b, ok := ctx.Value(bodyKey{}).(*body); ok {
		b.once.Do(func() { close(b.opened) })
	}
}

// errUnread is the error of reading a body whose call has ended.
var errUnread = errors.New("the call has ended")

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if <-b.opened; b.over.Load() && !b.read {
		return 0, errUnread
	}
	b.read = true
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.over.Store(true)
	}
	return n, err
}

// end ends a Read that waits.
func (b *body) end() {
	if !b.over.Swap(true) {
		_ = b.control.SetReadDeadline(time.Now()) // not every ResponseWriter can do it
	}
	b.once.Do(func() { close(b.opened) })
}

// endBodies returns a handler for a gRPC server: next. When a call ends, gRPC closes its body, and then waits for a running Read,
// which may wait for the client. So each body is ended before it is closed.
//
// gRPC has one status for all bodies that are too long, RESOURCE_EXHAUSTED, and sends it by itself. If the body was refused for good, the
// handler replaces it.
func endBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := r.Context().Value(bodyKey{}).(*body)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		body := &ended{ReadCloser: r.Body, of: b}
		r = r.WithContext(r.Context())
		r.Body = body
		next.ServeHTTP(w, r)
		if trailers := w.Header(); body.refused != nil && trailers.Get("Grpc-Status") == strconv.Itoa(int(codes.ResourceExhausted)) {
			s := body.refused.GRPCStatus()
			details, err := proto.Marshal(s.Proto())
			if err != nil {
				return
			}
			trailers.Set("Grpc-Status", strconv.Itoa(int(s.Code())))
			trailers.Set("Grpc-Message", s.Message()) // it is ASCII without %
			trailers.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
		}
	})
}

// ended is a body made of another one.
type ended struct {
	io.ReadCloser

	of      *body
	refused *fault.Error // of the last Read; gRPC reads no more when a call has ended
}

// Read implements io.Reader.
func (e *ended) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	e.refused, _ = errors.AsType[*fault.Error](err)
	return n, err
}

// Close implements io.Closer.
func (e *ended) Close() error {
	e.of.end()
	return e.ReadCloser.Close()
}
