package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows the progress of a long command on the terminal, unless the output goes to the terminal too.
type progress struct {
	to    io.Writer // nil disables progress
	begun time.Time
	shown time.Time // when the line was last written; zero if it is not shown
	bytes int64
	label string // before the numbers
}

// quietFor is how long a command runs before progress is shown. every is the time between updates.
const (
	quietFor = 2 * time.Second
	every    = 200 * time.Millisecond
)

func newProgress(con console) *progress {
	p := &progress{begun: time.Now()}
	if isTerminal(con.err) && !isTerminal(con.out) {
		p.to = con.err
	}
	return p
}

// add counts n bytes of events and updates the line if it is due.
func (p *progress) add(n int) {
	p.bytes += int64(n)
	if p.to == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.begun) < quietFor || now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	_, _ = fmt.Fprintf(p.to, "\r%s%.1f MB of events, %.1f s ", p.label, float64(p.bytes)/1e6, now.Sub(p.begun).Seconds())
}

// done clears the line.
func (p *progress) done() {
	if !p.shown.IsZero() {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = time.Time{}
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
