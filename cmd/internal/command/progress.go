package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/replayd/replayd/cmd/internal/terminal"
)

// progress shows the progress of a long command on the terminal.
type progress struct {
	to    io.Writer // nil disables progress
	begun time.Time
	shown time.Time // when the line was last written; zero if it is not shown
	bytes int64
	read  int64  // of the file
	total int64  // of the file; 0 if it is not known
	label string // before the numbers
}

// quietFor is how long a command runs before progress is shown. every is the time between updates.
const (
	quietFor = time.Second
	every    = 200 * time.Millisecond
)

func newProgress(con Console) *progress {
	p := &progress{begun: time.Now()}
	if isTerminal(con.Err) {
		p.to = con.Err
	}
	return p
}

// over returns a writer to out that removes the line before it writes, since both may go to the same terminal.
func (p *progress) over(out io.Writer) io.Writer { return overProgress{out, p} }

type overProgress struct {
	io.Writer

	progress *progress
}

func (o overProgress) Write(text []byte) (int, error) {
	o.progress.done()
	return o.Writer.Write(text)
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
	share := ""
	if p.total > 0 {
		share = fmt.Sprintf("%d %% of %.1f MB, ", min(p.read*100/p.total, 100), float64(p.total)/1e6)
	}
	_, _ = fmt.Fprintf(p.to, "\r%s%s%.1f MB of events, %.1f s \x1b[K", p.label, share, float64(p.bytes)/1e6, now.Sub(p.begun).Seconds())
}

// reach records how many bytes of a file were read, of how many.
func (p *progress) reach(read, total int64) { p.read, p.total = read, total }

// done clears the line.
func (p *progress) done() {
	if !p.shown.IsZero() {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = time.Time{}
	}
}

// newPainter returns a painter for a command's output. It colours text if the output is a terminal and NO_COLOR is not set.
func newPainter(con Console) terminal.Painter {
	return terminal.Painter{On: isTerminal(con.Out) && os.Getenv("NO_COLOR") == ""}
}

// Screen returns the number of columns of the terminal that a command prints to, and what colours text for it. Without a terminal
// there are 0 columns.
func Screen(con Console) (width int, paint terminal.Painter) { return widthOf(con), newPainter(con) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// widthOf returns the number of columns of the terminal that a command prints to. It returns 0 if the output is not a terminal.
func widthOf(con Console) int {
	f, ok := con.Out.(*os.File)
	if !ok || !isTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return width
}

// Bar shows on a terminal how much of some work is done.
type Bar struct {
	progress
	all int
}

// NewBar returns a Bar for a number of things to do. It shows nothing if to is not a terminal.
func NewBar(to io.Writer, all int) *Bar {
	b := &Bar{all: all}
	if isTerminal(to) {
		b.to, b.begun = to, time.Now()
	}
	return b
}

// barWidth is the number of characters of a full bar.
const barWidth = 30

// Show shows how many things are done, and how many of them have failed.
func (b *Bar) Show(done, failed int) {
	now := time.Now()
	if b.to == nil || done < b.all && now.Sub(b.shown) < every {
		return
	}
	b.shown = now
	rate := float64(done) / max(now.Sub(b.begun).Seconds(), 0.001)
	full := barWidth * done / max(b.all, 1)
	_, _ = fmt.Fprintf(b.to, "\r[%s%s] %d of %d, %d failed, %.1f/s\x1b[K",
		strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, b.all, failed, rate)
}

// Done removes the bar.
func (b *Bar) Done() { b.done() }
