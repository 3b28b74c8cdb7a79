package source

import (
	"errors"
	"fmt"
	"io/fs"
)

// Why a name does not lead to a replay.
var (
	// ErrDirectory: it is a directory.
	ErrDirectory = errors.New("is a directory")
	// ErrIrregular: it is a device, a pipe, a socket or the like.
	ErrIrregular = errors.New("is not a regular file")
)

// Why an open file cannot be followed any further. What was read of it before stays true.
var (
	// ErrShrunk: the file is shorter than it was. What it held cannot be read any more.
	ErrShrunk = errors.New("the file shrank")
	// ErrOverwritten: it shrank, and was written anew: its beginning is another one than it was.
	ErrOverwritten = fmt.Errorf("%w and was written anew", ErrShrunk)
	// ErrReplaced: another file lies where the file lay. What it held when it was replaced can still be read.
	ErrReplaced = errors.New("the file was replaced")
	// ErrRemoved: nothing lies where the file lay. What it held when it was removed can still be read.
	ErrRemoved = errors.New("the file was removed")
)

// ErrIO says that the operating system failed to read: a bad disk, a network file system whose server is gone. The
// error that wraps it also wraps the cause, such as syscall.EIO or syscall.ESTALE.
var ErrIO = errors.New("reading failed")

// ioError makes an error of the operating system one of ErrIO. It drops the path of the operating system, which is
// for the operator only.
func ioError(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("%w: %w", ErrIO, err)
}
