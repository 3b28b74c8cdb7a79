package access

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	sampleWindow = time.Second
	sampleBurst  = 20   // the most records of one kind in a window
	sampleSorts  = 1000 // the most kinds that are counted separately in a window
)

// Sampled returns a handler that passes at most 20 records of one kind per second to next, and then logs how many it dropped.
// The kind of a record is its level, its message and its attributes who, address and code. Records with an incident are never
// dropped, because the client's error refers to them.
func Sampled(next slog.Handler) slog.Handler {
	return &sampled{next: next, state: &samples{counts: map[string]int{}}}
}

type sampled struct {
	next  slog.Handler
	state *samples
}

// samples is the state that a handler shares with the handlers derived from it.
type samples struct {
	mu     sync.Mutex
	counts map[string]int // by kind, in this window
	open   bool           // a window is open, and a timer will close it
}

// Enabled implements slog.Handler.
func (s *sampled) Enabled(ctx context.Context, level slog.Level) bool {
	return s.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (s *sampled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sampled{s.next.WithAttrs(attrs), s.state}
}

// WithGroup implements slog.Handler.
func (s *sampled) WithGroup(name string) slog.Handler {
	return &sampled{s.next.WithGroup(name), s.state}
}

// Handle implements slog.Handler.
func (s *sampled) Handle(ctx context.Context, r slog.Record) error {
	sort, incident := sortOf(r)
	if !incident && !s.state.admit(sort, s.next) {
		return nil
	}
	return s.next.Handle(ctx, r)
}

func sortOf(r slog.Record) (sort string, incident bool) {
	var b strings.Builder
	b.WriteString(r.Level.String() + " " + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "who", "address", "code":
			b.WriteString(" " + a.Key + "=" + a.Value.String())
		case "incident":
			incident = true
		}
		return true
	})
	return b.String(), incident
}

// admit counts a record and reports whether it is passed on.
func (s *samples) admit(sort string, next slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.counts[sort]; !known && len(s.counts) >= sampleSorts {
		sort = "all others"
	}
	if !s.open {
		s.open = true
		time.AfterFunc(sampleWindow, func() { s.close(next) })
	}
	s.counts[sort]++
	return s.counts[sort] <= sampleBurst
}

// close ends a window, and logs how many records were dropped in it.
func (s *samples) close(next slog.Handler) {
	s.mu.Lock()
	counts := s.counts
	s.counts, s.open = map[string]int{}, false
	s.mu.Unlock()
	left, sorts, sample := 0, 0, ""
	for sort, n := range counts {
		if n > sampleBurst {
			left += n - sampleBurst
			sorts++
			sample = sort
		}
	}
	if left == 0 {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines were left out of the log: there were too many alike", 0)
	r.AddAttrs(slog.Int("lines", left), slog.Int("sorts", sorts), slog.String("such_as", sample))
	_ = next.Handle(context.Background(), r) // there is nowhere to report an error
}
