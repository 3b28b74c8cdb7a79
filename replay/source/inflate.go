package source

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/replay/source/xz"
)

// inflater decompresses a stream within limits. Its errors are io.EOF, *decoders.Error, and those of the compressed stream's
// reader. It starts no goroutines and need not be closed.
type inflater struct {
	compression Compression
	format      decoders.Format // of the replay, for errors
	limits      Limits

	src    counter
	unpack io.Reader // nil before the first Read
	offset int64     // in the unpacked stream
	err    error     // returned by all further calls

	window  int64 // the largest window that the budget was charged for
	refused error // the budget's error
}

// newInflater returns a reader of the stream that is compressed in src.
func newInflater(src io.Reader, c Compression, f decoders.Format, limits Limits) *inflater {
	return &inflater{compression: c, format: f, limits: limits, src: counter{r: src}}
}

// counter counts the bytes read and keeps the first error, which decompressors hide or rewrite.
type counter struct {
	r   io.Reader
	n   int64
	err error // other than io.EOF
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

func (f *inflater) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if f.unpack == nil {
		if f.err = f.explain(f.open()); f.err != nil {
			return 0, f.err
		}
	}
	// Read at most one byte beyond the limit: it shows that the limit is exceeded.
	if room := f.limits.Inflated - f.offset; int64(len(p)) > room {
		p = p[:room+1]
	}
	n, err := f.unpack.Read(p)
	f.offset += int64(n)
	f.err = f.explain(err)
	switch {
	case f.offset > f.limits.Inflated:
		n--
		f.offset--
		f.err = f.fail(decoders.ErrLimit, "it unpacks to more than %d bytes", f.limits.Inflated)
	case f.offset > f.limits.RatioFree && f.offset/f.limits.Ratio > f.src.n:
		f.err = f.fail(decoders.ErrLimit, "%d bytes unpack to more than %d times as many", f.src.n, f.limits.Ratio)
	}
	if n > 0 {
		return n, nil // the next call returns the error
	}
	return 0, f.err
}

// open starts to decompress, which reads the first header.
func (f *inflater) open() error {
	src := bufio.NewReaderSize(&f.src, 64*kib)
	err := f.limits.account.takeMemory(costs[f.compression])
	if err != nil {
		f.refused = err
		return err
	}
	switch f.compression {
	case Gzip:
		f.unpack, err = gzip.NewReader(src) // nil on error, and not read then
	case Zstd:
		f.unpack, err = zstd.NewReader(&windows{src: src, grow: f.grow}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(f.limits.Window)))
	case XZ:
		r := xz.NewReader(src, f.limits.Dictionary)
		r.Take = func(n int64) error { return f.take(n + n/4) } // a quarter more, as outgrown dictionaries are collected late
		f.unpack = r
	case Bzip2:
		f.unpack = bzip2.NewReader(src)
	default:
		f.unpack = src
	}
	return err
}

// costs is the memory of decompressors besides their windows.
var costs = map[Compression]int64{Gzip: gzipCost, Zstd: zstdCost, XZ: xzCost, Bzip2: bzip2Cost}

// take charges the budget for memory.
func (f *inflater) take(n int64) error {
	f.refused = f.limits.account.takeMemory(n)
	return f.refused
}

// grow charges the budget for a window; the decompressor allocates about twice as much. It does not check the limit of windows;
// the decompressor does.
func (f *inflater) grow(window int64) error {
	if window <= f.window || window > f.limits.Window {
		return nil
	}
	more := 2 * (window - f.window)
	f.window = window
	return f.take(more)
}

// explain converts an error of a decompressor.
func (f *inflater) explain(err error) error {
	var unpacking *xz.Error
	switch {
	case err == nil:
		return nil
	case f.refused != nil:
		return f.refused
	case f.src.err != nil:
		return f.src.err
	case errors.As(err, &unpacking):
		return f.fail(unpacking.Kind, "%s", unpacking.Detail)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return f.fail(decoders.ErrTruncated, "it ends in the middle")
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return f.fail(decoders.ErrLimit, "its window is larger than %d bytes", f.limits.Window)
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return f.fail(decoders.ErrLimit, "%v", err)
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return f.fail(decoders.ErrUnsupported, "it needs a dictionary that it does not carry")
	}
	return f.fail(decoders.ErrCorrupt, "%v", err)
}

func (f *inflater) fail(kind error, detail string, args ...any) error {
	return decoders.Errorf(f.format, f.offset, decoders.NoTick, f.compression.String()+" stream", kind, detail, args...)
}
