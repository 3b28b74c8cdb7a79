package source

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/replayd/replayd/decoders"
)

// spool copies a stream into a temporary file without a name and returns it with its length.
func spool(ctx context.Context, from io.Reader, format decoders.Format, limits Limits) (*os.File, int64, error) {
	file, err := nameless(limits.TempDir)
	if err != nil {
		return nil, 0, err
	}
	length, err := copyBounded(ctx, file, from, format, limits)
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, length, nil
}

// Nameless makes a temporary file without a name in os.TempDir: it cannot stay behind, however the process ends.
func Nameless() (*os.File, error) { return nameless("") }

func nameless(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "replayd-spool-*")
	if err != nil {
		return nil, SpoolError(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, ioError(err)
	}
	return file, nil
}

func copyBounded(ctx context.Context, to io.Writer, from io.Reader, format decoders.Format, limits Limits) (int64, error) {
	limit := limits.Spooled
	var length int64
	buf := make([]byte, 256*kib)
	for {
		if err := ctx.Err(); err != nil {
			return length, err
		}
		n, err := from.Read(buf)
		if length += int64(n); length > limit {
			return length, decoders.Errorf(format, limit, decoders.NoTick, "file", decoders.ErrLimit,
				"it unpacks to more than the %d bytes that may be kept on disk", limit)
		}
		if err := limits.account.takeSpool(int64(n)); err != nil {
			return length, err
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return length, SpoolError(err)
		}
		switch {
		case errors.Is(err, io.EOF):
			return length, nil
		case err != nil:
			return length, err
		}
	}
}
