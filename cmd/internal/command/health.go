package command

import (
	"context"
	"fmt"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	client "github.com/replayd/replayd/clients/go"
)

type healthCmd struct {
	Target

	Timeout time.Duration `help:"How long to wait for the response." default:"5s"`
}

// unhealthyError is the error of a daemon that responds, but is not serving.
type unhealthyError struct {
	status healthv1.HealthCheckResponse_ServingStatus
}

func (e unhealthyError) Error() string { return "the daemon reports " + e.status.String() }

// Run checks the health of a daemon, for supervisors and scripts.
func (c *healthCmd) Run(ctx context.Context, con Console) error {
	if c.Addr == "" {
		c.Addr = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var resp *healthv1.HealthCheckResponse
	err := c.ask(func(daemon *client.Client) (err error) {
		resp, err = healthv1.NewHealthClient(daemon.Conn()).Check(ctx, &healthv1.HealthCheckRequest{})
		return err
	})
	if err != nil {
		return err
	}
	if resp.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return unhealthyError{resp.GetStatus()}
	}
	_, err = fmt.Fprintln(con.Out, resp.GetStatus())
	return err
}
