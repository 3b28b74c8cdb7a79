package source

import (
	"errors"
	"io"
)

// Input provides the bytes of a replay, decompressed.
type Input struct {
	// At reads at any offset. It is nil if the replay can only be read from front to back. At the present end of a growing file
	// it returns io.EOF, and later more.
	At io.ReaderAt
	// Front reads from front to back, once. It is set if At is nil. It returns 0, io.EOF if there are no more bytes for now.
	Front io.Reader
	// Size is the number of bytes when the Input was made, -1 if it is not known. It is known if At is set.
	Size int64
	// Take asks for memory, in bytes, that the format's cost does not include, before it is used, or returns why there is none. A
	// negative number gives memory back; closing the file gives back the rest. Take is nil where nobody counts.
	Take func(bytes int64) error
}

// Memory calls Take if it is not nil. Without Take there is no limit.
func (in Input) Memory(bytes int64) error {
	if in.Take == nil {
		return nil
	}
	return in.Take(bytes)
}

// From returns a reader of the input that starts at offset. Without At, offset must be 0, and From may be called only once.
func (in Input) From(offset int64) (io.Reader, error) {
	if in.At != nil {
		return &reader{at: in.At, offset: offset}, nil
	}
	if offset != 0 {
		return nil, errors.New("input cannot be read from the middle")
	}
	return in.Front, nil
}

// reader reads from an offset to the present end of the file, which may move; an io.SectionReader has a fixed end.
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
