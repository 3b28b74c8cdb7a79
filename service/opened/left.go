package opened

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/replayd/replayd/service/index"
)

// left holds replays that streams have left although they might still grow, because the request asked for that
// (SUCCESSOR_RULE_NEXT_IN_DIRECTORY). Bytes that are appended later are counted and logged; a cursor of such a replay leads to
// them.
type left struct {
	index *index.Index
	log   *slog.Logger
	bytes prometheus.Counter

	mu    sync.Mutex
	sizes map[string]int64 // bytes of each that were streamed or counted, by identity
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

// maxLeft limits the replays that are watched. Late bytes of further ones are not counted.
const maxLeft = 10_000

// maxNews limits how many changes of the index are taken at once.
const maxNews = 1000

func newLeft(x *index.Index, log *slog.Logger) *left {
	return &left{index: x, log: log, sizes: map[string]int64{}, bytes: prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "replayd", Name: "late_bytes_total",
		Help: "Bytes that were written to replays after streams had left them for others in the same directory.",
	})}
}

// leave records that a stream left a replay after read bytes of it.
func (l *left) leave(e *index.Entry, read int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.sizes[e.Identity]; known || len(l.sizes) >= maxLeft {
		return
	}
	l.sizes[e.Identity] = read
	if l.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		l.stop = stop
		from := l.index.Now()
		l.wg.Go(func() { l.watch(ctx, from) })
	}
}

func (l *left) watch(ctx context.Context, from uint64) {
	for {
		list, next, more, err := l.index.Since(from, maxNews)
		if errors.Is(err, index.ErrBehind) {
			from = l.index.Now()
			continue
		}
		for _, c := range list {
			if c.Kind == index.Grown {
				l.grown(c.Entry)
			}
		}
		if from = next; len(list) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		}
	}
}

func (l *left) grown(e *index.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, ok := l.sizes[e.Identity]
	if !ok || e.Size <= size {
		return
	}
	l.sizes[e.Identity] = e.Size
	l.bytes.Add(float64(e.Size - size))
	l.log.Warn("a replay grew that streams had left for another one in its directory",
		"replay", e.Name, "bytes", e.Size-size, "size", e.Size)
}

func (l *left) close() {
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
		l.wg.Wait()
	}
}
