package dem

import (
	"crypto/sha256"
	"errors"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/dem/internal/lexicon"
	"github.com/replayd/replayd/decoders/dem/internal/pb"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

// Header reads the beginning of the file and returns its header without consuming it. Next delivers the header as an event
// of its own. identity identifies the file. It is a hash of the first two records, which do not change while the file grows.
// Header returns the same errors as Next. After decoders.ErrMore, call it again.
func (d *Decoder) Header() (h FileHeader, identity [sha256.Size]byte, err error) {
	if d.in.Err != nil {
		return h, identity, d.in.Err
	}
	if !d.in.Begun {
		if err := d.in.Begin(); err != nil {
			return h, identity, err
		}
	}
	if d.in.Win.Offset() != d.in.Header.Size {
		return h, identity, errors.New("dem: Header is called before Next")
	}
	for {
		whole, err := d.peekHeader(&h, &identity)
		if whole || err != nil {
			return h, identity, err
		}
		if err := d.in.Win.Fill(); err != nil {
			return h, identity, err
		}
	}
}

// peekHeader reads the header from the bytes in the window. whole reports whether they suffice.
func (d *Decoder) peekHeader(h *FileHeader, identity *[sha256.Size]byte) (whole bool, err error) {
	b := d.in.Win.Bytes()
	f, n, size, what := record.ParseHead(b)
	if what != "" || n > 0 && (f.Command != record.CmdFileHeader || size > maxInfo) {
		return false, d.in.Fail("file header", decoders.ErrCorrupt, "it is not the first record")
	}
	if n == 0 || len(b) < n+size {
		return false, nil
	}
	payload, rest := b[n:n+size], b[n+size:]
	_, n, size, what = record.ParseHead(rest)
	switch {
	case what != "" || size > record.MaxSize:
		rest = nil // Next reports the error
	case n == 0 || len(rest) < n+size:
		return false, nil
	default:
		rest = rest[:n+size]
	}
	sum := sha256.New()
	sum.Write(payload)
	sum.Write(rest)
	sum.Sum(identity[:0])
	if f.Compressed {
		if payload, err = unpack.Snappy(nil, payload, maxInfo); err != nil {
			return false, d.in.Fail("file header", decoders.ErrCorrupt, "%v", err)
		}
	}
	if !parseHeaderMessage(h, payload, nil) {
		return false, d.in.Fail("file header", decoders.ErrCorrupt, "not the message that it should be")
	}
	return true, nil
}

// decodeFileHeader delivers CDemoFileHeader, and notes the game. ok is false when it cannot be read.
func (d *Decoder) decodeFileHeader(ev *Event, payload []byte) (emit, ok bool) {
	var h FileHeader
	if !parseHeaderMessage(&h, payload, &d.out.unknown) {
		return false, false
	}
	d.makeListed()
	d.match.setGame(h.game())
	emit = d.out.want(KindFileHeader, slotEvent)
	if emit {
		ev.Kind, ev.FileHeader = KindFileHeader, h
	}
	return emit, true
}

func parseHeaderMessage(h *FileHeader, b []byte, log *pb.Log) bool {
	m := pb.Read(b, lexicon.Type("CDemoFileHeader"), log)
	for m.Next() {
		switch m.Num {
		case 1:
			h.Stamp = trimNUL(m.Raw)
		case 2:
			h.PatchVersion = m.Int32()
		case 3:
			h.ServerName = m.Raw
		case 4:
			h.ClientName = m.Raw
		case 5:
			h.MapName = m.Raw
		case 6:
			h.GameDirectory = m.Raw
		case 7:
			h.FullpacketsVersion = m.Int32()
		case 8:
			h.AllowClientsideEntities = m.Bool()
		case 9:
			h.AllowClientsideParticles = m.Bool()
		case 10:
			h.Addons = m.Raw
		case 11:
			h.DemoVersionName = m.Raw
		case 12:
			h.DemoVersionGuid = m.Raw
		case 13:
			h.BuildNum = m.Int32()
		case 14:
			h.Game = m.Raw
		case 15:
			h.ServerStartTick = m.Int32()
		}
	}
	return !m.Bad
}

func trimNUL(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}
