package command

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Busy shows on a terminal, beside the time that has passed, what a command does that prints nothing yet.
type Busy struct {
	to   io.Writer // nil disables it
	what string
	stop chan struct{}

	mu    sync.Mutex
	shown bool
}

// NewBusy returns a Busy that shows what is being done on to, if that is a terminal, once it has taken a second. The caller calls Done.
func NewBusy(to io.Writer, what string) *Busy {
	b := &Busy{what: what, stop: make(chan struct{})}
	if isTerminal(to) {
		b.to = to
		go b.run()
	}
	return b
}

func (b *Busy) run() {
	begun, tick := time.Now(), time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case now := <-tick.C:
			b.show(now.Sub(begun))
		}
	}
}

// show shows the line if it is time.
func (b *Busy) show(passed time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.stop:
	default:
		if passed >= quietFor {
			_, _ = fmt.Fprintf(b.to, "\r%s, %.0f s \x1b[K", b.what, passed.Seconds())
			b.shown = true
		}
	}
}

// clear removes the line.
func (b *Busy) clear() {
	if b.shown {
		_, _ = io.WriteString(b.to, "\r\x1b[K")
		b.shown = false
	}
}

// Done removes the line for good. It may be called more than once, by one goroutine.
func (b *Busy) Done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.stop:
	default:
		close(b.stop)
		b.clear()
	}
}

// Over returns a writer to out that removes the line before it writes, since both may go to the same terminal.
func (b *Busy) Over(out io.Writer) io.Writer { return clearing{out, b} }

type clearing struct {
	io.Writer

	busy *Busy
}

func (c clearing) Write(text []byte) (int, error) {
	c.busy.mu.Lock()
	defer c.busy.mu.Unlock()
	c.busy.clear()
	return c.Writer.Write(text)
}
