// Package fault has the errors of the service that carry the status for the client.
package fault

import (
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	replaydv1 "github.com/replayd/replayd/proto/replayd/v1"
)

// Domain is the domain of every ErrorInfo of this service.
const Domain = "replayd.dev"

// Error is an error with the status that clients get.
type Error struct {
	Code    codes.Code
	Reason  replaydv1.ErrorReason
	Message string
	Meta    map[string]string
	Details []protoadapt.MessageV1
}

// maxMessage limits the text of a status, in bytes. It is sent in the trailers, in some cases twice, and clients accept 8 KiB
// of trailers by default.
const maxMessage = 2000

// Shorten shortens a text that quotes a client.
func Shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "..."
}

// Error implements error.
func (f *Error) Error() string { return Shorten(f.Message) }

// GRPCStatus returns the status that clients get. status.FromError finds it.
func (f *Error) GRPCStatus() *status.Status {
	info := &errdetails.ErrorInfo{
		Reason:   strings.TrimPrefix(f.Reason.String(), "ERROR_REASON_"),
		Domain:   Domain,
		Metadata: f.Meta,
	}
	s := status.New(f.Code, f.Error())
	detailed, err := s.WithDetails(append([]protoadapt.MessageV1{info}, f.Details...)...)
	if err != nil { // a detail cannot be marshalled; send at least the code and the message
		return s
	}
	return detailed
}

// BadRequest returns the error of a request with an invalid field.
func BadRequest(field, problem string) *Error {
	problem = Shorten(problem)
	return &Error{
		Code: codes.InvalidArgument, Reason: replaydv1.ErrorReason_ERROR_REASON_BAD_REQUEST,
		Message: field + ": " + problem,
		Details: []protoadapt.MessageV1{&errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: problem}},
		}},
	}
}
