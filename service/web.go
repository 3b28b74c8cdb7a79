package service

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	connectcors "connectrpc.com/cors"
	"connectrpc.com/vanguard"
	"github.com/rs/cors"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/service/access"
	"github.com/replayd/replayd/service/fault"
	"github.com/replayd/replayd/service/h2guard"
	plainhttp "github.com/replayd/replayd/service/plain"
)

// corsMaxAge is how long browsers may cache the answer to a CORS preflight.
const corsMaxAge = 2 * time.Hour

// Web serves the same API by Connect and gRPC-Web, for browsers, which cannot speak gRPC.
type Web struct {
	server       *http.Server
	gate         *access.Gate
	writeTimeout time.Duration // longer than SendTimeout, so that the call ends first, with an error that says why
}

// NewWeb returns a Web that serves the daemon's API to browsers. Pages of the listed origins, such as "https://example.org",
// may use it. "*" allows all origins. An empty list allows only pages that are served from the Web's own address.
func (d *Daemon) NewWeb(origins []string) (*Web, error) {
	methods := endBodies(d.grpc)
	var services []*vanguard.Service
	for name := range d.grpc.GetServiceInfo() {
		services = append(services, vanguard.NewService(name, methods))
	}
	transcoder, err := vanguard.NewTranscoder(services,
		vanguard.WithDefaultServiceOptions(vanguard.WithTargetCodecs(vanguard.CodecProto), vanguard.WithTargetProtocols(vanguard.ProtocolGRPC)),
		vanguard.WithCodec(func(types vanguard.TypeResolver) vanguard.Codec {
			codec := vanguard.NewJSONCodec(types)
			codec.UnmarshalOptions.DiscardUnknown = false // otherwise a misspelt field would be ignored silently
			return jsonCodec{codec}
		}),
		vanguard.WithCompression(vanguard.CompressionGzip,
			func() connect.Compressor { return gzip.NewWriter(io.Discard) },
			func() connect.Decompressor { return &gunzip{} }))
	if err != nil {
		return nil, err
	}
	api := newRequests(d.grpc, transcoder)
	var handler http.Handler
	if len(origins) == 0 {
		handler = d.routes(api, func(*http.Request) bool { return false })
	} else {
		others := cors.New(cors.Options{
			AllowedOrigins: origins,
			AllowedMethods: append(connectcors.AllowedMethods(), http.MethodDelete, http.MethodHead),
			AllowedHeaders: append(connectcors.AllowedHeaders(), "Authorization", "Last-Event-ID", "Range", "If-Range", "If-Match", "If-None-Match"),
			ExposedHeaders: append(connectcors.ExposedHeaders(), plainhttp.TableHeaders()...),
			MaxAge:         int(corsMaxAge / time.Second),
		})
		handler = others.Handler(d.routes(api, others.OriginAllowed))
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &Web{gate: d.server.Gate, writeTimeout: 2 * d.server.SendTimeout, server: &http.Server{
		ConnContext:       h2guard.KeepConn,
		IdleTimeout:       webIdle,
		ErrorLog:          slog.NewLogLogger(d.server.Log.Handler(), slog.LevelDebug),
		Handler:           handler,
		ReadHeaderTimeout: connectionTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         protocols,
	}}, nil
}

// webIdle is how long a connection is kept without a call.
const webIdle = 2 * time.Minute

// maxWebBytes bounds all the bytes that an upload sends. Behind net/http, gRPC reads a body ahead of the handler and keeps it in
// memory. There is no flow control for a client that sends faster than its data is decoded.
const maxWebBytes = 4 << 20

// prefixBytes is the length of the prefix of each message of gRPC, gRPC-Web, and streams of Connect: flags and a length.
const prefixBytes = 5

var (
	errMessageTooLong = tooLarge("a message has more than %d bytes", maxMessageBytes)
	errTooMuch        = tooLarge("here a call may send %d bytes; send larger uploads to the address for gRPC", maxWebBytes)
	errNoJSON         = errors.New("no bytes are no JSON; {} is the empty message")
)

// requests makes the checks of requests that the transcoder does not make. It limits their length, because the transcoder has
// only one limit for requests and responses, and a response is longer as JSON than as protobuf. It also refuses empty JSON. It
// reads no body itself, because the gate has not admitted the call yet.
type requests struct {
	next    http.Handler
	uploads map[string]bool // the methods whose clients stream, by path
}

// newRequests returns the checks of requests for next, which serves the methods of a server.
func newRequests(server *grpc.Server, next http.Handler) *requests {
	h := &requests{next: next, uploads: map[string]bool{}}
	for service, info := range server.GetServiceInfo() {
		for _, method := range info.Methods {
			h.uploads["/"+service+"/"+method.Name] = method.IsClientStream
		}
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(r.Context()) // a copy: the server checks its own request's body for unread bytes
	contentType := r.Header.Get("Content-Type")
	switch upload := h.uploads[r.URL.Path]; {
	case strings.HasPrefix(contentType, "application/connect+"), strings.HasPrefix(contentType, "application/grpc"):
		body := &envelopes{ReadCloser: r.Body, message: h2guard.MaxRequest, all: h2guard.MaxRequest + prefixBytes, long: errLong, much: errLong}
		if upload {
			body.message, body.all, body.long, body.much = maxMessageBytes, maxWebBytes, errMessageTooLong, errTooMuch
		}
		r.Body = body
	case strings.HasPrefix(contentType, "application/") && r.Method == http.MethodPost:
		r.Body = &bare{ReadCloser: r.Body, left: h2guard.MaxRequest, blank: strings.HasPrefix(contentType, "application/json")}
		r.ContentLength = -1 // bare may make it longer
		// Connect lets servers decide whether to require the version. The transcoder requires it, because it can also serve REST.
		const version = "Connect-Protocol-Version"
		if r.Header.Get(version) == "" {
			r.Header.Set(version, "1")
		}
		w = &unary{ResponseWriter: w}
	}
	h.next.ServeHTTP(w, r)
}

// unary is the answer to a Connect request with one message. Connect answers RESOURCE_EXHAUSTED with 429, too many requests. A
// request that is too large, and stays so, gets 413 with the same code.
type unary struct {
	http.ResponseWriter

	held bool // the status 429 is written only after the error shows that it is right
}

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (u *unary) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (u *unary) WriteHeader(status int) {
	if u.held = status == http.StatusTooManyRequests; !u.held {
		u.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (u *unary) Write(p []byte) (int, error) {
	if u.held {
		u.held = false
		status := http.StatusRequestEntityTooLarge
		if bytes.Contains(p, []byte("google.rpc.RetryInfo")) {
			status = http.StatusTooManyRequests
		}
		u.ResponseWriter.WriteHeader(status)
	}
	return u.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (u *unary) Flush() {
	if u.held {
		u.held = false
		u.ResponseWriter.WriteHeader(http.StatusTooManyRequests)
	}
	_ = http.NewResponseController(u.ResponseWriter).Flush()
}

// bare reads a body that is one message, which may be empty.
type bare struct {
	io.ReadCloser

	left  int  // bytes that the message may still have
	blank bool // the body has no bytes so far; an empty body is no message
}

// Read implements io.Reader.
func (b *bare) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, refusal(errLong)
	}
	if n > 0 {
		b.blank = false
	}
	if b.blank && errors.Is(err, io.EOF) && len(p) > 0 { // the transcoder would take it for an empty message
		b.blank = false
		p[0] = ' '
		return 1, io.EOF
	}
	return n, err
}

// envelopes reads a body of length-prefixed messages. It refuses a message that is too long before memory is allocated for it.
type envelopes struct {
	io.ReadCloser

	message    uint32 // the maximum length of a message
	all        int    // the maximum length of the body
	long, much error  // the errors for a longer message, and a longer body

	total  int
	prefix [prefixBytes]byte
	have   int // bytes of the prefix that were read
	left   int // bytes of the message that are still to read
}

// Read implements io.Reader.
func (e *envelopes) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if e.total += n; e.total > e.all {
		return 0, refusal(e.much)
	}
	for b := p[:n]; len(b) > 0; {
		if e.left > 0 {
			skipped := min(e.left, len(b))
			e.left -= skipped
			b = b[skipped:]
			continue
		}
		copied := copy(e.prefix[e.have:], b)
		e.have += copied
		b = b[copied:]
		if e.have < len(e.prefix) {
			break
		}
		length := binary.BigEndian.Uint32(e.prefix[1:])
		if length > e.message {
			return 0, refusal(e.long)
		}
		e.have, e.left = 0, int(length)
	}
	return n, err
}

// tooLarge returns the error of an upload that no later try makes smaller.
func tooLarge(format string, args ...any) error {
	return &fault.Error{
		Code: codes.FailedPrecondition, Reason: replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE, Message: fmt.Sprintf(format, args...),
	}
}

// refusal returns an error for reading a body that gRPC reports as RESOURCE_EXHAUSTED. gRPC treats every other read error as a
// lost connection, and clients retry after that.
func refusal(cause error) error {
	return errors.Join(cause, http2.StreamError{Code: http2.ErrCodeEnhanceYourCalm, Cause: cause})
}

// jsonCodec reports invalid JSON as INVALID_ARGUMENT.
type jsonCodec struct{ *vanguard.JSONCodec }

// Unmarshal implements vanguard.Codec.
func (c jsonCodec) Unmarshal(data []byte, msg proto.Message) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return connect.NewError(connect.CodeInvalidArgument, errNoJSON)
	}
	if err := c.JSONCodec.Unmarshal(data, msg); err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return nil
}

