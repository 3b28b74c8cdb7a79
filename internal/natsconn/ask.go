package natsconn

import (
	"context"
	"errors"
	"time"
)

// ErrSilent means that NATS did not answer a request in time. NATS may have executed the request.
var ErrSilent = errors.New("NATS does not answer")

// Ask calls f, which makes a request of NATS with its context, and returns ErrSilent if it takes longer than most. A request is
// lost with the server that has it. The timeout of JetStream's client does not help: it applies only to contexts without a
// deadline.
func Ask[T any](ctx context.Context, most time.Duration, f func(context.Context) (T, error)) (T, error) {
	asking, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	answer, err := f(asking)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		err = ErrSilent
	}
	return answer, err
}
