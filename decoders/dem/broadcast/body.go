package broadcast

import (
	"encoding/binary"

	"github.com/replayd/replayd/decoders"
	"github.com/replayd/replayd/decoders/bits"
	"github.com/replayd/replayd/decoders/dem/internal/record"
	"github.com/replayd/replayd/decoders/dem/internal/unpack"
)

const (
	cmdSpawnGroups = 15
	cmdLast        = 18 // the last command that the games have
	cmdCompressed  = 0x40

	headSize = 10
	stopSize = 6 // the record Stop has no size
)

// rec is a record of a body.
type rec struct {
	command  uint32
	tick     int32
	contents []byte // inflated
	offset   int    // of its head in the body
}

// Check returns an error if a body is not records to its end.
func Check(body []byte) error {
	_, err := parse(body)
	return err
}

// parse returns the records of a body. It refuses a body that is not records to its end.
func parse(body []byte) ([]rec, error) {
	var records []rec
	budget := record.MaxSize // of what is inflated, for the whole body
	for at := 0; at < len(body); {
		rest := body[at:]
		fail := func(kind error, detail string, args ...any) ([]rec, error) {
			return nil, decoders.Errorf(decoders.Dem, int64(at), decoders.NoTick, "record of a broadcast", kind, detail, args...)
		}
		if len(rest) == stopSize && rest[0] == record.CmdStop {
			return append(records, rec{command: record.CmdStop, tick: int32(binary.LittleEndian.Uint32(rest[1:])), offset: at}), nil
		}
		if len(rest) < headSize {
			return fail(decoders.ErrTruncated, "%d bytes of a head", len(rest))
		}
		r := rec{command: uint32(rest[0]) &^ cmdCompressed, tick: int32(binary.LittleEndian.Uint32(rest[1:])), offset: at}
		size := binary.LittleEndian.Uint32(rest[6:])
		switch {
		case !known(r.command):
			return fail(decoders.ErrCorrupt, "command %d, which no broadcast has", rest[0])
		case uint64(size) > uint64(len(rest)-headSize):
			return fail(decoders.ErrTruncated, "%d bytes of %d", len(rest)-headSize, size)
		case size > record.MaxSize:
			return fail(decoders.ErrLimit, "%d bytes", size)
		}
		r.contents = rest[headSize:][:size:size]
		if rest[0]&cmdCompressed != 0 {
			inflated, err := unpack.Snappy(nil, r.contents, budget)
			if err != nil {
				return fail(decoders.ErrCorrupt, "compressed contents: %v", err)
			}
			budget -= len(inflated)
			r.contents = inflated
		}
		records = append(records, r)
		at += headSize + int(size)
	}
	if len(records) == 0 {
		return nil, decoders.Errorf(decoders.Dem, 0, decoders.NoTick, "body of a broadcast", decoders.ErrTruncated, "it is empty")
	}
	return records, nil
}

// known reports whether a body may have a command. The parts of a file that frame a recording are not among them: this package writes
// them itself.
func known(command uint32) bool {
	switch command {
	case record.CmdStop, record.CmdFileHeader, record.CmdFileInfo, record.CmdSyncTick, record.CmdFullPacket:
		return false
	}
	return command <= cmdLast
}

// spawnGroups returns CDemoSpawnGroups with the messages of the first n records, which are those of the same command. A demo has each message as it is in a packet: its number, its size and its bytes, in bits.
func spawnGroups(records []rec) (message []byte, n int, err error) {
	for n < len(records) && records[n].command == cmdSpawnGroups {
		r := bits.New(records[n].contents)
		r.UBitVar() // the running number
		begin := r.Pos()
		r.UBitVar()
		size := r.Varuint32()
		if r.Overrun() || uint64(size)*8 > uint64(r.Len()) {
			return nil, 0, decoders.Errorf(decoders.Dem, int64(records[n].offset), records[n].tick, "spawn group", decoders.ErrCorrupt, "a message of %d bytes in %d", size, len(records[n].contents))
		}
		end := r.Pos() + 8*int(size)
		r.Seek(begin)
		text := r.Append(nil, (end-begin)/8)
		if rest := (end - begin) % 8; rest > 0 {
			text = append(text, byte(r.Bits(rest)))
		}
		message = field(message, 3, text)
		n++
	}
	return message, n, nil
}
