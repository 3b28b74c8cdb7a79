package command

import (
	"context"
	"log/slog"
	"os"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
)

// hardStop is how long after the deadline for draining the process exits unconditionally.
const hardStop = 900 * time.Millisecond

// notify reports to systemd that the daemon is ready, and when ctx ends that it is stopping. It does nothing if systemd did not
// start the process. After ctx ends, the process has the deadline plus hardStop to end by itself; then notify exits it. stop
// cancels that.
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
			log.ErrorContext(ctx, "the process did not end in time; exiting")
			os.Exit(ExitFailed)
		}
	})
	return func() { unhook(); close(ended) }
}
