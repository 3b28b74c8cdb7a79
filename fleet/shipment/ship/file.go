package ship

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
)

// file is a file that is followed. It belongs to one goroutine.
type file struct {
	s       *Shipper
	path    string
	subject string

	known      bool // the fields below are those of the stream
	last       uint64
	kind       shipment.Kind
	generation shipment.Generation
	length     int64 // how many bytes of the generation are in the stream

	id       source.ID // as it was looked at last
	compared source.ID // of the file that was last compared with what the stream has
	size     int64
	modified time.Time
	judged   int64     // the size at which its own end was looked for last
	absent   time.Time // since when it is gone
}

// errGone means that there is no file with the path.
var errGone = errors.New("the file is gone")

// errChanged means that a file has changed while it was looked at.
var errChanged = errors.New("the file has changed meanwhile")

// follow ships a file until it is over or gone. It returns what it was then, or nil if nothing needs to be remembered.
func (s *Shipper) follow(ctx context.Context, p string) *settled {
	subject, err := shipment.Subject(s.stream.Name(), s.o.Source, p)
	if err != nil {
		return &settled{}
	}
	f := &file{s: s, path: p, subject: subject, judged: -1}
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
		}
		timer.Reset(next)
	}
}

// round ships what there is. It returns when to look again although nothing reports a change, and whether the file is over.
func (f *file) round(ctx context.Context) (next time.Duration, over bool, err error) {
	if !f.known {
		if err := f.recover(ctx); err != nil && !errors.Is(err, errGone) {
			return 0, false, err
		}
	}
	for {
		more, err := f.step(ctx)
		switch {
		case errors.Is(err, errGone):
			return f.gone(ctx)
		case err != nil:
			f.known = false // what became of a message that failed is not known
			return 0, false, err
		case !more:
			return f.rest(ctx)
		}
	}
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

// recover finds out what the stream has of the file.
func (f *file) recover(ctx context.Context) error {
	last, err := f.s.stream.Last(ctx, f.subject)
	if err != nil {
		return err
	}
	if last == nil {
		// Nothing. If the stream was lost, what it had is sent again, and readers that have it go on.
		f.known, f.last, f.length, f.kind = true, 0, 0, ""
		return nil
	}
	f.known, f.last, f.kind = true, last.Sequence, last.Kind
	ours := last.Err == nil && last.Kind != shipment.Removed
	if ours && last.Generation == f.generation {
		f.length = last.End()
		return nil
	}
	f.generation, f.length = "", 0
	if !ours {
		f.kind = ""
		return nil
	}
	h, err := f.open()
	if err != nil {
		if errors.Is(err, errGone) {
			f.generation, f.length = last.Generation, last.End() // so that it can be told to be removed
		}
		return err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	f.compared = f.id
	same, err := last.Generation.Begins(h)
	if err != nil || !same || f.size < last.End() {
		return err
	}
	if len(last.Data) > 0 {
		tail := make([]byte, len(last.Data))
		if _, err := h.ReadAt(tail, last.Offset); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(tail, last.Data) {
			return nil
		}
	}
	f.generation, f.length = last.Generation, last.End()
	return nil
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
		return false, nil // not a replay yet, or no longer: what it is will tell which
	}
	// Only now memory is needed.
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
	offset := f.length
	if anew {
		offset = 0
	}
	n, err := h.ReadAt(chunk[:min(shipment.MaxChunk, f.size-offset)], offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if n == 0 && f.size > offset {
		return false, errChanged // it was cut just now
	}
	generation := f.generation
	if anew {
		generation = shipment.NewGeneration(chunk[:n], uint64(time.Now().UnixNano()))
	}
	err = f.append(ctx, &shipment.Message{
		Kind: shipment.Bytes, Generation: generation, Offset: offset, Modified: f.modified, Data: chunk[:n],
	})
	if err != nil {
		return false, err
	}
	f.s.bytes.Add(uint64(n))
	f.s.messages.Add(1)
	if anew {
		return true, f.s.stream.Drop(ctx, f.subject, f.last)
	}
	return true, nil
}

// append stores a message behind the last one.
func (f *file) append(ctx context.Context, m *shipment.Message) error {
	sequence, err := f.s.stream.Append(ctx, f.subject, m, f.last)
	if err != nil {
		return err
	}
	f.last, f.kind, f.generation, f.length = sequence, m.Kind, m.Generation, m.End()
	return nil
}

// gone is the rest of a round in which there was no file.
func (f *file) gone(ctx context.Context) (next time.Duration, over bool, err error) {
	if f.absent.IsZero() {
		f.absent = time.Now()
	}
	if left := f.s.o.Absent - time.Since(f.absent); left > 0 {
		return left, false, nil
	}
	if f.last == 0 || f.kind == shipment.Removed || f.kind == shipment.Archived || f.generation == "" {
		f.kind = shipment.Removed // for follow
		return 0, true, nil
	}
	if !f.s.mayRemove(ctx) {
		return f.s.o.Absent, false, nil
	}
	if err := f.append(ctx, &shipment.Message{Kind: shipment.Removed, Generation: f.generation, Offset: f.length, Modified: f.modified}); err != nil {
		f.known = false
		return 0, false, err
	}
	return 0, true, f.s.stream.Drop(ctx, f.subject, f.last)
}

// rest is the rest of a round after everything was shipped.
func (f *file) rest(ctx context.Context) (next time.Duration, over bool, err error) {
	switch {
	case f.kind == shipment.Archived:
		return 0, true, nil
	case f.size < f.length: // it was cut, and what was written since is not there yet
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
	if err := f.archive(ctx); err != nil {
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
		return f.s.o.Quiet - idle, false, nil
	case idle < f.s.o.Ended:
		return f.s.o.Ended - idle, false, nil
	}
	h, err := f.open()
	if err != nil {
		return 0, false, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	f.judged = f.length
	return max(f.s.o.Quiet-idle, time.Second), f.s.o.HasEnd(io.NewSectionReader(h, 0, f.length)), nil
}

// sum returns the SHA-256 of the bytes that were shipped, as the file has them now.
func (f *file) sum() (sum [sha256.Size]byte, err error) {
	h, err := f.open()
	if err != nil {
		return sum, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	hash := sha256.New()
	n, err := io.Copy(hash, io.NewSectionReader(h, 0, f.length))
	switch {
	case err != nil:
		return sum, err
	case n < f.length || f.size != f.length:
		return sum, errChanged
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// finish tells the stream that the file is over.
func (f *file) finish(ctx context.Context) error {
	sum, err := f.sum()
	if err != nil {
		return err
	}
	return f.append(ctx, &shipment.Message{Kind: shipment.Finished, Generation: f.generation, Offset: f.length, Modified: f.modified, Sum: sum})
}

// archive writes the file to the archive, reads it back, and removes it from the stream.
func (f *file) archive(ctx context.Context) error {
	f.s.archiving.Lock()
	defer f.s.archiving.Unlock()
	sum, err := f.sum()
	if err != nil {
		return err
	}
	h, err := f.open()
	if err != nil {
		return err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	key := f.s.o.Source + "/" + f.path
	if found, err := f.stored(ctx, key); err != nil || found != sum {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the archive: %w", err)
		}
		if err := f.s.o.Archive.Put(ctx, key, io.NewSectionReader(h, 0, f.length), f.length); err != nil {
			return fmt.Errorf("the archive: %w", err)
		}
		if found, err = f.stored(ctx, key); err != nil {
			return fmt.Errorf("the archive: %w", err)
		}
		if found != sum {
			return errors.New("the archive has other bytes than were written to it")
		}
	}
	err = f.append(ctx, &shipment.Message{Kind: shipment.Archived, Generation: f.generation, Offset: f.length, Modified: f.modified, Sum: sum})
	if err != nil {
		return err
	}
	f.s.archived.Add(1)
	return f.s.stream.Drop(ctx, f.subject, f.last)
}

// stored returns the SHA-256 of an object of the length of the file, or another sum if it has another length.
func (f *file) stored(ctx context.Context, key string) (sum [sha256.Size]byte, err error) {
	h, err := f.s.o.Archive.Open(ctx, key)
	if err != nil {
		return sum, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	stat, err := h.Stat()
	if err != nil || stat.Size() != f.length {
		return sum, err
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, io.NewSectionReader(h, 0, f.length), make([]byte, 64<<10)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}
