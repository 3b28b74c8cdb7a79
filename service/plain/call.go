package plain

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/service/temporary"
)

// framed returns the body of a call with one message.
func framed(m proto.Message) io.ReadCloser {
	b, err := proto.Marshal(m)
	if err != nil { // a string that is not UTF-8
		return io.NopCloser(failing{err})
	}
	return io.NopCloser(&once{b: append(prefix(len(b)), b...)})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// once is a bytes.Reader without its other methods. They would make net/http assume that it knows the length.
type once struct{ b []byte }

func (o *once) Read(p []byte) (int, error) {
	if len(o.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.b)
	o.b = o.b[n:]
	return n, nil
}

// prefixLen is the length of the prefix of each gRPC message: a compression flag and the message's length.
const prefixLen = 5

func prefix(length int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(length)) }

// upload is the body of a call that sends a file. The first message has the options, all others have data. The methods' requests
// have their data in the same field.
type upload struct {
	body io.Reader
	left int64       // how many more bytes the file may have
	had  int64       // bytes of the file that were read
	long atomic.Bool // the file is longer than the limit
	stop func()      // ends a waiting Read of the body
	flow *flow

	pending []byte
	room    [64 << 10]byte
}

func newUpload(options proto.Message, body io.Reader, limit int64, stop func()) *upload {
	u := &upload{body: body, left: limit, stop: stop, flow: newFlow()}
	first, err := proto.Marshal(options)
	if err != nil {
		u.body = failing{err}
	}
	u.pending = append(prefix(len(first)), first...)
	return u
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	for len(u.pending) == 0 {
		u.flow.wait()
		n, err := io.ReadAtLeast(u.body, u.room[:], u.least())
		if n > 0 { // the next Read returns the error again
			err = nil
		}
		u.had += int64(n)
		if u.left -= int64(n); u.left < 0 {
			u.long.Store(true)
			// This is the only read error that gRPC does not treat as a lost connection.
			return 0, http2.StreamError{Code: http2.ErrCodeEnhanceYourCalm}
		}
		if n > 0 {
			u.flow.add(n)
			message := protowire.AppendBytes(protowire.AppendTag(nil, protoscan.DecodeData, protowire.BytesType), u.room[:n])
			u.pending = append(prefix(len(message)), message...)
			break
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, u.pending)
	u.pending = u.pending[n:]
	return n, nil
}

// least returns the least number of bytes of a message, except for the last one. gRPC keeps 16 KiB for each waiting message,
// however short it is. So messages must become longer as the upload grows.
func (u *upload) least() int { return int(min(max(u.had/256, 1), 16<<10)) }

// Close implements io.Closer. gRPC closes the body when the call ends, and then waits until no Read is running.
func (u *upload) Close() error {
	u.flow.add(math.MinInt32)
	u.stop()
	return nil
}

// flow limits how much of an upload is read before the service takes it: gRPC keeps everything in between in memory.
type flow struct {
	mu    sync.Mutex
	ahead int // bytes that the service has not taken
	less  *sync.Cond
}

// maxAhead is the number of bytes ahead of the service from which on an upload is not read.
const maxAhead = 512 << 10

func newFlow() *flow {
	f := &flow{}
	f.less = sync.NewCond(&f.mu)
	return f
}

// wait waits until more of the upload may be read.
func (f *flow) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.ahead >= maxAhead {
		f.less.Wait()
	}
}

// add adds bytes that were read.
func (f *flow) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += n
	f.less.Signal()
}

type flowKey struct{}

// Took reports that the service has taken n bytes of an upload. ctx is the context of the call. It does nothing if the call did
// not come by plain HTTP.
func Took(ctx context.Context, n int) {
	if f, ok := ctx.Value(flowKey{}).(*flow); ok {
		f.add(-n)
	}
}

// passed lists the headers that the service uses. No other headers reach it, in particular no cookies.
var passed = []string{"Authorization", "X-Forwarded-For", "User-Agent"}

// call calls a method with the messages in body. It calls each with every message of the answer, which is valid until each
// returns. It calls flush when everything so far should be sent to the client. It returns nil if the call succeeds.
func (h *Handler) call(r *http.Request, method string, body io.ReadCloser, each func([]byte) error, flush func()) *fault {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	if u, ok := body.(*upload); ok {
		ctx = context.WithValue(ctx, flowKey{}, u.flow)
	}
	to := r.Clone(ctx)
	to.Method, to.URL, to.RequestURI = http.MethodPost, &url.URL{Path: method}, method
	to.Proto, to.ProtoMajor, to.ProtoMinor = "HTTP/2.0", 2, 0
	to.Header = http.Header{"Content-Type": {"application/grpc+proto"}, "Te": {"trailers"}}
	for _, name := range passed {
		if values := r.Header.Values(name); len(values) > 0 {
			to.Header[name] = values
		}
	}
	to.Body, to.ContentLength = body, -1
	a := &answer{header: http.Header{}, each: each, flush: flush, cancel: cancel}
	h.grpc.ServeHTTP(a, to)
	f := a.fault()
	if f != nil {
		_, uploaded := body.(*upload)
		f.sent = uploaded || temporary.Is(f.Metadata["replay"])
	}
	return f
}

// answer parses the response of a gRPC server.
type answer struct {
	header http.Header
	each   func([]byte) error
	flush  func()
	cancel context.CancelCauseFunc

	rest []byte // the beginning of an incomplete message
	err  error  // the error of handling a message, which ends the call
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (*answer) WriteHeader(int) {}

// Flush implements http.Flusher.
func (a *answer) Flush() {
	if a.err == nil {
		a.flush()
	}
}

var errCompressed = errors.New("a message is compressed, which was not asked for")

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	a.rest = append(a.rest, p...)
	b := a.rest
	for len(b) >= prefixLen {
		length := int(binary.BigEndian.Uint32(b[1:]))
		if len(b)-prefixLen < length {
			break
		}
		a.err = errCompressed
		if b[0] == 0 {
			a.err = a.each(b[prefixLen : prefixLen+length])
		}
		if a.err != nil {
			a.cancel(a.err) // the rest of the answer is not read
			return 0, a.err
		}
		b = b[prefixLen+length:]
	}
	a.rest = append(a.rest[:0], b...)
	return len(p), nil
}

// fault returns the error of the call, nil if it succeeded.
func (a *answer) fault() *fault {
	if a.err != nil {
		return newFault(codes.Canceled, a.err.Error())
	}
	text := a.header.Get("Grpc-Status")
	code, err := strconv.ParseUint(text, 10, 32)
	if err != nil { // the client has gone
		return newFault(codes.Canceled, "the call was not answered")
	}
	if code == uint64(codes.OK) {
		return nil
	}
	s := &spb.Status{}
	details, err := base64.RawStdEncoding.DecodeString(a.header.Get("Grpc-Status-Details-Bin"))
	if err != nil || len(details) == 0 || proto.Unmarshal(details, s) != nil {
		message, err := url.PathUnescape(a.header.Get("Grpc-Message"))
		if err != nil {
			message = a.header.Get("Grpc-Message")
		}
		s = &spb.Status{Code: int32(code), Message: message}
	}
	return faultOf(s)
}
