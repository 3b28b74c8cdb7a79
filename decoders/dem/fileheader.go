package dem

import (
	"encoding/binary"
	"errors"

	"github.com/replayd/replayd/decoders"
)

// headerSizes: the usual header, and that of the 2014 alpha of Dota's Workshop Tools.
const (
	headerSize     = 16
	headerSize2014 = 12
)

// fileHeader is what precedes the records.
type fileHeader struct {
	size     int64 // 16, or 12 in 2014
	fileInfo int64 // offset of the record FileInfo, 0 when not told
}

// alpha reports whether the file is of the 2014 alpha of Dota's Workshop Tools, whose entities have no schema.
func (h *fileHeader) alpha() bool { return h.size == headerSize2014 }

// begin reads the file's header.
func (r *recordReader) begin() error {
	for len(r.win.Bytes()) <= headerSize {
		if err := r.win.Fill(); err != nil {
			if errors.Is(err, decoders.ErrMore) && len(r.win.Bytes()) >= 8 {
				// The magic is there: a wrong one is worth telling at once.
				if _, err := parseFileHeader(r.win.Bytes()); errors.Is(err, decoders.ErrUnsupported) || errors.Is(err, decoders.ErrCorrupt) {
					r.err = err
					return err
				}
			}
			return err
		}
	}
	h, err := parseFileHeader(r.win.Bytes())
	if err != nil {
		r.err = err
		return err
	}
	r.header = h
	r.begun = true
	r.frame.tick = -1
	r.win.Advance(int(h.size))
	return nil
}

// parseFileHeader reads the file's first bytes: 17 of them, or what there is.
func parseFileHeader(b []byte) (fileHeader, error) {
	fail := func(kind error, detail string, args ...any) (fileHeader, error) {
		return fileHeader{}, decoders.Errorf(decoders.Dem, 0, decoders.NoTick, "header", kind, detail, args...)
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
	h := fileHeader{size: headerSize, fileInfo: int64(binary.LittleEndian.Uint32(b[8:]))}
	if b[12] == cmdFileHeader && (len(b) <= headerSize || b[16]&^cmdCompressed != cmdFileHeader) {
		h.size = headerSize2014
		return h, nil
	}
	if len(b) < headerSize {
		return fail(decoders.ErrTruncated, "ends after %d bytes", len(b))
	}
	return h, nil
}

func hasMagic(b []byte, magic string) bool {
	return len(b) >= len(magic) && string(b[:len(magic)]) == magic
}
