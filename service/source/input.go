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
	// Take asks for memory, in bytes, before it is used for what the format's cost does not tell, or returns why it is not to
	// be had. A negative number gives back; what is not given back is when the file is closed. It is nil where nobody counts.
	Take func(bytes int64) error
}

// Memory is Take where somebody counts, and gives everything where nobody does.
func (in Input) Memory(bytes int64) error {
	if in.Take == nil {
		return nil
	}
	return in.Take(bytes)
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