// maxInflatedBytes bounds the decompressed size of a message. Responses are decompressed too, to convert them to JSON.
const maxInflatedBytes = 1 << 20

// gunzip decompresses a message of at most maxInflatedBytes.
type gunzip struct {
	gzip.Reader

	left int
}

// Reset implements connect.Decompressor.
func (g *gunzip) Reset(r io.Reader) error {
	g.left = maxInflatedBytes
	return unpacking(g.Reader.Reset(r))
}

// unpacking returns the error of a client whose message cannot be unpacked.
func unpacking(err error) error {
	_, known := errors.AsType[*connect.Error](err)
	switch {
	case err == nil, known, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF):
	default:
		if _, corrupt := errors.AsType[flate.CorruptInputError](err); !corrupt {
			return err // of reading it
		}
	}
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("a message is not compressed as it says: %w", err))
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if g.left -= n; g.left < 0 {
		return 0, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("a message has more than %d bytes", maxInflatedBytes))
	}
	return n, unpacking(err)
}

// Serve serves on the listener until Shutdown.
func (w *Web) Serve(l net.Listener) error {
	tcp, ok := l.Addr().(*net.TCPAddr)
	guarded := w.gate.GuardHost(ok && tcp.IP.IsLoopback(), w.server.Handler)
	w.server.Handler = h2guard.KnowTLS(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		hurried := &hurried{ResponseWriter: rw, limit: w.writeTimeout, lasts: r.ProtoMajor == 1}
		defer hurried.end()
		guarded.ServeHTTP(hurried, r)
	}))
	if err := w.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// hurried is a ResponseWriter whose writes fail when the client does not read for too long: for limit or half as long again.
