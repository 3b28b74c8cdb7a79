package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
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
func endBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, ok := r.Context().Value(bodyKey{}).(*body); ok {
			r = r.WithContext(r.Context())
			r.Body = ended{r.Body, b}
		}
		next.ServeHTTP(w, r)
	})
}

// ended is a body made of another one.
type ended struct {
	io.ReadCloser

	of *body
}

// Close implements io.Closer.
func (e ended) Close() error {
	e.of.end()
	return e.ReadCloser.Close()
}
