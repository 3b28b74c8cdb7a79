package demtest

import (
	"encoding/binary"

	"github.com/golang/snappy"
)

// Numbers of records.
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
	CmdSpawnGroups  = 15
)

// Demo writes a demo file.
type Demo struct{ buf []byte }

// New begins a demo.
func New() *Demo { return &Demo{append([]byte("PBDEMS2\x00"), make([]byte, 8)...)} }

// Bytes returns the file.
func (d *Demo) Bytes() []byte { return d.buf }

// Record adds a record with the given payload.
func (d *Demo) Record(command uint32, tick int32, payload []byte) {
	if command == CmdFileInfo {
		binary.LittleEndian.PutUint32(d.buf[8:], uint32(len(d.buf)))
	}
	if command == CmdSpawnGroups {
		binary.LittleEndian.PutUint32(d.buf[12:], uint32(len(d.buf)))
	}
	d.buf = binary.AppendUvarint(d.buf, uint64(command))
	d.buf = binary.AppendUvarint(d.buf, uint64(uint32(tick)))
	d.buf = binary.AppendUvarint(d.buf, uint64(len(payload)))
	d.buf = append(d.buf, payload...)
}

// Compressed adds a compressed record.
func (d *Demo) Compressed(command uint32, tick int32, payload []byte) {
	d.Record(command|64, tick, snappy.Encode(nil, payload))
}

// Message is a message of a packet.
type Message struct {
	ID   uint32
	Data []byte
}

// PackMessages returns a CDemoPacket with the messages.
func PackMessages(messages ...Message) Proto {
	var w Bits
	for _, m := range messages {
		w.UBitVar(m.ID)
		w.Varint(uint64(len(m.Data)))
		w.Raw(m.Data)
	}
	return Proto(nil).Bytes(3, w.Bytes())
}

// Packet adds a packet of messages.
func (d *Demo) Packet(tick int32, messages ...Message) {
	d.Record(CmdPacket, tick, PackMessages(messages...))
}

// Continue returns a demo that continues after the bytes of a file.
func Continue(data []byte) *Demo { return &Demo{append([]byte(nil), data...)} }
