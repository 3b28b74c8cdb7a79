package watch

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Mode is how a Watcher learns of changes.
type Mode uint8

// The modes.
const (
	// Auto is Inotify where that works and Poll where it does not.
	Auto Mode = iota
	// Inotify asks the operating system for notifications (on Linux by inotify), and polls now and then, for safety. What
	// cannot be watched in this way is an error.
	Inotify
	// Poll looks itself.
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

// UnmarshalText makes a Mode of its name.
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
	// Interval is how often files are looked at, for safety, and where nothing else is possible. Default 500 ms. Where
	// the operating system reports changes, a file that has been idle for a minute is looked at every 15 to 20 s, or every
	// 2 s if a link leads to it: no notification says when that leads elsewhere.
	Interval time.Duration
	// Quick is how often a file that changed in the last few seconds is looked at when the operating system does not
	// report. Default 15 ms.
	Quick time.Duration
	// Log gets a message when watching does not work as asked for. Nil means no log.
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
