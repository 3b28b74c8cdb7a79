package replayd

import (
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestDelay checks that a delay is at least what the daemon asks for and at most Retry.Max.
func TestDelay(t *testing.T) {
	r := Retry{Max: 4 * time.Second}.withDefaults()
	for _, test := range []struct{ asked, least, most time.Duration }{
		{0, 50 * time.Millisecond, 100 * time.Millisecond},
		{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond},
		{3 * time.Second, 3 * time.Second, 3 * time.Second},
		{time.Minute, 4 * time.Second, 4 * time.Second},
	} {
		if d := r.delay(0, test.asked); d < test.least || d > test.most {
			t.Errorf("%v where %v was asked for", d, test.asked)
		}
	}
}

// TestTransient checks which errors are retried. A reason that this client does not know is not a broken connection.
func TestTransient(t *testing.T) {
	info := func(reason string) protoadapt.MessageV1 {
		return protoadapt.MessageV1Of(&errdetails.ErrorInfo{Domain: errorDomain, Reason: reason})
	}
	after := func(d time.Duration) protoadapt.MessageV1 {
		return protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	}
	for _, test := range []struct {
		code    codes.Code
		details []protoadapt.MessageV1
		want    bool
	}{
		{codes.Unavailable, nil, true},
		{codes.Internal, nil, true},
		{codes.Unauthenticated, nil, false},
		{codes.Unavailable, []protoadapt.MessageV1{info("DRAINING")}, true},
		{codes.Internal, []protoadapt.MessageV1{info("INTERNAL")}, false},
		{codes.Internal, []protoadapt.MessageV1{info("OF_TOMORROW")}, false},
		{codes.Unavailable, []protoadapt.MessageV1{info("OF_TOMORROW")}, true},
		{codes.ResourceExhausted, []protoadapt.MessageV1{info("TOO_MANY_STREAMS")}, true},
		{codes.ResourceExhausted, []protoadapt.MessageV1{info("LIMIT_EXCEEDED")}, false},
		{codes.FailedPrecondition, []protoadapt.MessageV1{info("TOO_LARGE")}, false},
		{codes.ResourceExhausted, []protoadapt.MessageV1{info("LIMIT_EXCEEDED"), after(0)}, false},
		{codes.ResourceExhausted, []protoadapt.MessageV1{info("LIMIT_EXCEEDED"), after(time.Second)}, true},
	} {
		s, err := status.New(test.code, "because").WithDetails(test.details...)
		if err != nil {
			t.Fatal(err)
		}
		if got := Transient(s.Err()); got != test.want {
			t.Errorf("%v %v: %v", test.code, test.details, got)
		}
	}
}
