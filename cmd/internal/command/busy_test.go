package command

import (
	"bytes"
	"testing"
	"time"
)

// TestBusy: what is done is shown after a second, goes before anything else is printed to the same terminal, and comes no more after
// the end.
func TestBusy(t *testing.T) {
	var screen bytes.Buffer
	expect := func(want string) {
		t.Helper()
		if got := screen.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		screen.Reset()
	}
	b := &Busy{what: "reading x", to: &screen, stop: make(chan struct{})}
	out := b.Over(&screen)
	b.show(900 * time.Millisecond)
	_, _ = out.Write([]byte("a\n"))
	expect("a\n")
	b.show(time.Second)
	expect("\rreading x, 1 s \x1b[K")
	_, _ = out.Write([]byte("b\n"))
	_, _ = out.Write([]byte("c\n"))
	expect("\r\x1b[Kb\nc\n")
	b.show(2 * time.Second)
	b.Done()
	b.Done()
	b.show(3 * time.Second)
	expect("\rreading x, 2 s \x1b[K\r\x1b[K")

	b = NewBusy(&screen, "no terminal")
	if b.to != nil {
		t.Error("shown where there is no terminal")
	}
	b.Done()
}

// TestProgress is TestBusy for what is counted.
func TestProgress(t *testing.T) {
	var screen bytes.Buffer
	p := &progress{to: &screen, begun: time.Now()}
	out := p.over(&screen)
	p.add(1000)
	_, _ = out.Write([]byte("a\n"))
	if got := screen.String(); got != "a\n" {
		t.Errorf("%q", got)
	}
	p.begun = p.begun.Add(-time.Hour)
	p.add(1_000_000)
	if got := screen.String(); !bytes.HasPrefix(screen.Bytes(), []byte("a\n\r1.0 MB of events, 36")) {
		t.Errorf("%q", got)
	}
	screen.Reset()
	_, _ = out.Write([]byte("b\n"))
	if got := screen.String(); got != "\r\x1b[Kb\n" {
		t.Errorf("%q", got)
	}
}
