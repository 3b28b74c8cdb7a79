package plain

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	faults "github.com/replayd/replayd/service/fault"
)

// upload holds the messages of a call that sends a file: the options first, and then the body of a request, which is read no
// faster than the service takes it.
type upload struct {
	options proto.Message // nil once they were received
	body    io.Reader
	limit   int64
	chunked bool
	until   func(time.Time) // ends a Read of the body that waits at this time

	mu   sync.Mutex // held while the body is read
	over bool       // the call has ended
	had  int64      // bytes of the file that were read
	room [64 << 10]byte
}

// newUpload returns the messages of a request with a body of at most limit bytes.
func newUpload(w http.ResponseWriter, r *http.Request, options proto.Message, limit int64) *upload {
	// A call may answer before it has received everything: with events, or with an error.
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // HTTP/2 is always full duplex
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // if the call ends before the body, the rest is not a request
	}
	return &upload{
		options: options, body: r.Body, limit: limit, chunked: r.ProtoMajor == 1 && r.ContentLength < 0,
		until: func(t time.Time) { _ = control.SetReadDeadline(t) },
	}
}

// receive sets the next message.
func (u *upload) receive(m proto.Message) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.options != nil {
		proto.Merge(m, u.options)
		u.options = nil
		return nil
	}
	if u.over {
		return status.Error(codes.Canceled, "the call has ended")
	}
	n := 0
	for err := error(nil); n == 0; n, err = u.body.Read(u.room[:]) {
		if err != nil {
			return u.ended(err)
		}
	}
	if u.had += int64(n); u.had > u.limit {
		return &faults.Error{
			Code: codes.FailedPrecondition, Reason: replaydv1.ErrorReason_ERROR_REASON_TOO_LARGE,
			Message: fmt.Sprintf("here an upload may have %d bytes; store a larger one by a POST to %s", u.limit, replaysPath),
		}
	}
	data := slices.Clone(u.room[:n])
	switch m := m.(type) {
	case *replaydv1.DecodeReplayRequest:
		m.Part = &replaydv1.DecodeReplayRequest_Data{Data: data}
	case *replaydv1.CreateReplayRequest:
		m.Part = &replaydv1.CreateReplayRequest_Data{Data: data}
	}
	return nil
}

// ended converts an error of reading the body.
func (u *upload) ended(err error) error {
	_, lost := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case u.chunked && !lost && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, http.ErrBodyReadAfterClose):
		return faults.BadRequest("body", err.Error()) // only how chunks are written is left
	}
	return status.Error(codes.Unavailable, "the body did not arrive: "+err.Error())
}

// linger is how long net/http may then read what is left of a short body, which it does not use: closing the connection at once
// would send a reset, at which a client that is still sending may never read the answer.
const linger = 500 * time.Millisecond

// close ends a waiting Read, and waits for its end: nothing here may read the body after the request was answered.
func (u *upload) close() {
	u.until(time.Now())
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	u.until(time.Now().Add(linger))
}
