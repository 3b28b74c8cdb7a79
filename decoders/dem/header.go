package dem

import (
	"crypto/sha256"
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

// begin reads the file's header.
func (d *Decoder) begin() error {
	for len(d.win.Bytes()) <= headerSize {
		if err := d.win.Fill(); err != nil {
			if errors.Is(err, decoders.ErrMore) && len(d.win.Bytes()) >= 8 {
				// The magic is there: a wrong one is worth telling at once.
				if _, err := parseFileHeader(d.win.Bytes()); errors.Is(err, decoders.ErrUnsupported) || errors.Is(err, decoders.ErrCorrupt) {
					d.err = err
					return err
				}
			}
			return err
		}
	}
	h, err := parseFileHeader(d.win.Bytes())
	if err != nil {
		d.err = err
		return err
	}
	d.header = h
	d.begun = true
	d.frame.tick = -1
	d.win.Advance(int(h.size))
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

// Header waits until the beginning of the file is there, and returns its header without consuming it: Next delivers it
// as an event of its own. identity tells the file from others: a hash of its first two records, which stay as they are
// while the file grows. It returns what Next returns.
func (d *Decoder) Header() (h FileHeader, identity [sha256.Size]byte, err error) {
	if d.err != nil {
		return h, identity, d.err
	}
	if !d.begun {
		if err := d.begin(); err != nil {
			return h, identity, err
		}
	}
	if d.win.Offset() != d.header.size {
		return h, identity, errors.New("dem: Header is called before Next")
	}
	for {
		whole, err := d.peekHeader(&h, &identity)
		if whole || err != nil {
			return h, identity, err
		}
		if err := d.win.Fill(); err != nil {
			return h, identity, err
		}
	}
}

// peekHeader is Header on the bytes that are there; whole tells whether they suffice.
func (d *Decoder) peekHeader(h *FileHeader, identity *[sha256.Size]byte) (whole bool, err error) {
	b := d.win.Bytes()
	f, n, size, what := parseFrame(b)
	if what != "" || n > 0 && (f.command != cmdFileHeader || size > maxInfo) {
		return false, d.fail("file header", decoders.ErrCorrupt, "it is not the first record")
	}
	if n == 0 || len(b) < n+size {
		return false, nil
	}
	payload, rest := b[n:n+size], b[n+size:]
	_, n, size, what = parseFrame(rest)
	switch {
	case what != "" || size > maxRecord:
		rest = nil // Next will say what is wrong with it
	case n == 0 || len(rest) < n+size:
		return false, nil
	default:
		rest = rest[:n+size]
	}
	sum := sha256.New()
	sum.Write(payload)
	sum.Write(rest)
	sum.Sum(identity[:0])
	if f.compressed {
		if payload, err = inflate(nil, payload, maxInfo); err != nil {
			return false, d.fail("file header", decoders.ErrCorrupt, "%v", err)
		}
	}
	if !parseHeaderMessage(h, payload) {
		return false, d.fail("file header", decoders.ErrCorrupt, "not the message that it should be")
	}
	return true, nil
}

// decodeFileHeader delivers CDemoFileHeader, and notes which game it is. ok is false when it cannot be read.
func (d *Decoder) decodeFileHeader(ev *Event, payload []byte) (told, ok bool) {
	var h FileHeader
	if !parseHeaderMessage(&h, payload) {
		return false, false
	}
	d.game = h.game()
	told = d.want(KindFileHeader, slotEvent)
	if told {
		ev.Kind, ev.FileHeader = KindFileHeader, h
	}
	return told, true
}

func parseHeaderMessage(h *FileHeader, b []byte) bool {
	m := wire{buf: b}
	for m.next() {
		switch m.num {
		case 1:
			h.Stamp = trimNUL(m.raw)
		case 2:
			h.PatchVersion = m.int32()
		case 3:
			h.ServerName = m.raw
		case 4:
			h.ClientName = m.raw
		case 5:
			h.MapName = m.raw
		case 6:
			h.GameDirectory = m.raw
		case 7:
			h.FullpacketsVersion = m.int32()
		case 8:
			h.AllowClientsideEntities = m.bool()
		case 9:
			h.AllowClientsideParticles = m.bool()
		case 10:
			h.Addons = m.raw
		case 11:
			h.DemoVersionName = m.raw
		case 12:
			h.DemoVersionGuid = m.raw
		case 13:
			h.BuildNum = m.int32()
		case 14:
			h.Game = m.raw
		case 15:
			h.ServerStartTick = m.int32()
		}
	}
	return !m.bad
}

func trimNUL(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}
