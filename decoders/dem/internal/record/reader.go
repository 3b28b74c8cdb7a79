package record

import (
	"io"

	"github.com/replayd/replayd/decoders"
)

// Reader reads the records of a file one after another, and finds them again behind damage.
type Reader struct {
	Win    *decoders.Window
	Header FileHeader
	Begun  bool // the header was read
	signOn SignOn
	resync resync
	Head   Head // the record that was read last
	some   bool // there is one
	// Stopped: a record said that the recording stopped. finished: it was the last one. Both are set by the one who knows
	// what is in records.
	Stopped, Finished bool
	Work              int64 // bytes that were read; set back by the one who bounds them
	Err               error // final
}

func NewReader(src io.Reader) Reader {
	return Reader{Win: decoders.NewWindow(src, 0, MaxSize+64)}
}

// TakeSkipped returns how many bytes were skipped before the record that was read last, and why.
func (r *Reader) TakeSkipped() (n int64, what string) {
	n, what = r.resync.skipped, r.resync.what
	r.resync = resync{}
	return n, what
}

// Close is called when no more bytes will come. It returns nil when the recording ended as it should.
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

// Fail makes an error final.
func (r *Reader) Fail(what string, kind error, detail string, args ...any) error {
	tick := int32(decoders.NoTick)
	if r.some {
		tick = r.Head.Tick
	}
	r.Err = decoders.Errorf(decoders.Dem, r.Win.Offset(), tick, what, kind, detail, args...)
	return r.Err
}
