package record

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
)

// The records of a file (docs/formats/dem.md, Records).
const (
	CmdStop         = 0
	CmdFileHeader   = 1
	CmdFileInfo     = 2
	CmdSyncTick     = 3
	CmdSendTables   = 4
	CmdClassInfo    = 5
	CmdStringTables = 6
	CmdPacket       = 7
	CmdSignonPacket = 8
	CmdConsoleCmd   = 9
	CmdUserCmd      = 12
	CmdFullPacket   = 13

	cmdCompressed = 0x40
)

var commandNames = [...]string{
	"DEM_Stop", "DEM_FileHeader", "DEM_FileInfo", "DEM_SyncTick", "DEM_SendTables", "DEM_ClassInfo",
	"DEM_StringTables", "DEM_Packet", "DEM_SignonPacket", "DEM_ConsoleCmd", "DEM_CustomData",
	"DEM_CustomDataCallbacks", "DEM_UserCmd", "DEM_FullPacket", "DEM_SaveGame", "DEM_SpawnGroups",
	"DEM_AnimationData", "DEM_AnimationHeader", "DEM_Recovery",
}

// CommandName returns the game's name of a kind of records, or no name if the kind is unknown.
func CommandName(id uint32) string {
	if id < uint32(len(commandNames)) {
		return commandNames[id]
	}
	return ""
}

// Aside reports whether a decoder that has read all earlier records, and lost nothing, knows no more of the game after a record of this kind.
func Aside(id uint32) bool { return id == CmdFullPacket || id > CmdConsoleCmd && id != CmdUserCmd }

// MaxSize is the limit of a record's size, both as stored and inflated. The largest records of a game take a few MiB.
const MaxSize = 32 << 20

// Head is the head of a record.
type Head struct {
	Offset     int64 // the offset of its start
	Next       int64 // the offset of the next record
	Command    uint32
	Compressed bool
	Tick       int32
	sum        decoders.Sum // the sum of the bytes before it, once Reader.Sum was called
}

// Peek returns the head of the next record without consuming it. It returns the same errors as Next.
func (r *Reader) Peek() (Head, error) {
	if r.Finished {
		return Head{}, io.EOF
	}
	if err := r.align(); err != nil {
		return Head{}, err
	}
	f, _, _, what := ParseHead(r.Win.Bytes())
	if what != "" {
		return f, r.Fail(what, decoders.ErrCorrupt, "longer than 5 bytes") // align would have skipped it
	}
	signOn := r.signOn
	signOn.Place(&f)
	return f, nil
}

// Next reads the next record. It sets r.Head to the head and returns the payload as stored. The payload is valid until the
// next call. The error is decoders.ErrMore when the record is incomplete so far. Any other error is final.
func (r *Reader) Next() ([]byte, error) {
	for {
		if err := r.align(); err != nil {
			return nil, err
		}
		b := r.Win.Bytes()
		f, n, size, _ := ParseHead(b)
		if len(b) >= n+size && r.astray(&f, b[n:n+size], b[n+size:]) {
			r.resync.lost, r.resync.what = true, "a head whose record is none"
			r.skip(1)
			continue
		}
		if len(b) >= n+size {
			f.Offset = r.Win.Offset()
			f.Next = f.Offset + int64(n+size)
			r.signOn.Place(&f)
			r.Head, r.some, r.summed = f, true, false
			r.Win.Advance(n + size)
			r.Work += int64(n + size)
			return b[n : n+size], nil
		}
		if err := r.fill(); err != nil {
			if errors.Is(err, decoders.ErrWindow) {
				return nil, r.Fail("record", decoders.ErrLimit, "%d bytes", size)
			}
			if errors.Is(err, decoders.ErrMore) && r.passOver(size) {
				continue
			}
			return nil, err
		}
	}
}

// ParseHead reads the head of a record. size is how many bytes of payload follow the n bytes of head. n is 0 when the
// bytes end inside the head. what describes the problem with an invalid head, and is empty for a valid one.
func ParseHead(b []byte) (f Head, n, size int, what string) {
	command, used := uvarint32(b)
	if used < 0 {
		return f, 0, 0, "number of a record"
	}
	if used == 0 {
		return f, 0, 0, ""
	}
	n = used
	tick, used := uvarint32(b[n:])
	if used < 0 {
		return f, 0, 0, "tick of a record"
	}
	if used == 0 {
		return f, 0, 0, ""
	}
	n += used
	length, used := uvarint32(b[n:])
	if used < 0 {
		return f, 0, 0, "size of a record"
	}
	if used == 0 {
		return f, 0, 0, ""
	}
	n += used
	f.Command = command &^ cmdCompressed
	f.Compressed = command&cmdCompressed != 0
	f.Tick = int32(tick)
	return f, n, int(length), ""
}

// uvarint32 is uvarint for numbers of at most five bytes.
func uvarint32(b []byte) (v uint32, n int) {
	for i, c := range b[:min(len(b), 5)] {
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	if len(b) >= 5 {
		return 0, -1
	}
	return 0, 0
}

// SignOn distinguishes the records of the sign-on part from those of the recording proper.
type SignOn struct {
	over bool
	tick int32 // of the last record of the recording proper
}

// Place sets the tick of a record. In the sign-on part the tick is -1: in recordings of clients those records have the
// server's tick, and the recording's own ticks do not continue from it. Recordings without a SyncTick begin with the first
// packet. After the sign-on part, ticks never decrease: a record with a lower tick gets the tick of the record before it.
func (s *SignOn) Place(f *Head) {
	if f.Command == CmdPacket || f.Command == CmdFullPacket {
		s.over = true
	}
	if !s.over {
		f.Tick = -1
		s.over = f.Command == CmdSyncTick
		return
	}
	s.tick = max(s.tick, f.Tick)
	f.Tick = s.tick
}
