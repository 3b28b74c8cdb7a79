package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
)

// A source cannot delay other sources, nor a file the other files of its source. The bytes and files of each source are counted,
// and have a limit. A file waits when one of its messages cannot be written, because the source's limit is reached or the disk is
// full: its later messages are left out, and a goroutine of the source (catchUp) reads them again from the stream once there is
// room. Meanwhile the messages of all other files are written.

// lane is the state of a source. Mirror.mu guards it.
type lane struct {
	source  string
	bytes   int64 // of the source's files
	files   int
	waiting map[string]*wait // the files that wait, by name
	// many is true if more files wait than waiting holds. A list of the stream finds the others.
	many bool
	// catching is true while catchUp runs.
	catching bool
	told     bool // it was logged that a message was ignored
}

// wait is a file of which messages are left out: the messages after after, up to skipped.
type wait struct{ after, skipped uint64 }

// behind reports whether messages are left out.
func (l *lane) behind() bool { return len(l.waiting) > 0 || l.many }

// The reasons why a message cannot be written now.
var (
	errFull  = errors.New("all files have as many bytes together as they may have")
	errMany  = errors.New("there are as many files as there may be")
	errShare = errors.New("its files have as many bytes as those of one source may have")
	errCount = errors.New("it has as many files as one source may have")
)

// split splits a name into source and path.
func split(name string) (src, path string) {
	src, path, _ = strings.Cut(name, "/")
	return src, path
}

// lane returns the state of a source. The Mirror must be locked.
func (m *Mirror) lane(source string) *lane {
	l := m.lanes[source]
	if l == nil {
		l = &lane{source: source, waiting: map[string]*wait{}}
		m.lanes[source] = l
	}
	return l
}

// room returns nil if a source may have so many more bytes and files, and the reason otherwise. The Mirror must be locked.
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

// take applies a message, or leaves it out if its file waits.
func (m *Mirror) take(ctx context.Context, d *shipment.Delivered, stream string, wg *sync.WaitGroup) {
	src, p, _, err := shipment.ParseSubject(stream, d.Subject)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after = d.Sequence
	if err != nil { // it belongs to no source
		m.ignored++
		m.o.Log.DebugContext(ctx, "a message is ignored", "stream", m.o.Name, "sequence", d.Sequence, "error", err)
		return
	}
	l, name := m.lane(src), src+"/"+p
	f, w := m.known[name], l.waiting[name]
	switch {
	case f != nil && d.Sequence <= f.after: // catchUp was faster
		return
	case w != nil:
		w.skipped = d.Sequence
	case f == nil && l.many:
	default:
		if err = m.write(ctx, l, name, d); err == nil {
			return
		}
		m.leave(ctx, l, name, d.Sequence, err)
	}
	m.skipped++
	m.catch(ctx, l, wg)
}

// leave makes a file wait because one of its messages cannot be written.
func (m *Mirror) leave(ctx context.Context, l *lane, name string, sequence uint64, why error) {
	if !l.behind() {
		m.o.Log.WarnContext(ctx, "a source of a live root is behind: some of its files do not grow until there is room",
			"stream", m.o.Name, "source", l.source, "file", name, "error", why)
	}
	f := m.known[name]
	switch {
	case f != nil:
		l.waiting[name] = &wait{f.after, sequence}
	case len(l.waiting) < m.o.SourceFiles:
		l.waiting[name] = &wait{0, sequence}
	default:
		l.many = true
	}
}

// catch starts catchUp for a source that is behind. The Mirror must be locked.
func (m *Mirror) catch(ctx context.Context, l *lane, wg *sync.WaitGroup) {
	if l.behind() && !l.catching {
		l.catching = true
		wg.Go(func() { m.catchUp(ctx, l) })
	}
}

// write applies a message to its file, unless no sender would have sent it. It returns an error if the message cannot be written
// now. The Mirror must be locked.
func (m *Mirror) write(ctx context.Context, l *lane, name string, d *shipment.Delivered) error {
	err := d.Err
	if err == nil {
		err = m.apply(name, l, &d.Message)
		if _, ours := errors.AsType[*ignoredError](err); err != nil && !ours && !permanent(err) {
			return err
		}
	}
	if f := m.known[name]; f != nil {
		f.after = d.Sequence
	}
	if err == nil {
		m.messages++
		m.settle(ctx, name)
		return nil
	}
	m.ignored++
	level := m.o.Log.DebugContext
	if !l.told {
		l.told, level = true, m.o.Log.WarnContext
	}
	level(ctx, "a message is ignored; others of its source are not logged", "stream", m.o.Name, "source", l.source, "file", name,
		"sequence", d.Sequence, "error", err)
	return nil
}

