package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/replayd/replayd/fleet/queue"
	"github.com/replayd/replayd/internal/natsconn"
)

// queueFlags say where the queue is. User and password come from the environment variables of the nats command, and from nowhere
// else.
type queueFlags struct {
	Nats string `help:"The NATS servers: nats://HOST:PORT?server=HOST:PORT&..., or comma-separated." default:"nats://127.0.0.1:4222" placeholder:"URL"`
	natsconn.Credentials

	Replicas int `help:"On how many servers of a NATS cluster messages are kept, if their stream is not there yet." default:"1"`
}

// Validate rejects URLs with credentials, without repeating them.
func (f *queueFlags) Validate() error {
	if place, err := natsconn.Parse(f.Nats); err != nil || place.Stream != "" || len(place.Values) > 0 {
		err = cmp.Or(err, natsconn.ErrURL)
		return fmt.Errorf("--nats: %w", err)
	}
	if err := f.Check(); err != nil {
		return err
	}
	if f.Replicas < 1 || f.Replicas > 5 {
		return errors.New("--replicas: must be 1 to 5")
	}
	return nil
}

// unreachableError means that NATS does not answer.
type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

// connect returns the queue. The caller calls stop. A broken connection is restored, however long that takes.
func (f *queueFlags) connect(ctx context.Context, name string) (_ *queue.Queue, stop func(), err error) {
	return f.open(ctx, name, queue.Options{})
}

// open is like connect, with further options of the queue (except the replicas) and of the connection.
func (f *queueFlags) open(
	ctx context.Context, name string, o queue.Options, options ...nats.Option,
) (_ *queue.Queue, stop func(), err error) {
	conn, err := f.dial(name, options...)
	if err != nil {
		return nil, nil, err
	}
	o.Replicas = f.Replicas
	q, err := queue.Open(ctx, conn, o)
	if err != nil {
		conn.Close()
		return nil, nil, unreachableError{fmt.Errorf("opening the queue at %s: %w", f.Nats, natsconn.Explain(err))}
	}
	return q, conn.Close, nil
}

// dial connects to the servers. The caller closes the connection.
func (f *queueFlags) dial(name string, options ...nats.Option) (*nats.Conn, error) {
	place, err := natsconn.Parse(f.Nats)
	if err != nil {
		return nil, fmt.Errorf("--nats: %w", err)
	}
	conn, err := natsconn.Connect(place.Servers, "replayd "+name, f.Credentials, options...)
	if err != nil {
		return nil, unreachableError{fmt.Errorf("connecting to %s: %w", f.Nats, natsconn.Explain(err))}
	}
	return conn, nil
}
