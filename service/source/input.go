package source

import (
	"errors"
	"io"
)

// Input is the bytes of a replay, decompressed.
type Input struct {
	// At reads anywhere. It is nil where only reading from front to back is possible. At the present end of a file that
	// grows it returns io.EOF, and more later.
	At io.ReaderAt
	// Front reads from front to back, once. It is used where At is nil. It returns 0, io.EOF where there is nothing more
	// for now.
	Front io.Reader
	// Size is how many bytes were there when the input was opened, or -1 where that is not known. It is known where At
	// is there.
	Size int64
}

// From returns a reader of the input from an offset on. Without At only offset 0 will do, once.
func (in Input) From(offset int64) (io.Reader, error) {
	if in.At != nil {
		return &reader{at: in.At, offset: offset}, nil
	}
	if offset != 0 {
		return nil, errors.New("input cannot be read from the middle")
	}
	return in.Front, nil
}

// reader reads on from an offset for as long as there is more; unlike io.SectionReader it has no end of its own.
type reader struct {
	at     io.ReaderAt
	offset int64
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.at.ReadAt(p, r.offset)
	r.offset += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}
