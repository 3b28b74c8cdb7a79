package ship

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
)

// file is a followed file. It belongs to one goroutine.
type file struct {
	s       *Shipper
	path    string
	subject string

	known      bool // the fields below are known from the stream
	kind       shipment.Kind
	generation shipment.Generation
	length     int64 // how many bytes of the generation the stream or the archive has
	body       int64 // how many of them the body has
	small      int   // the least number of messages in the tail
	// The sequence numbers of the last messages of each part.
	tailed, bodied, stated uint64

	id       source.ID // at the last look
	compared source.ID // of the file that was last compared with the stream
	size     int64
	modified time.Time
	shipped  time.Time // when the last message was stored
	judged   int64     // the size at which it was last searched for its own end
	ended    bool      // its own end was found
	absent   time.Time // the time since which it is gone
	archived archived  // the archive's copy
}

// errGone means that there is no file with the path.
var errGone = errors.New("the file is gone")

// errChanged means that a file has changed during a look at it.
var errChanged = errors.New("the file has changed meanwhile")

// follow ships a file until it is over or gone. It returns the file's last state, or nil if there is nothing to remember.
func (s *Shipper) follow(ctx context.Context, p string) *settled {
	subject, err := shipment.Subject(s.stream.Name(), s.o.Source, p)
	if err != nil {
		return &settled{}
	}
	f := &file{s: s, path: p, subject: subject, judged: -1}
	defer s.waits(p, nil)
	sub, err := s.o.Watcher.Subscribe(filepath.Join(s.o.Dir, filepath.FromSlash(p)))
	var changed <-chan struct{}
	if err == nil {
		defer sub.Close()
		changed = sub.C
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-timer.C:
		}
		next, over, err := f.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if errors.Is(err, shipment.ErrConflict) {
				s.conflicts.Add(1)
			}
			s.waits(p, err)
			s.failed(ctx, failures, "shipping "+p, err)
			failures++
			if !s.wait(ctx, failures) {
				return nil
			}
			next = 0
		case over && f.kind == shipment.Removed:
			return nil
		case over:
			return &settled{f.id, f.size, f.modified}
		default:
			failures = 0
			s.waits(p, nil)
		}
		timer.Reset(next)
	}
}

// round ships the available bytes. It returns when to look again if nothing reports a change, and whether the file is over.
func (f *file) round(ctx context.Context) (next time.Duration, over bool, err error) {
	if !f.known {
		if err := f.recover(ctx); err != nil && !errors.Is(err, errGone) {
			return 0, false, err
		}
	}
	for {
		if left := f.s.o.Batch - time.Since(f.shipped); left > 0 { // bytes that are written meanwhile go with it
			return left, false, nil
		}
		more, err := f.step(ctx)
		switch {
		case errors.Is(err, errGone):
			return f.gone(ctx)
		case errors.Is(err, shipment.ErrFull):
			return f.stuck(ctx, err)
		case err != nil:
			f.known = false // the outcome of a failed message is not known
			return 0, false, err
		case !more:
			return f.rest(ctx)
		}
	}
}

// stuck is the rest of a round in which the stream had no room. A file that is over needs none: it is archived from the disk.
func (f *file) stuck(ctx context.Context, full error) (next time.Duration, over bool, err error) {
	f.known = false
	if f.s.o.Archive == nil {
		return 0, false, full
	}
	if err := f.recover(ctx); err != nil {
		return 0, false, err
	}
	if _, ended, err := f.over(); err != nil || !ended {
		return 0, false, errors.Join(full, err)
	}
	if err := f.archive(ctx, f.size); err != nil {
		f.known = false
		return 0, false, err
	}
	return 0, true, nil
}

// open opens the file.
func (f *file) open() (*os.File, error) {
	root, err := os.OpenRoot(f.s.o.Dir)
	if err != nil {
		return nil, err // a directory that cannot be read is not empty
	}
	defer root.Close() //nolint:errcheck // nothing was written
	h, err := root.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	stat, err := h.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = errGone
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	f.absent = time.Time{}
	f.id, f.size, f.modified = source.Identify(stat), stat.Size(), stat.ModTime()
	return h, nil
}