// The times for which catchUp waits between two attempts.
const (
	catchFirst = 100 * time.Millisecond
	catchLast  = 5 * time.Second
)

// errCaught ends the reading of a file's missed messages.
var errCaught = errors.New("the file has caught up")

// catchUp reads the left-out messages of a source's files again, until none is missing.
func (m *Mirror) catchUp(ctx context.Context, l *lane) {
	for pause := catchFirst; ; pause = min(2*pause, catchLast) {
		ended := !shipment.Pause(ctx, pause)
		m.mu.Lock()
		if ended || !l.behind() {
			l.catching = false
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		names, err := m.recount(ctx, l)
		if err != nil && ctx.Err() == nil {
			m.o.Log.DebugContext(ctx, "a source of a live root is still behind", "stream", m.o.Name, "source", l.source, "error", err)
		}
		for _, name := range names {
			switch err := m.readAgain(ctx, l, name); {
			case errors.Is(err, errCaught):
				pause = catchFirst / 2
			case err != nil && ctx.Err() == nil:
				m.o.Log.DebugContext(ctx, "a file of a live root still waits", "stream", m.o.Name, "file", name, "error", err)
			}
		}
		m.mu.Lock()
		if !l.behind() {
			m.o.Log.InfoContext(ctx, "a source of a live root has caught up", "stream", m.o.Name, "source", l.source)
		}
		m.mu.Unlock()
	}
}

// recount compares the waiting files of a source with the stream's files: some may have left it, and others were too many to be
// noted. It returns all that wait.
func (m *Mirror) recount(ctx context.Context, l *lane) ([]string, error) {
	stream, err := m.o.Open(ctx)
	if err != nil {
		return nil, err
	}
	now, err := stream.Position(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	many := l.many
	l.many = false // files that begin to wait from now on are noted
	m.mu.Unlock()
	there, err := stream.Files(ctx, l.source)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		l.many = l.many || many
		return nil, err
	}
	for name, w := range l.waiting {
		if !there[name] && w.skipped <= now.Last {
			delete(l.waiting, name)
		}
	}
	for name := range there {
		switch {
		case !many || m.known[name] != nil || l.waiting[name] != nil:
		case len(l.waiting) < m.o.SourceFiles:
			l.waiting[name] = &wait{0, now.Last}
		default:
			l.many = true
		}
	}
	return slices.Sorted(maps.Keys(l.waiting)), nil
}

// readAgain reads the left-out messages of a file, until one cannot be written. It returns errCaught if none is left.
func (m *Mirror) readAgain(ctx context.Context, l *lane, name string) error {
	m.mu.Lock()
	w, f, since := l.waiting[name], m.known[name], m.since
	if w == nil {
		m.mu.Unlock()
		return errCaught
	}
	files := 1
	if f != nil {
		files = 0
	}
	err, after := m.room(l, 1, files), w.after
	m.mu.Unlock()
	if err != nil {
		return err
	}
	stream, err := m.o.Open(ctx)
	if err != nil {
		return err
	}
	now, err := stream.Position(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_, p := split(name)
	return stream.Read(ctx, shipment.Which{Source: l.source, Path: p}, after, since, func(d *shipment.Delivered) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if l.waiting[name] != w { // the whole stream is read again
			return errCaught
		}
		if err := m.write(ctx, l, name, d); err != nil {
			return fmt.Errorf("writing what was left out: %w", err)
		}
		w.after = d.Sequence
		return m.caught(l, name, d.Sequence)
	}, func() { // the last left-out messages may have left the stream
		m.mu.Lock()
		defer m.mu.Unlock()
		if err := m.caught(l, name, now.Last); err != nil {
			cancel(err)
		}
	})
}

// caught returns errCaught if all left-out messages of a file were read, up to a sequence number. The Mirror must be locked.
func (m *Mirror) caught(l *lane, name string, upTo uint64) error {
	w := l.waiting[name]
	if w != nil && upTo < w.skipped {
		return nil
	}
	delete(l.waiting, name)
	if f := m.known[name]; f != nil && w != nil {
		f.after = max(f.after, w.skipped)
	}
	return errCaught
}

// restart forgets how far each file was read, because the stream is read from its beginning.
func (m *Mirror) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.since, m.after = time.Time{}, 0
	for _, f := range m.known {
		f.after = 0
	}
	for _, l := range m.lanes {
		l.many = false
		clear(l.waiting)
	}
}
