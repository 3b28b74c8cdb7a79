package watch

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Mode is the way in which a Watcher detects changes.
type Mode uint8

// The modes.
const (
	// Auto uses Inotify where that works and Poll elsewhere.
	Auto Mode = iota
	// Inotify uses the notifications of the operating system (inotify on Linux), and polls now and then for safety. A path
	// that cannot be watched in this way is an error.
	Inotify
	// Poll uses polling only.
	Poll
)

var modeNames = [...]string{"auto", "inotify", "poll"}

// String returns the mode's name: "auto", "inotify" or "poll".
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// UnmarshalText sets the Mode from its name.
func (m *Mode) UnmarshalText(text []byte) error {
	for i, name := range modeNames {
		if name == string(text) {
			*m = Mode(i)
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", text, strings.Join(modeNames[:], ", "))
}

// Options are a Watcher's settings.
type Options struct {
	Mode Mode
	// Interval is how often files are polled, for safety and where notifications do not work. Default 500 ms. Where
	// the operating system reports changes, a file that has been idle for a minute is polled every 15 to 20 s. If a link
	// leads to the file, it is polled every 2 s, because no notification arrives when the link's target changes.
	Interval time.Duration
	// Quick is how often a file that changed in the last few seconds is polled where the operating system does not report
	// changes. Default 15 ms.
	Quick time.Duration
	// Log receives a message when watching does not work as configured. Nil disables logging.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = 500 * time.Millisecond
	}
	if o.Quick <= 0 {
		o.Quick = 15 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