// recover finds out how much of the file the stream has.
func (f *file) recover(ctx context.Context) error {
	found, err := f.s.stream.Find(ctx, f.subject)
	if err != nil {
		return err
	}
	f.known, f.tailed, f.bodied, f.stated = true, sequence(found.Tail), sequence(found.Body), sequence(found.State)
	f.body, f.small = 0, 0
	last := found.Last()
	if last == nil {
		// It has nothing. If the stream was lost, its bytes are sent again, and readers that have them go on.
		f.length, f.kind = 0, ""
		return nil
	}
	was := f.generation
	f.kind, f.generation, f.length = "", "", 0
	if last.Err != nil || last.Kind == shipment.Removed {
		if last.Err == nil {
			f.kind = shipment.Removed
		}
		return nil
	}
	f.kind = last.Kind
	if last.Generation != was {
		same, err := f.same(last)
		if err != nil || !same {
			return err
		}
	}
	f.generation, f.length = last.Generation, last.End()
	if b := found.Body; b != nil && b.Err == nil && b.Generation == last.Generation {
		f.body = b.End()
	}
	if f.body < f.length {
		f.small = maxSmall // the most that it can have
	}
	return nil
}

func sequence(m *shipment.Stored) uint64 {
	if m == nil {
		return 0
	}
	return m.Sequence
}

