package dem

import (
	"errors"
	"io"

	"github.com/replayd/replayd/decoders"
)

// The records of a file (docs/formats/dem.md, Records).
const (
	cmdStop         = 0
	cmdFileHeader   = 1
	cmdFileInfo     = 2
	cmdSyncTick     = 3
	cmdSendTables   = 4
	cmdClassInfo    = 5
	cmdStringTables = 6
	cmdPacket       = 7
	cmdSignonPacket = 8
	cmdConsoleCmd   = 9
	cmdUserCmd      = 12
	cmdFullPacket   = 13

	cmdCompressed = 0x40
)

var commandNames = [...]string{
	"DEM_Stop", "DEM_FileHeader", "DEM_FileInfo", "DEM_SyncTick", "DEM_SendTables", "DEM_ClassInfo",
	"DEM_StringTables", "DEM_Packet", "DEM_SignonPacket", "DEM_ConsoleCmd", "DEM_CustomData",
	"DEM_CustomDataCallbacks", "DEM_UserCmd", "DEM_FullPacket", "DEM_SaveGame", "DEM_SpawnGroups",
	"DEM_AnimationData", "DEM_AnimationHeader", "DEM_Recovery",
}

func commandName(id uint32) string {
	if id < uint32(len(commandNames)) {
		return commandNames[id]
	}
	return ""
}

// maxRecord bounds a record, as stored and inflated. The largest of a game are a few MiB.
const maxRecord = 32 << 20

// frame is the head of a record.
type frame struct {
	offset     int64 // where it starts in the file
	next       int64 // where the one after it starts
	command    uint32
	compressed bool
	tick       int32
	sum        decoders.Sum // of the bytes before it; known once it is read
}

// peekFrame returns the head of the next record, as soon as that is there.
func (r *recordReader) peekFrame() (frame, error) {
	if r.finished {
		return frame{}, io.EOF
	}
	if err := r.align(); err != nil {
		return frame{}, err
	}
	f, _, _, what := parseFrame(r.win.Bytes())
	if what != "" {
		return f, r.fail(what, decoders.ErrCorrupt, "longer than 5 bytes") // align would have skipped it
	}
	signOn := r.signOn
	signOn.place(&f)
	return f, nil
}

// readFrame reads the head of a record and waits for its payload, which it consumes. The payload is valid until more is
// read.
func (r *recordReader) readFrame() ([]byte, error) {
	for {
		if err := r.align(); err != nil {
			return nil, err
		}
		b := r.win.Bytes()
		f, n, size, _ := parseFrame(b)
		if len(b) >= n+size && r.astray(&f, b[n:n+size], b[n+size:]) {
			r.resync.lost, r.resync.what = true, "a head whose record is none"
			r.skip(1)
			continue
		}
		if len(b) >= n+size {
			f.offset = r.win.Offset()
			f.next = f.offset + int64(n+size)
			f.sum = r.win.Sum()
			r.signOn.place(&f)
			r.frame, r.some = f, true
			r.win.Advance(n + size)
			r.work += int64(n + size)
			return b[n : n+size], nil
		}
		if err := r.win.Fill(); err != nil {
			if errors.Is(err, decoders.ErrWindow) {
				return nil, r.fail("record", decoders.ErrLimit, "%d bytes", size)
			}
			if errors.Is(err, decoders.ErrMore) && r.passOver(size) {
				continue
			}
			return nil, err
		}
	}
}

// parseFrame reads the head of a record. size is how many bytes of payload follow the n bytes of head. n is 0 when the
// bytes end inside the head. what names what is wrong with a head that cannot be.
func parseFrame(b []byte) (f frame, n, size int, what string) {
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
	f.command = command &^ cmdCompressed
	f.compressed = command&cmdCompressed != 0
	f.tick = int32(tick)
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

// signOn tells the records of the sign-on part from those of the recording proper.
type signOn struct {
	over bool
	tick int32 // of the last record of the recording proper
}

// place sets the tick of a record. In the sign-on part that is -1: in recordings of clients it has the server's tick, from
// which the recording's own ticks do not go on. Recordings without a SyncTick begin with the first packet. After that
// ticks never go back: a record that does has the tick of the one before it.
func (s *signOn) place(f *frame) {
	if f.command == cmdPacket || f.command == cmdFullPacket {
		s.over = true
	}
	if !s.over {
		f.tick = -1
		s.over = f.command == cmdSyncTick
		return
	}
	s.tick = max(s.tick, f.tick)
	f.tick = s.tick
}
