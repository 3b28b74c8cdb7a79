package natsserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Run is the program replayd-nats: it runs a server until ctx ends, and returns the exit code.
func Run(ctx context.Context, args []string, errs io.Writer) int {
	flags := flag.NewFlagSet("replayd-nats", flag.ContinueOnError)
	flags.SetOutput(errs)
	o := Options{User: os.Getenv("NATS_USER"), Password: os.Getenv("NATS_PASSWORD")}
	flags.StringVar(&o.Dir, "dir", "", "the directory to store the queue in")
	flags.StringVar(&o.URL, "nats", "nats://127.0.0.1:4222", "the address to listen on, of this machine")
	noSync := flags.Bool("no-sync", false, "do not write each message through to the disk: a loss of power then loses those of the last two minutes")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if o.Dir == "" || flags.NArg() > 0 {
		_, _ = fmt.Fprintln(errs, "replayd-nats: want -dir DIR, and nothing but flags")
		return 2
	}
	o.Sync = !*noSync
	o.Failed = func(err error) { _, _ = fmt.Fprintf(errs, "replayd-nats: %v; it is started again\n", err) }
	stop, err := Start(o)
	if err != nil {
		_, _ = fmt.Fprintln(errs, "replayd-nats:", err)
		return 1
	}
	defer stop()
	<-ctx.Done()
	return 0
}
