package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// hardStop is how long after the deadline for draining the process ends whatever it does.
const hardStop = 900 * time.Millisecond

// notify reports to systemd, if that has started the process, that it serves now, and that it stops when ctx ends. From then
// on the process has until the deadline, and hardStop more, to end by itself; then it exits. stop ends that watch.
func notify(ctx context.Context, log *slog.Logger, deadline time.Duration) (stop func()) {
	report := func(state string) {
		if _, err := systemd.SdNotify(false, state); err != nil {
			log.WarnContext(ctx, "systemd cannot be notified", "state", state, "error", err)
		}
	}
	report(systemd.SdNotifyReady)
	ended := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		report(systemd.SdNotifyStopping)
		select {
		case <-ended:
		case <-time.After(deadline + hardStop):
			log.ErrorContext(ctx, "the process does not end by itself")
			os.Exit(exitFailed) // nothing else is left
		}
	})
	return func() { unhook(); close(ended) }
}
