package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows on a terminal that long work goes on, when the output goes elsewhere.
type progress struct {
	to    io.Writer // nil: the output is a terminal, or there is none
	begun time.Time
	shown time.Time
	bytes int64
}

// quietFor is how long work may take before progress is shown, and every is how often.
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

// add counts bytes of events.
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
	_, _ = fmt.Fprintf(p.to, "\r%.1f MB of events, %.1f s ", float64(p.bytes)/1e6, now.Sub(p.begun).Seconds())
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
