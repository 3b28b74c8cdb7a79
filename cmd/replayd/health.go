package main

import (
	"context"
	"fmt"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

type healthCmd struct {
	target

	Timeout time.Duration `help:"How long to wait for the answer." default:"5s"`
}

// unwell says that a daemon answers that it does not serve.
type unwellError struct {
	status healthv1.HealthCheckResponse_ServingStatus
}

func (e unwellError) Error() string { return "the daemon says " + e.status.String() }

// Run asks a daemon whether it serves, for supervisors and scripts.
func (c *healthCmd) Run(ctx context.Context, con console) error {
	if c.Addr == "" {
		c.Addr = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, _, err := c.dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	resp, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	if err != nil {
		return c.explain(err)
	}
	if resp.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return unwellError{resp.GetStatus()}
	}
	_, err = fmt.Fprintln(con.out, resp.GetStatus())
	return err
}
