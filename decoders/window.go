package decoders

import (
	"errors"
	"hash/crc32"
	"io"
)

// Window is a sliding view of the bytes of a replay that are present. Sequential decoders read through it: they look
// at Bytes, and Advance past whole records only, so that a record which is not all there yet stays.
//
// A reader that returns 0, io.EOF has no more bytes for now, but may have later; reading goes on then, as with an
// *os.File does whose file grows. A Window is not safe for concurrent use.
type Window struct {
	src  io.Reader
	buf  []byte
	r, w int   // buf[r:w] is present and not yet consumed
	base int64 // offset of buf[0] in the replay
	max  int

	sum    Sum // of the bytes before buf[summed]
	summed int
}

// Sum is the CRC-32C of the first bytes of a replay. A replay whose beginning was edited has another one.
type Sum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Add returns the sum of the bytes that s is the sum of, and of b behind them.
func (s Sum) Add(b []byte) Sum { return Sum(crc32.Update(uint32(s), castagnoli, b)) }

// ErrWindow says that a record is larger than the window may become.
var ErrWindow = errors.New("record exceeds the window")

const windowStart = 64 << 10

// NewWindow returns a window over src, whose first byte has the given offset in the replay. It holds 64 KiB, and grows
// up to max bytes for a record that needs it; max bounds the memory that a hostile file can cost.
func NewWindow(src io.Reader, offset int64, limit int) *Window {
	return &Window{src: src, base: offset, max: max(limit, windowStart)}
}

// Bytes returns what is present and not consumed. It is valid until the next call of Fill.
func (w *Window) Bytes() []byte { return w.buf[w.r:w.w] }

// Offset is where in the replay Bytes starts.
func (w *Window) Offset() int64 { return w.base + int64(w.r) }

// Sum returns the sum of all bytes before Offset. Each byte is added once, so that it may be asked for often.
func (w *Window) Sum() Sum {
	w.sum = w.sum.Add(w.buf[w.summed:w.r])
	w.summed = w.r
	return w.sum
}

// SumTo returns the sum of the bytes before an offset that is not behind Offset, nor before where Sum or Fill was called
// last.
func (w *Window) SumTo(offset int64) Sum { return w.sum.Add(w.buf[w.summed : offset-w.base]) }

// Resume sets the sum of the bytes before the window's first one. It must be called before anything is read; without it
// sums count from there.
func (w *Window) Resume(s Sum) { w.sum = s }

// Advance consumes n bytes, which must be present.
func (w *Window) Advance(n int) { w.r += n }

// Behind returns the last n bytes that were consumed. They must have been present all at once, and not be followed by a Fill
// since: so it is for the record that was just read. The bytes are valid until the next call of Fill.
func (w *Window) Behind(n int) []byte { return w.buf[w.r-n : w.r : w.r] }

// Skip consumes n bytes that need not be present yet. It returns how many it consumed: fewer than n only with an error,
// ErrMore among them.
func (w *Window) Skip(n int64) (int64, error) {
	have := min(n, int64(w.w-w.r))
	w.r += int(have)
	for have < n {
		if err := w.Fill(); err != nil {
			return have, err
		}
		step := min(n-have, int64(w.w-w.r))
		w.r += int(step)
		have += step
	}
	return have, nil
}

// Fill reads more bytes. It returns nil when there are more than before, ErrMore when the source has no more bytes for now, ErrWindow when
// the window is full and must not grow, and any other error of the source as it is.
func (w *Window) Fill() error {
	if w.r > 0 && (w.r == w.w || w.w == len(w.buf)) {
		w.Sum()
		w.summed = 0
		copy(w.buf, w.buf[w.r:w.w])
		w.base += int64(w.r)
		w.w -= w.r
		w.r = 0
	}
	if w.w == len(w.buf) {
		if len(w.buf) >= w.max {
			return ErrWindow
		}
		bigger := make([]byte, min(max(2*len(w.buf), windowStart), w.max))
		copy(bigger, w.buf[:w.w])
		w.buf = bigger
	}
	for range 8 {
		n, err := w.src.Read(w.buf[w.w:])
		if n > 0 {
			w.w += n
			return nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return ErrMore
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}
