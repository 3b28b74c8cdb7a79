// Package buckettest is an S3 server in the process of a test. It counts requests, and can fail and delay them. If MOTO is the
// path of a moto_server, a process of that program stores the objects; otherwise gofakes3 does.
package buckettest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Name is the name of the bucket.
const Name = "replays"

// Store is a server with one bucket.
type Store struct {
	tb     testing.TB
	fake   http.Handler
	later  func(time.Duration)
	server *httptest.Server

	mu       sync.Mutex
	requests []*Request
	hook     func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

// Request is a request that the server received.
type Request struct {
	Method, Key string
	List        bool
	Prefix      string // of a request for a list
	Range       string
	IfMatch     string
	Sent        int64 // bytes of the answer's body
}

// New starts a server, which ends with the test.
func New(tb testing.TB) *Store {
	tb.Helper()
	s := &Store{tb: tb}
	if program := os.Getenv(motoVariable); program != "" {
		s.fake, s.later = moto(tb, program), func(time.Duration) { time.Sleep(time.Second) } // moto has times in seconds
	} else {
		clock := gofakes3.FixedTimeSource(time.Now())
		backend := s3mem.New(s3mem.WithTimeSource(clock))
		if err := backend.CreateBucket(Name); err != nil {
			tb.Fatal(err)
		}
		s.fake = matching(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog()), gofakes3.WithTimeSource(clock), gofakes3.WithTimeSkewLimit(0)).Server())
		s.later = clock.Advance
	}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(s.server.Close)
	return s
}

// matching makes a fake know If-Match for reading and writing, and If-None-Match for writing, as S3 does.
func matching(fake http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
		if match != "" || none != "" && r.Method == http.MethodPut {
			head := httptest.NewRecorder()
			fake.ServeHTTP(head, httptest.NewRequestWithContext(r.Context(), http.MethodHead, r.URL.String(), http.NoBody))
			there := head.Code == http.StatusOK
			changed := there && match != "" && head.Header().Get("ETag") != match
			if changed || there && none == "*" || !there && match != "" && r.Method == http.MethodPut {
				_, _ = io.Copy(io.Discard, r.Body) // a client may miss an early answer if the server then hangs up
				Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
				return
			}
		}
		fake.ServeHTTP(w, r)
	})
}

// serve counts a request, and passes it to the hook or the fake.
func (s *Store) serve(w http.ResponseWriter, r *http.Request) {
	req := &Request{
		Method: r.Method, Key: strings.TrimPrefix(r.URL.Path, "/"+Name+"/"), Range: r.Header.Get("Range"),
		List: r.URL.Query().Has("list-type"), Prefix: r.URL.Query().Get("prefix"), IfMatch: r.Header.Get("If-Match"),
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	hook := s.hook
	s.mu.Unlock()
	counted := &counting{ResponseWriter: w, count: func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		req.Sent += int64(n)
	}}
	if hook != nil {
		hook(counted, r, s.fake)
		return
	}
	s.fake.ServeHTTP(counted, r)
}

// counting counts bytes before they are sent, because a client that has received them all may ask for the count at once.
type counting struct {
	http.ResponseWriter
	count func(int)
}

func (c *counting) Write(p []byte) (int, error) {
	c.count(len(p))
	n, err := c.ResponseWriter.Write(p)
	c.count(n - len(p))
	return n, err
}

func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Refuse answers with an S3 error.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>of the store</Message></Error>"))
}

// Hook makes f answer the requests, until Hook is called with nil. f may pass them on.
func (s *Store) Hook(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Throttle limits the bytes that the server sends in a second, over all requests. Zero means no limit.
func (s *Store) Throttle(perSecond int) {
	if perSecond == 0 {
		s.Hook(nil)
		return
	}
	line := &line{per: time.Second / time.Duration(perSecond/chunk)}
	s.Hook(func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(&slow{w, line}, r) })
}

const chunk = 4 << 10

// line is a network of limited speed.
type line struct {
	mu   sync.Mutex
	per  time.Duration // the time for a chunk
	free time.Time
}

func (l *line) take(n int) {
	l.mu.Lock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(l.per * time.Duration(n) / chunk)
	until := l.free
	l.mu.Unlock()
	time.Sleep(time.Until(until))
}

type slow struct {
	http.ResponseWriter
	line *line
}

func (s *slow) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), chunk)]
		s.line.take(len(part))
		var wrote int
		wrote, err = s.ResponseWriter.Write(part)
		n += wrote
		p = p[len(part):]
		_ = http.NewResponseController(s.ResponseWriter).Flush()
	}
	return n, err
}

// Requests returns the requests since the last call. Requests without an answer yet have a Sent of 0.
func (s *Store) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Request
	for _, r := range s.requests {
		list = append(list, *r)
	}
	s.requests = nil
	return list
}

// Put stores an object.
func (s *Store) Put(key string, data []byte) {
	s.tb.Helper()
	s.do(http.MethodPut, key, data, http.StatusOK)
}

// Get returns an object.
func (s *Store) Get(key string) []byte {
	s.tb.Helper()
	return s.do(http.MethodGet, key, nil, http.StatusOK)
}

// Remove deletes an object.
func (s *Store) Remove(key string) {
	s.tb.Helper()
	s.do(http.MethodDelete, key, nil, http.StatusNoContent)
}

// do makes a request that is not counted, and returns the body of the answer.
func (s *Store) do(method, key string, data []byte, want int) []byte {
	s.tb.Helper()
	at := url.URL{Path: "/" + Name + "/" + key}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.Background(), method, at.String(), bytes.NewReader(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
	s.fake.ServeHTTP(w, r)
	if w.Code != want {
		s.tb.Fatal(key, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// Later moves the clock: objects that are stored from now on have a later time.
func (s *Store) Later(d time.Duration) { s.later(d) }

// Endpoint returns the URL of the server.
func (s *Store) Endpoint() string { return s.server.URL }

// URL returns the URL of a path in the bucket, for requests without credentials, with a refresh of an hour. Pairs of names and
// values set other parameters; an empty value removes one.
func (s *Store) URL(path string, parameters ...string) string {
	values := url.Values{"endpoint": {s.server.URL}, "anonymous": {strconv.FormatBool(true)}, "refresh": {"1h"}}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] == "" {
			values.Del(parameters[i])
		} else {
			values.Set(parameters[i], parameters[i+1])
		}
	}
	return strings.TrimSuffix("s3://"+Name+"/"+cmp.Or(path, ""), "/") + "?" + values.Encode()
}
