package decoders

import (
	"errors"
	"hash/crc32"
	"io"
)

// Window is a sliding view of the bytes of a replay. Sequential decoders read through it: they examine Bytes and
// Advance past whole records only. A record of which only a part is present therefore stays in the window.
//
// When the source returns 0, io.EOF, it has no more bytes for now, but it may have more later, as an *os.File does
// whose file grows. A Window is not safe for concurrent use.
type Window struct {
	src  io.Reader
	buf  []byte
	r, w int   // buf[r:w] is present and not yet consumed
	base int64 // offset of buf[0] in the replay
	max  int

	sum    Sum // of the bytes before buf[summed]
	summed int
}

// Sum is the CRC-32C of the first bytes of a replay. An edit of those bytes changes it.
type Sum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Add returns the sum of the bytes that s covers, followed by b.
func (s Sum) Add(b []byte) Sum { return Sum(crc32.Update(uint32(s), castagnoli, b)) }

// ErrWindow reports that a record is larger than the window may become.
var ErrWindow = errors.New("record exceeds the window")

const windowStart = 64 << 10

// NewWindow returns a window over src, whose first byte has the given offset in the replay. The window holds 64 KiB.
// It grows up to limit bytes for a record that needs more, so limit bounds the memory that a hostile file can use.
func NewWindow(src io.Reader, offset int64, limit int) *Window {
	return &Window{src: src, base: offset, max: max(limit, windowStart)}
}

// Lend gives a window that has read nothing memory, which Leave takes from it.
func (w *Window) Lend(buf []byte) { w.buf = buf[:min(cap(buf), w.max)] }

// Leave returns the memory of the window, which is then as if no byte behind Offset were there.
func (w *Window) Leave() []byte {
	w.Sum()
	buf := w.buf
	*w = Window{base: w.Offset(), max: w.max, sum: w.sum, src: w.src}
	return buf
}

// Bytes returns the bytes that are present and not consumed. They are valid until the next call of Fill.
func (w *Window) Bytes() []byte { return w.buf[w.r:w.w] }

// Held returns the memory that the window holds, in bytes.
func (w *Window) Held() int { return cap(w.buf) }

// Offset returns the offset, in the replay, of the first of Bytes.
func (w *Window) Offset() int64 { return w.base + int64(w.r) }

// Sum returns the sum of all bytes before Offset. Each byte is added only once, so frequent calls are cheap.
func (w *Window) Sum() Sum { return w.SumUntil(w.Offset()) }

// SumUntil returns the sum of the bytes before offset, which must not be greater than Offset, nor less than the offset of the
// last call of SumUntil, Sum or Fill. Each byte is added only once.
func (w *Window) SumUntil(offset int64) Sum {
	end := int(offset - w.base)
	w.sum = w.sum.Add(w.buf[w.summed:end])
	w.summed = end
	return w.sum
}

// SumTo is like SumUntil, but later calls may have smaller offsets.
func (w *Window) SumTo(offset int64) Sum { return w.sum.Add(w.buf[w.summed : offset-w.base]) }

// End returns the offset behind Bytes, and the sum of all bytes before it.
func (w *Window) End() (int64, Sum) { return w.base + int64(w.w), w.sum.Add(w.buf[w.summed:w.w]) }

// Resume sets the sum of the bytes before Offset. Without it, sums begin at the window's first byte.
func (w *Window) Resume(s Sum) { w.sum, w.summed = s, w.r }

// Advance consumes n bytes, which must be present.
func (w *Window) Advance(n int) { w.r += n }

// Behind returns the last n bytes that were consumed. All of them must have been present at once, with no Fill since.
// The record that was just read satisfies this. The bytes are valid until the next call of Fill.
func (w *Window) Behind(n int) []byte { return w.buf[w.r-n : w.r : w.r] }

// Skip consumes n bytes, which need not be present yet. It returns the number of bytes consumed. That is less than n
// only with an error, which may be ErrMore.
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

// Fill reads more bytes. It returns nil when it has read some, ErrMore when the source has no more for now, and
// ErrWindow when the window is full and must not grow. It returns other errors of the source unchanged.
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
	end := min(len(w.buf), w.w+max(windowStart, w.w-w.r)) // more at a time would leave the processor's caches before it is decoded
	for range 8 {
		n, err := w.src.Read(w.buf[w.w:end])
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
