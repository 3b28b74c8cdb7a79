package ship

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/replayd/replayd/fleet/shipment"
	"github.com/replayd/replayd/replay/source"
)

// archived describes the archive's copy of a file, so that it is not read again while NATS refuses the state.
type archived struct {
	id       source.ID
	size     int64
	modified time.Time
	sum      [sha256.Size]byte
}

// sum returns the SHA-256 of the file's first length bytes.
func (f *file) sum(length int64) (sum [sha256.Size]byte, err error) {
	h, err := f.open()
	if err != nil {
		return sum, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	hash := sha256.New()
	n, err := io.Copy(hash, io.NewSectionReader(h, 0, length))
	switch {
	case err != nil:
		return sum, err
	case n < length || f.size != length:
		return sum, errChanged
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// errArchive means that the archive refuses a file.
var errArchive = errors.New("the archive")

// archive writes the file from the disk to the archive, reads it back, and removes it from the stream, which may lack some of it.
func (f *file) archive(ctx context.Context, size int64) error {
	if err := f.store(ctx, size); err != nil {
		return err
	}
	if f.generation == "" { // the stream has nothing of it
		h, err := f.open()
		if err != nil {
			return err
		}
		prefix := make([]byte, 4096)
		n, err := h.ReadAt(prefix, 0)
		_ = h.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		f.generation = shipment.NewGeneration(prefix[:n], uint64(time.Now().UnixNano()))
	}
	if err := f.tell(ctx, shipment.Archived, f.archived.size, f.archived.sum); err != nil {
		return err
	}
	f.s.archived.Add(1)
	return f.drop(ctx)
}

// store writes the file to the archive, unless the archive has it.
func (f *file) store(ctx context.Context, size int64) error {
	f.s.archiving.Lock()
	defer f.s.archiving.Unlock()
	h, err := f.open()
	if err != nil {
		return err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	now := archived{f.id, size, f.modified, f.archived.sum}
	if size == f.size && f.archived == now {
		return nil
	}
	if now.sum, err = f.sum(now.size); err != nil {
		return err
	}
	key := f.s.o.Source + "/" + f.path
	found, err := f.stored(ctx, key, now.size)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errArchive, err)
	}
	if err != nil || found != now.sum {
		if err := f.s.o.Archive.Put(ctx, key, io.NewSectionReader(h, 0, now.size), now.size); err != nil {
			return fmt.Errorf("%w: %w", errArchive, err)
		}
		if found, err = f.stored(ctx, key, now.size); err != nil {
			return fmt.Errorf("%w: %w", errArchive, err)
		}
		if found != now.sum {
			return fmt.Errorf("%w has other bytes than were written to it", errArchive)
		}
	}
	f.archived = now
	return nil
}

// stored returns the SHA-256 of an object, or another sum if its length differs.
func (f *file) stored(ctx context.Context, key string, length int64) (sum [sha256.Size]byte, err error) {
	h, err := f.s.o.Archive.Open(ctx, key)
	if err != nil {
		return sum, err
	}
	defer h.Close() //nolint:errcheck // nothing was written
	stat, err := h.Stat()
	if err != nil || stat.Size() != length {
		return sum, err
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, io.NewSectionReader(h, 0, length), make([]byte, 64<<10)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}
