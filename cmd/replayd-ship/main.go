// Command replayd-ship follows the replays of a directory and puts their bytes into a stream of NATS, from which daemons on other
// machines serve them. It is a separate program because it is small, and runs beside game servers.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the command line and returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	c := &command{}
	code, ok := c.parse(args, out, errs)
	if !ok {
		return code
	}
	return c.run(ctx, errs)
}
