package tablefile

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// waiting is a file with the values of one table's rows that wait for their row group. Its zero value is empty.
type waiting struct {
	file *os.File // nil until bytes are added
	out  *bufio.Writer
	size int64
}

// open makes the file unless there is one.
func (w *waiting) open(create func() (*os.File, error)) (err error) {
	if w.file == nil {
		if w.file, err = create(); err == nil {
			w.out = bufio.NewWriterSize(w.file, 16<<10)
		}
	}
	return err
}

// add adds bytes at the end, and returns their place. The file must be open.
func (w *waiting) add(b []byte) (at int64, err error) {
	at = w.size
	n, err := w.out.Write(b)
	w.size += int64(n)
	return at, err
}

// flush writes buffered bytes. Call it between add and readAt.
func (w *waiting) flush() error { return w.out.Flush() }

// readAt reads bytes that were added.
func (w *waiting) readAt(b []byte, at int64) error {
	if len(b) == 0 {
		return nil
	}
	_, err := w.file.ReadAt(b, at)
	return err
}

// clear makes the file empty.
func (w *waiting) clear() error {
	if w.size == 0 {
		return nil
	}
	w.size = 0
	_, err := w.file.Seek(0, io.SeekStart)
	return errors.Join(err, w.file.Truncate(0))
}

// close closes the file, which removes it.
func (w *waiting) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}
