// Package record reads the records of a demo: their heads, their positions, and where they continue after damage. It does not
// decode their contents.
package record

import (
	"io"

	"github.com/replayd/replayd/decoders"
)

// Reader reads the records of a file one after another, and resynchronizes after damage.
type Reader struct {
	Win    *decoders.Window // the bytes of the file
	Header FileHeader
	Begun  bool // the header was read
	signOn SignOn
	resync resync
	Head   Head // the record that was read last
	some   bool // a record was read
	summed bool // Head has its sum
	// Stopped reports whether a record announced the end of the recording. Finished reports whether the last record was read.
	// The caller sets both, because only the caller decodes the contents of records.
	Stopped, Finished bool
	Work              int64 // bytes read since the caller last set it to 0
	Err               error // final
}

// NewReader returns a reader of the file that src reads from its first byte. It reads nothing yet.
func NewReader(src io.Reader) Reader {
	return Reader{Win: decoders.NewWindow(src, 0, MaxSize+64)}
}

// Sum returns the sum of the bytes before the record that was read last.
func (r *Reader) Sum() decoders.Sum {
	if r.some && !r.summed {
		r.Head.sum, r.summed = r.Win.SumUntil(r.Head.Offset), true
	}
	return r.Head.sum
}

// SumBehind returns the sum of the bytes before the next record.
func (r *Reader) SumBehind() decoders.Sum {
	r.Sum() // its bytes come first
	return r.Win.Sum()
}

// fill reads more bytes. It may drop the bytes of the last record.
func (r *Reader) fill() error {
	r.Sum()
	return r.Win.Fill()
}

// TakeSkipped returns how many bytes were skipped before the record that was read last, and why.
func (r *Reader) TakeSkipped() (n int64, what string) {
	n, what = r.resync.skipped, r.resync.what
	r.resync = resync{}
	return n, what
}

// Close ends reading when the source has no more bytes. It returns nil when the recording is complete, and an error otherwise.
func (r *Reader) Close() error {
	switch {
	case r.Err != nil:
		return r.Err
	case r.Finished:
		return nil
	case !r.Begun:
		if _, err := ParseFileHeader(r.Win.Bytes()); err != nil {
			return err
		}
		return r.Fail("header", decoders.ErrTruncated, "no record follows")
	case r.resync.lost:
		return r.Fail("record", decoders.ErrCorrupt, "%s; no other follows", r.resync.what)
	case len(r.Win.Bytes()) > 0:
		return r.Fail("record", decoders.ErrTruncated, "%d bytes of it are there", len(r.Win.Bytes()))
	case !r.Stopped:
		return r.Fail("recording", decoders.ErrTruncated, "it has no end")
	case r.Header.FileInfo >= r.Win.Offset():
		return r.Fail("file information", decoders.ErrTruncated, "announced at byte %d", r.Header.FileInfo)
	}
	return nil
}

// Fail returns a *decoders.Error at the offset of the next record, and makes it final.
func (r *Reader) Fail(what string, kind error, detail string, args ...any) error {
	tick := int32(decoders.NoTick)
	if r.some {
		tick = r.Head.Tick
	}
	r.Err = decoders.Errorf(decoders.Dem, r.Win.Offset(), tick, what, kind, detail, args...)
	return r.Err
}
