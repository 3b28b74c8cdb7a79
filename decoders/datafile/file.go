package datafile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/replayd/replayd/decoders"
)

// File is an open datafile whose container has been checked. It holds the tables and items in memory, but not the
// blobs.
type File struct {
	r      io.ReaderAt
	limits Limits
	header Header

	// The stored pieces of the file before its blobs. All share one allocation.
	types       []byte
	itemOffsets ints
	dataOffsets ints
	dataSizes   ints // empty in version 3
	items       []byte

	itemsAt int64 // the offset of the items in the file
	dataAt  int64 // the offset of the blobs
	excess  bool  // the file has bytes behind the blobs

	plan plan
}

// Open reads and checks the container in the first size bytes of r. r must stay readable while the file or one of its
// decoders is in use. Open inflates nothing. It returns a *decoders.Error for an invalid file, and other errors for
// failures of r.
func Open(r io.ReaderAt, size int64, limits Limits) (*File, error) {
	f := &File{r: r, limits: limits}
	f.limits.Blob = min(limits.Blob, math.MaxInt32)
	if err := f.readHeader(size); err != nil {
		return nil, err
	}
	for _, check := range []func() error{f.checkTypes, f.checkItems, f.checkData} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if err := f.makePlan(); err != nil {
		return nil, err
	}
	return f, nil
}

// Header returns the file's header.
func (f *File) Header() Header { return f.header }

// NumTypes returns the number of item types.
func (f *File) NumTypes() int { return len(f.types) / typeEntrySize }

// Type returns the number of the i-th type and the count of its items. See [File.TypeName].
func (f *File) Type(i int) (typ, count int) {
	entry := ints(f.types[i*typeEntrySize:])
	return int(entry.at(0)), int(entry.at(2))
}

// Item is an item of a datafile.
type Item struct {
	// Type is the number of the item's type, 0 to 0xffff.
	Type int
	// ID is the item's number within its type, 0 to 0xffff.
	ID int
	// Data holds the item's integers, little-endian, 4 bytes each. It must not be modified.
	Data []byte
}

// NumItems returns the number of items.
func (f *File) NumItems() int { return f.itemOffsets.len() }

// Item returns the i-th item, in the order of the file.
func (f *File) Item(i int) Item {
	offset := f.itemOffsets.at(i)
	head := ints(f.items[offset:])
	key, start := uint32(head.at(0)), offset+itemHeader
	end := start + head.at(1)
	return Item{Type: int(key >> 16), ID: int(key & 0xffff), Data: f.items[start:end:end]}
}

// NumData returns the number of blobs.
func (f *File) NumData() int { return f.dataOffsets.len() }

// DataSize returns the inflated size, in bytes, that the file declares for the i-th blob.
func (f *File) DataSize(i int) int64 {
	if f.header.Version < 4 {
		return f.storedSize(i)
	}
	return int64(f.dataSizes.at(i))
}

// AppendData appends the i-th blob, inflated, to b. It holds the whole blob in memory, so use it only for small and
// trusted files. Otherwise use [File.Events].
func (f *File) AppendData(b []byte, i int) ([]byte, error) {
	in := inflater{file: f}
	in.open(i)
	// Grow with the bytes that are present, not with the declared size.
	for in.left > 0 {
		p, err := in.next(min(in.left, ChunkSize))
		b = append(b, p...)
		if err != nil {
			return b, err
		}
	}
	return b, in.finish()
}

// storedSize returns the number of bytes that the i-th blob occupies in the file.
func (f *File) storedSize(i int) int64 {
	end := f.header.DataBytes
	if i+1 < f.NumData() {
		end = int64(f.dataOffsets.at(i + 1))
	}
	return end - int64(f.dataOffsets.at(i))
}

// typeAt, itemAt and blobAt return offsets in the file.
func (f *File) typeAt(i int) int64 { return headerSize + int64(i)*typeEntrySize }
func (f *File) itemAt(i int) int64 { return f.itemsAt + int64(f.itemOffsets.at(i)) }
func (f *File) blobAt(i int) int64 { return f.dataAt + int64(f.dataOffsets.at(i)) }

// readAt fills p from the file.
func (f *File) readAt(p []byte, offset int64, what string) error {
	n, err := f.r.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return failure(offset+int64(n), what, decoders.ErrTruncated, "the file became shorter")
	}
	return fmt.Errorf("datafile: %s at byte %d: %w", what, offset, err)
}

// failure returns the error for an invalid file.
func failure(offset int64, what string, kind error, detail string, args ...any) error {
	return decoders.Errorf(decoders.Datafile, offset, decoders.NoTick, what, kind, detail, args...)
}