// Nothing else ends the handler then: gRPC's own deadline ends the call, but its transport behind net/http waits for the write.
type hurried struct {
	http.ResponseWriter

	limit time.Duration
	lasts bool      // the deadline may stay between writes
	until time.Time // the deadline that stays
	clean bool      // nothing was written since the last Flush
}

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (h *hurried) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Write implements io.Writer.
func (h *hurried) Write(p []byte) (int, error) {
	h.clean = false
	defer h.lift(h.hurry())
	return h.ResponseWriter.Write(p)
}

// Flush implements http.Flusher. The transcoder and gRPC each flush every message.
func (h *hurried) Flush() {
	if h.clean {
		return
	}
	h.clean = true
	defer h.lift(h.hurry())
	_ = http.NewResponseController(h.ResponseWriter).Flush()
}

// hurry sets the deadline of a write, and reports whether it must be lifted afterwards. In HTTP/2 a deadline must not stay,
// because it also ends a stream that has nothing to send. In HTTP/1 it only fails writes. There it is set anew only when too
// little of it is left: a stream of a game writes dozens of times a second.
func (h *hurried) hurry() bool {
	now := time.Now()
	if h.lasts && h.until.Sub(now) >= h.limit {
		return false
	}
	h.until = now.Add(h.limit)
	if h.lasts {
		h.until = h.until.Add(h.limit / 2)
	}
	_ = http.NewResponseController(h.ResponseWriter).SetWriteDeadline(h.until)
	return !h.lasts
}

func (h *hurried) lift(must bool) {
	if must {
		_ = http.NewResponseController(h.ResponseWriter).SetWriteDeadline(time.Time{})
	}
}

// end lifts a deadline that stays: the server writes the end of the answer after the handler.
func (h *hurried) end() { h.lift(!h.until.IsZero() && h.lasts) }

// Shutdown refuses new calls and waits for running calls until ctx ends.
func (w *Web) Shutdown(ctx context.Context) error { return w.server.Shutdown(ctx) }

// Close closes all connections, also those with running calls.
func (w *Web) Close() { _ = w.server.Close() }