// same reports whether a message belongs to this file.
func (f *file) same(last *shipment.Stored) (bool, error) {
	h, err := f.open()
	if err != nil {
		if errors.Is(err, errGone) {
			f.generation, f.length = last.Generation, last.End() // so that its removal can be told
		}
		return false, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	f.compared = f.id
	if same, err := last.Generation.Begins(h); err != nil || !same || f.size < last.End() {
		return false, err
	}
	tail := make([]byte, len(last.Data))
	if _, err := h.ReadAt(tail, last.Offset); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(tail, last.Data), nil
}

const (
	// large is the number of bytes after the body that are added to it at once.
	large = 64 << 10
	// maxSmall is the maximum number of messages in the tail, and minSmall the least number that justifies a message of the body.
	maxSmall = 128
	minSmall = 16
	// overhead is about the number of bytes that a message takes besides its data.
	overhead = 320
)

// part returns the part of the stream for the next bytes, and where the message begins. Small messages take more room than their
// bytes. So a message of the body replaces the tail whenever the tail would make the file a tenth larger.
func (f *file) part() (part shipment.Part, offset int64) {
	if f.size-f.body >= large || f.small >= maxSmall || f.small >= minSmall && int64(f.small)*overhead > f.length/10 {
		return shipment.Body, f.body
	}
	return shipment.Tail, f.length
}

// step ships one chunk. It returns false if there was none.
func (f *file) step(ctx context.Context) (more bool, err error) {
	h, err := f.open()
	if err != nil {
		return false, err
	}
	defer h.Close()                               //nolint:errcheck // nothing was written
	if f.id != f.compared && f.generation != "" { // another file has its name
		f.generation = ""
		if err := f.recover(ctx); err != nil {
			return false, err
		}
	}
	f.compared = f.id
	same := f.generation != "" && f.size >= f.length
	if same {
		if same, err = f.generation.Begins(h); err != nil {
			return false, err
		}
	}
	anew := !same || f.kind == shipment.Archived && f.size > f.length
	switch {
	case !anew && f.size == f.length:
		return false, nil
	case f.size == 0:
		return false, nil // not a replay yet, or no longer: its next contents will tell
	}
	// Memory is needed only from here on.
	var chunk []byte
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case chunk = <-f.s.slots:
	}
	defer func() { f.s.slots <- chunk }()
	if chunk == nil {
		chunk = make([]byte, shipment.MaxChunk)
	}
	if anew {
		f.length, f.body, f.small = 0, 0, 0
	}
	part, offset := f.part()
	n, err := h.ReadAt(chunk[:min(shipment.MaxChunk, f.size-offset)], offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if int64(n) <= f.length-offset {
		return false, errChanged // it was just cut
	}
	generation := f.generation
	if anew {
		generation = shipment.NewGeneration(chunk[:n], uint64(time.Now().UnixNano()))
	}
	return true, f.send(ctx, part, anew, &shipment.Message{
		Kind: shipment.Bytes, Generation: generation, Offset: offset, Modified: f.modified, Data: chunk[:n],
	})
}

// send stores bytes after the others of their part, and removes the bytes that they replace.
func (f *file) send(ctx context.Context, part shipment.Part, anew bool, m *shipment.Message) error {
	after := &f.tailed
	if part == shipment.Body {
		after = &f.bodied
	}
	sequence, err := f.s.stream.Append(ctx, f.subject, part, m, *after)
	if err != nil {
		return err
	}
	f.s.bytes.Add(uint64(m.End() - f.length))
	f.s.messages.Add(1)
	*after, f.kind, f.generation, f.length, f.shipped = sequence, m.Kind, m.Generation, m.End(), time.Now()
	switch {
	case anew:
		if err = f.s.stream.Drop(ctx, f.subject, sequence); part == shipment.Tail {
			f.bodied = 0
		} else {
			f.tailed = 0
		}
	case part == shipment.Body && f.small > 0:
		err = f.s.stream.Cut(ctx, f.subject, sequence)
		f.tailed = 0
	}
	if part == shipment.Tail {
		f.small++
		return err
	}
	f.body, f.small = m.End(), 0
	return err
}

// tell stores the state of the file.
func (f *file) tell(ctx context.Context, kind shipment.Kind, length int64, sum [sha256.Size]byte) error {
	sequence, err := f.s.stream.Append(ctx, f.subject, shipment.State, &shipment.Message{
		Kind: kind, Generation: f.generation, Offset: length, Modified: f.modified, Sum: sum,
	}, f.stated)
	if err == nil {
		f.stated, f.kind, f.length = sequence, kind, length
	}
	return err
}

// drop removes the file's bytes from the stream.
func (f *file) drop(ctx context.Context) error {
	if last := max(f.tailed, f.bodied); last > 0 {
		return f.s.stream.Drop(ctx, f.subject, last+1)
	}
	return nil
}

// gone is the rest of a round that found no file.
func (f *file) gone(ctx context.Context) (next time.Duration, over bool, err error) {
	if f.absent.IsZero() {
		f.absent = time.Now()
	}
	if left := f.s.o.Absent - time.Since(f.absent); left > 0 {
		return left, false, nil
	}
	switch {
	case f.kind == shipment.Removed || f.kind == shipment.Archived:
	case f.generation == "" || f.tailed == 0 && f.bodied == 0:
		f.kind = shipment.Removed // for follow
		return 0, true, nil
	case !f.s.mayRemove(ctx):
		return f.s.o.Absent, false, nil
	default:
		if err := f.tell(ctx, shipment.Removed, f.length, [sha256.Size]byte{}); err != nil {
			f.known = false
			return 0, false, err
		}
	}
	err = f.drop(ctx)
	f.kind = shipment.Removed // for follow
	return 0, err == nil, err
}

// rest is the rest of a round that has shipped everything.
func (f *file) rest(ctx context.Context) (next time.Duration, over bool, err error) {
	switch {
	case f.kind == shipment.Archived:
		err := f.drop(ctx) // unless archiving has done it
		return 0, err == nil, err
	case f.size < f.length: // it was cut, and its new bytes are not there yet
		return f.s.o.Quiet, false, nil
	case f.generation == "":
		return f.s.o.Quiet, f.size == 0 && time.Since(f.modified) > f.s.o.Quiet, nil
	case f.kind == shipment.Finished:
	default:
		next, ended, err := f.over()
		if err != nil || !ended {
			return next, false, err
		}
		if err := f.finish(ctx); err != nil {
			f.known = false
			return 0, false, err
		}
	}
	if f.s.o.Archive == nil {
		return 0, true, nil
	}
	if err := f.archive(ctx, f.length); err != nil {
		f.known = false
		return 0, false, err
	}
	return 0, true, nil
}

// over reports whether the file is over, and when to ask again.
func (f *file) over() (next time.Duration, over bool, err error) {
	idle := time.Since(f.modified)
	switch {
	case idle >= f.s.o.Quiet:
		return 0, true, nil
	case f.judged == f.size:
		return f.s.o.Quiet - idle, f.ended, nil
	case idle < f.s.o.Ended:
		return f.s.o.Ended - idle, false, nil
	}
	h, err := f.open()
	if err != nil {
		return 0, false, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	f.judged, f.ended = f.size, f.s.o.HasEnd(h, f.size)
	return max(f.s.o.Quiet-idle, time.Second), f.ended, nil
}

// finish tells the stream that the file, which was shipped as a whole, is over.
func (f *file) finish(ctx context.Context) error {
	sum, err := f.sum(f.length)
	if err != nil {
		return err
	}
	return f.tell(ctx, shipment.Finished, f.length, sum)
}
