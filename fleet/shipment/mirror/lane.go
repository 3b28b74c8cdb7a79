package mirror

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
)

// A source cannot delay the others. What it has here is counted, and it has a share of its own. When one of its messages cannot be
// written, because its share or the disk is full, the source is behind: the messages that follow are left out, and read again
// from the stream by a goroutine of its own (catchUp) once there is room. Meanwhile the messages of all other sources are written.

// lane is the state of a source. Mirror.mu guards it.
type lane struct {
	source string
	bytes  int64 // of its files
	files  int
	// after is the sequence number of its last message that was written, or ignored.
	after uint64
	// behind is true while messages are left out, which are those above after. skipped is the last one.
	behind  bool
	skipped uint64
	// catching is true while catchUp runs.
	catching bool
	told     bool // it was logged that a message was ignored
}

// Why a message cannot be written now.
var (
	errFull  = errors.New("all files have as many bytes together as they may have")
	errMany  = errors.New("there are as many files as there may be")
	errShare = errors.New("its files have as many bytes as those of one source may have")
	errCount = errors.New("it has as many files as one source may have")
)

// lane returns the state of a source. The Mirror must be locked.
func (m *Mirror) lane(source string) *lane {
	l := m.lanes[source]
	if l == nil {
		l = &lane{source: source}
		m.lanes[source] = l
	}
	return l
}

// room returns nil if a source may have that many more bytes and files, and why not otherwise. The Mirror must be locked.
func (m *Mirror) room(l *lane, bytes int64, files int) error {
	var err error
	switch {
	case bytes > 0 && l.bytes+bytes > m.o.SourceBytes:
		err = errShare
	case bytes > 0 && m.bytes+bytes > m.o.MaxBytes:
		err = errFull
	case files > 0 && l.files+files > m.o.SourceFiles:
		err = errCount
	case files > 0 && len(m.known)+files > m.o.MaxFiles:
		err = errMany
	default:
		return nil
	}
	m.poke()
	return err
}

// take applies a message, or leaves it out if its source is behind. A source that falls behind by it catches up by itself.
func (m *Mirror) take(ctx context.Context, stream string, d *shipment.Delivered, wg *sync.WaitGroup) {
	src, p, err := shipment.ParseSubject(stream, d.Subject)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil { // it is of no source
		m.ignored++
		m.o.Log.DebugContext(ctx, "a message is ignored", "stream", m.o.Name, "sequence", d.Sequence, "error", err)
		return
	}
	l := m.lane(src)
	switch {
	case d.Sequence <= l.after: // catchUp was faster
	case !l.behind:
		err := m.write(ctx, l, p, d)
		if err == nil {
			return
		}
		l.behind, l.skipped = true, d.Sequence
		m.skipped++
		m.o.Log.WarnContext(ctx, "a source of a live root is behind: its files do not grow until there is room",
			"stream", m.o.Name, "source", src, "file", p, "error", err)
		if !l.catching {
			l.catching = true
			wg.Go(func() { m.catchUp(ctx, l) })
		}
	default:
		l.skipped = d.Sequence
		m.skipped++
		if d.Err == nil && d.Kind != shipment.Bytes { // it may make room, and comes again in its turn
			_ = m.apply(src+"/"+p, l, &d.Message)
		}
	}
}

// write applies a message of a source, unless nobody would have sent it. It returns an error if the message cannot be written now. The
// Mirror must be locked.
func (m *Mirror) write(ctx context.Context, l *lane, p string, d *shipment.Delivered) error {
	err := d.Err
	if err == nil {
		err = m.apply(l.source+"/"+p, l, &d.Message)
		if _, ours := errors.AsType[*ignoredError](err); err != nil && !ours && !permanent(err) {
			return err
		}
	}
	l.after = d.Sequence
	if err == nil {
		m.messages++
		return nil
	}
	m.ignored++
	level := m.o.Log.DebugContext
	if !l.told {
		l.told, level = true, m.o.Log.WarnContext
	}
	level(ctx, "a message is ignored; others of its source are not logged", "stream", m.o.Name, "source", l.source, "file", p,
		"sequence", d.Sequence, "error", err)
	return nil
}

// How long catchUp waits between two attempts.
const (
	catchFirst = 100 * time.Millisecond
	catchLast  = 5 * time.Second
)

// errCaught ends the reading of what a source missed.
var errCaught = errors.New("the source has caught up")

// catchUp reads again what was left out of a source, until nothing is missing.
func (m *Mirror) catchUp(ctx context.Context, l *lane) {
	for pause := catchFirst; ; pause = min(2*pause, catchLast) {
		ended := !shipment.Pause(ctx, pause)
		m.mu.Lock()
		after, since := l.after, m.since
		if ended || !l.behind {
			l.catching = false
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		err := m.readAgain(ctx, l, after, since)
		m.mu.Lock()
		if l.after > after {
			pause = catchFirst
		}
		m.mu.Unlock()
		if err != nil && !errors.Is(err, errCaught) && ctx.Err() == nil {
			m.o.Log.DebugContext(ctx, "a source of a live root is still behind", "stream", m.o.Name, "source", l.source, "error", err)
		}
	}
}

// readAgain reads the messages of a source from one on, until it has caught up, or until one cannot be written.
func (m *Mirror) readAgain(ctx context.Context, l *lane, after uint64, since time.Time) error {
	stream, err := m.o.Open(ctx)
	if err != nil {
		return err
	}
	now, err := stream.State(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return stream.Read(ctx, l.source, after, since, func(d *shipment.Delivered) error {
		_, p, err := shipment.ParseSubject(stream.Name(), d.Subject)
		if err != nil {
			return fmt.Errorf("the filter of a source: %w", err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if !l.behind { // the whole stream is read again
			return errCaught
		}
		if err := m.write(ctx, l, p, d); err != nil {
			return err
		}
		return m.caught(ctx, l, d.Sequence)
	}, func() { // what was left out last may have left the stream
		m.mu.Lock()
		defer m.mu.Unlock()
		if err := m.caught(ctx, l, now.Last); err != nil {
			cancel(err)
		}
	})
}

// caught returns errCaught if all that was left out was read, up to a sequence number. The Mirror must be locked.
func (m *Mirror) caught(ctx context.Context, l *lane, upTo uint64) error {
	if !l.behind || upTo < l.skipped {
		return nil
	}
	l.behind, l.after = false, max(l.after, l.skipped)
	m.o.Log.InfoContext(ctx, "a source of a live root has caught up", "stream", m.o.Name, "source", l.source)
	return errCaught
}

// restart forgets how far each source was read: the stream is read from its beginning.
func (m *Mirror) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since = time.Time{}
	for _, l := range m.lanes {
		l.after, l.behind, l.skipped = 0, false, 0
	}
}
