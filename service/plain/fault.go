package plain

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
	"github.com/replayd/replayd/replay/cursor"
)

// fault is an error as clients see it. The tags named doc describe its fields in the OpenAPI document.
type fault struct {
	Code       string            `json:"code"                    doc:"The name of the gRPC code."`
	Message    string            `json:"message"                 doc:"A text for people."`
	Reason     string            `json:"reason,omitempty"        doc:"The name of an ErrorReason, without its prefix."`
	Field      string            `json:"field,omitempty"         doc:"The name of the invalid parameter."`
	Metadata   map[string]string `json:"metadata,omitempty"      doc:"Details that depend on the reason, such as the offset of damage."`
	Cursor     string            `json:"cursor,omitempty"        doc:"The cursor behind the last event that was sent."`
	RetryAfter float64           `json:"retry_after_s,omitempty" doc:"How many seconds to wait before trying again."`

	code  codes.Code
	retry bool // RetryAfter was given
	sent  bool // the cause is the data that the client has sent
}

func newFault(code codes.Code, message string) *fault {
	return &fault{Code: nameOf(code), Message: message, code: code}
}

// badRequest returns the fault for an invalid parameter.
func badRequest(field, problem string) *fault {
	f := newFault(codes.InvalidArgument, field+": "+problem)
	f.Reason, f.Field = "BAD_REQUEST", field
	return f
}

// nameOf returns the name of an error's code as Connect writes it.
func nameOf(code codes.Code) string {
	var b strings.Builder
	for i, r := range code.String() {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// faultOf converts a status to a fault.
func faultOf(s *spb.Status) *fault {
	f := newFault(codes.Code(s.GetCode()), s.GetMessage())
	for _, detail := range s.GetDetails() {
		m, err := detail.UnmarshalNew()
		if err != nil {
			continue // an unknown kind of detail
		}
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			f.Reason, f.Metadata = m.GetReason(), m.GetMetadata()
		case *errdetails.BadRequest:
			for _, v := range m.GetFieldViolations() {
				f.Field = v.GetField()
			}
		case *errdetails.RetryInfo:
			f.RetryAfter, f.retry = m.GetRetryDelay().AsDuration().Seconds(), true
		case *replaydv1.ResumeInfo:
			f.Cursor = cursor.Text(m.GetCursor())
		}
	}
	return f
}

// again reports whether the same request may succeed soon.
func (f *fault) again() bool {
	return f.code == codes.Unavailable || f.code == codes.Canceled || f.RetryAfter > 0
}

// httpStatus maps gRPC codes to HTTP statuses.
var httpStatus = map[codes.Code]int{
	codes.InvalidArgument: http.StatusBadRequest, codes.FailedPrecondition: http.StatusConflict,
	codes.OutOfRange: http.StatusRequestedRangeNotSatisfiable, codes.Unauthenticated: http.StatusUnauthorized,
	codes.PermissionDenied: http.StatusForbidden, codes.NotFound: http.StatusNotFound,
	codes.ResourceExhausted: http.StatusTooManyRequests, codes.Unimplemented: http.StatusNotImplemented,
	codes.Unavailable: http.StatusServiceUnavailable, codes.DeadlineExceeded: http.StatusGatewayTimeout,
}

// sentStatus maps the reasons of faults in the client's data to HTTP statuses.
var sentStatus = map[string]int{
	"CORRUPT": http.StatusUnprocessableEntity, "TRUNCATED": http.StatusUnprocessableEntity,
	"UNSUPPORTED_VERSION": http.StatusUnsupportedMediaType, "TOO_LARGE": http.StatusRequestEntityTooLarge,
}

// status returns the HTTP status of the fault.
func (f *fault) status() int {
	if status, ok := sentStatus[f.Reason]; ok && f.sent {
		return status
	}
	if f.Reason == "TOO_LARGE" { // 409 would say that the request conflicts with another
		return http.StatusUnprocessableEntity
	}
	if status, ok := httpStatus[f.code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// answer answers a request with the fault.
func (f *fault) answer(w http.ResponseWriter) { f.answerAs(w, f.status()) }

func (f *fault) answerAs(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	switch {
	case f.code == codes.Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case f.RetryAfter > 0:
		h.Set("Retry-After", strconv.Itoa(int(f.RetryAfter+0.999)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(f.line()) //nolint:gosec // the answer is JSON, and says so
}

// line returns the fault as a line of JSON.
func (f *fault) line() []byte {
	b, err := json.Marshal(map[string]*fault{"error": f})
	if err != nil { // cannot happen: all fields can be encoded
		return []byte("{\"error\":{}}\n")
	}
	return append(b, '\n')
}
