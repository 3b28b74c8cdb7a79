package dem

import (
	"io"

	"github.com/replayd/replayd/decoders"
)

// recordReader reads the records of a file one after another, and finds them again behind damage.
type recordReader struct {
	win    *decoders.Window
	header fileHeader
	begun  bool // the header was read
	signOn signOn
	resync resync
	frame  frame // the record that was read last
	some   bool  // there is one
	// stopped: a record said that the recording stopped. finished: it was the last one. Both are set by the one who knows
	// what is in records.
	stopped, finished bool
	work              int64 // bytes that were read; set back by the one who bounds them
	err               error // final
}

func newRecordReader(src io.Reader) recordReader {
	return recordReader{win: decoders.NewWindow(src, 0, maxRecord+64)}
}

// takeSkipped returns how many bytes were skipped before the record that was read last, and why.
func (r *recordReader) takeSkipped() (n int64, what string) {
	n, what = r.resync.skipped, r.resync.what
	r.resync = resync{}
	return n, what
}

// close is called when no more bytes will come. It returns nil when the recording ended as it should.
func (r *recordReader) close() error {
	switch {
	case r.err != nil:
		return r.err
	case r.finished:
		return nil
	case !r.begun:
		if _, err := parseFileHeader(r.win.Bytes()); err != nil {
			return err
		}
		return r.fail("header", decoders.ErrTruncated, "no record follows")
	case r.resync.lost:
		return r.fail("record", decoders.ErrCorrupt, "%s; no other follows", r.resync.what)
	case len(r.win.Bytes()) > 0:
		return r.fail("record", decoders.ErrTruncated, "%d bytes of it are there", len(r.win.Bytes()))
	case !r.stopped:
		return r.fail("recording", decoders.ErrTruncated, "it has no end")
	case r.header.fileInfo >= r.win.Offset():
		return r.fail("file information", decoders.ErrTruncated, "announced at byte %d", r.header.fileInfo)
	}
	return nil
}

// fail makes an error final.
func (r *recordReader) fail(what string, kind error, detail string, args ...any) error {
	tick := int32(decoders.NoTick)
	if r.some {
		tick = r.frame.tick
	}
	r.err = decoders.Errorf(decoders.Dem, r.win.Offset(), tick, what, kind, detail, args...)
	return r.err
}
