package source

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/replayd/replayd/decoders"
)

// OpenLocal opens a file that the user of a command line names. Unlike a root of the daemon it follows every link. It reads a
// pipe, such as a shell's <(...), like an upload.
func OpenLocal(path string, limits Limits) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	stat, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	if mode := stat.Mode(); !mode.IsDir() && !mode.IsRegular() {
		return FromReadCloser(file, path, limits)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	return New(file, Origin{
		Name: path,
		Path: abs,
		Stat: func() (fs.FileInfo, error) { return os.Stat(abs) },
	}, limits)
}

// FromReadCloser is like FromReader for a stream that the File owns: the File's Close closes the stream, and so does
// FromReadCloser if it returns an error.
func FromReadCloser(r io.ReadCloser, name string, limits Limits) (*File, error) {
	f, err := FromReader(r, name, limits)
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	f.upload = r
	return f, nil
}

// FromReader makes a File of a stream of bytes, compressed or not. It reads the first bytes, to recognise the format. It returns
// what r returns, or a *decoders.Error for a compressed stream whose beginning cannot be unpacked. Closing the File does not
// close r.
func FromReader(r io.Reader, name string, limits Limits) (*File, error) {
	f := &File{limits: limits.withDefaults(), origin: Origin{Name: name}, info: Info{Name: name, Size: -1}}
	f.limits.account = &account{budget: limits.Budget}
	front := bufio.NewReaderSize(r, 64*kib)
	head, err := front.Peek(decoders.SniffLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f.info.Compression = sniffCompression(head)
	if f.info.Compression == Plain {
		f.info.Format = decoders.Sniff(head)
		f.front = front
		return f, nil
	}
	in := newInflater(front, f.info.Compression, decoders.Unknown, f.limits)
	unpacked := bufio.NewReaderSize(in, 64*kib)
	head, err = unpacked.Peek(decoders.SniffLen)
	f.info.Format = decoders.Sniff(head)
	if f.info.Format == decoders.Unknown && err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	in.format = f.info.Format
	f.front = unpacked
	return f, nil
}
