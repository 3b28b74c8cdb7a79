package record

import (
	"encoding/binary"
	"errors"

	"github.com/replayd/replayd/decoders"
)

// HeaderSize is the size of the header in bytes. headerSize2014 is its size in the 2014 alpha of Dota's Workshop Tools.
const (
	HeaderSize     = 16
	headerSize2014 = 12
	offsetsAt      = 8 // where the offsets begin
)

// FileHeader is the header that precedes the records.
type FileHeader struct {
	Size     int64 // 16, or 12 in 2014
	FileInfo int64 // offset of the record FileInfo, 0 when not known
}

// Alpha reports whether the file is of the 2014 alpha of Dota's Workshop Tools, whose entities have no schema.
func (h *FileHeader) Alpha() bool { return h.Size == headerSize2014 }

// Begin reads the file's header and consumes it.
func (r *Reader) Begin() error {
	for len(r.Win.Bytes()) <= HeaderSize {
		if err := r.Win.Fill(); err != nil {
			if errors.Is(err, decoders.ErrMore) && len(r.Win.Bytes()) >= 8 {
				// The magic is there: report a wrong one at once.
				if _, err := ParseFileHeader(r.Win.Bytes()); errors.Is(err, decoders.ErrUnsupported) || errors.Is(err, decoders.ErrCorrupt) {
					r.Err = err
					return err
				}
			}
			return err
		}
	}
	h, err := ParseFileHeader(r.Win.Bytes())
	if err != nil {
		r.Err = err
		return err
	}
	r.Header = h
	r.Begun = true
	r.Head.Tick = -1
	// The offsets are written when the recording ends. Sums of the bytes before a record leave them out, so that cursors into a demo
	// that grew hold in the finished one.
	sum := decoders.Sum(0).Add(r.Win.Bytes()[:offsetsAt])
	r.Win.Advance(int(h.Size))
	r.Win.Resume(sum)
	return nil
}

// ParseFileHeader parses the first 17 bytes of a file, or all of them if the file is shorter.
func ParseFileHeader(b []byte) (FileHeader, error) {
	fail := func(kind error, detail string, args ...any) (FileHeader, error) {
		return FileHeader{}, decoders.Errorf(decoders.Dem, 0, decoders.NoTick, "header", kind, detail, args...)
	}
	switch {
	case hasMagic(b, "PBUFDEM\x00"):
		return fail(decoders.ErrUnsupported, "a demo of Dota 2 on Source 1 (before September 2015)")
	case hasMagic(b, "HL2DEMO\x00"):
		return fail(decoders.ErrUnsupported, "a demo of Source 1 (CS:GO, Team Fortress 2 and older)")
	case !hasMagic(b, "PBDEMS2\x00"):
		if len(b) < 8 {
			return fail(decoders.ErrTruncated, "%d bytes are no demo", len(b))
		}
		return fail(decoders.ErrCorrupt, "not a demo: the file begins with %q", b[:8])
	case len(b) < headerSize2014+1:
		return fail(decoders.ErrTruncated, "ends after %d bytes", len(b))
	}
	h := FileHeader{Size: HeaderSize, FileInfo: int64(binary.LittleEndian.Uint32(b[8:]))}
	if b[12] == CmdFileHeader && (len(b) <= HeaderSize || b[16]&^cmdCompressed != CmdFileHeader) {
		h.Size = headerSize2014
		return h, nil
	}
	if len(b) < HeaderSize {
		return fail(decoders.ErrTruncated, "ends after %d bytes", len(b))
	}
	return h, nil
}

func hasMagic(b []byte, magic string) bool {
	return len(b) >= len(magic) && string(b[:len(magic)]) == magic
}
