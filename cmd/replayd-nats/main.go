// Command replayd-nats runs a NATS server with JetStream for the queue of one machine. It is a separate program because the
// server's packages start work in every program that contains them, even in a daemon that needs no queue.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/replayd/replayd/fleet/queue/natsserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := natsserver.Run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}
