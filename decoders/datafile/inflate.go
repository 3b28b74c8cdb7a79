package datafile

import (
	"errors"
	"fmt"
	"io"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/datafile/inflate"
)

// ChunkSize is the largest number of bytes of a blob in one event.
const ChunkSize = inflate.Most

const maxRatio = 1032 // the highest compression ratio of deflate

// inflater reads blobs, one after another, through a window of bounded size. Its buffers are reused.
type inflater struct {
	file   *File
	stored section
	from   inflate.Reader

	blob   int   // the open blob
	intact int   // the last blob, counted from 1, that was read to its end: it is not summed again
	left   int64 // declared bytes that have not been read
	err    error // the error that ended reading the blob
}

// open starts reading a blob. If the blob is invalid, read and finish return the error.
func (in *inflater) open(blob int) {
	in.blob, in.left = blob, in.file.DataSize(blob)
	in.err = in.begin()
}

func (in *inflater) begin() error {
	f, blob := in.file, in.blob
	size := f.storedSize(blob)
	in.stored = section{r: f.r, offset: f.blobAt(blob), left: size}
	switch {
	case f.header.Version < 4, size == 0 && in.left == 0:
		in.from.ResetPlain(&in.stored)
	case in.left > size*maxRatio:
		return in.corrupt("declares %d bytes, to which %d cannot inflate", in.left, size)
	default:
		in.from.Reset(&in.stored, in.intact == blob+1)
	}
	return nil
}

// next returns the next n bytes of the blob, which are valid until the next call. n must be neither more than in.left nor than ChunkSize. If
// the blob has fewer bytes, next returns these, with room for n, and an error. The total does not depend on the sizes of the parts.
func (in *inflater) next(n int64) ([]byte, error) {
	if in.err != nil {
		return nil, in.err
	}
	p, err := in.from.Next(int(n))
	in.left -= int64(len(p))
	if err != nil {
		in.err = in.failed(err)
	}
	return p, in.err
}

// finish checks that the blob ends here and is intact, after all its bytes have been read. These stay valid. It does not count excess
// bytes, so that reading a blob costs no more than its declared size.
func (in *inflater) finish() error {
	if in.err != nil {
		return in.err
	}
	switch err := in.from.End(); {
	case err == nil:
		in.err = in.corrupt("inflates to more than the %d bytes that it declares", in.file.DataSize(in.blob))
	case errors.Is(err, io.EOF):
		in.intact = in.blob + 1
		return nil
	default:
		in.err = in.failed(err)
	}
	return in.err
}

// failed converts an error of the sources.
func (in *inflater) failed(err error) error {
	f := in.file
	switch {
	case in.stored.err == nil && errors.Is(err, io.EOF), in.stored.err == nil && errors.Is(err, io.ErrUnexpectedEOF):
		return in.corrupt("ends with %d of its %d bytes missing", in.left, f.DataSize(in.blob))
	case in.stored.err == nil:
		return in.corrupt("%v", err)
	case errors.Is(in.stored.err, io.EOF):
		return failure(in.stored.offset, "data", decoders.ErrTruncated, "the file became shorter")
	}
	return fmt.Errorf("datafile: data at byte %d: %w", in.stored.offset, in.stored.err)
}

func (in *inflater) corrupt(detail string, args ...any) error {
	return failure(in.file.blobAt(in.blob), "data", decoders.ErrCorrupt, "blob %d "+detail,
		append([]any{in.blob}, args...)...)
}

// section reads a part of a file like an io.SectionReader. It can be reused, and it keeps its error.
type section struct {
	r      io.ReaderAt
	offset int64
	left   int64
	err    error
}

func (s *section) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if s.err != nil {
		return 0, s.err
	}
	p = p[:min(int64(len(p)), s.left)]
	n, err := s.r.ReadAt(p, s.offset)
	s.offset += int64(n)
	s.left -= int64(n)
	if n < len(p) {
		if err == nil {
			err = io.ErrNoProgress
		}
		s.err = err
		return n, err
	}
	return n, nil
}
