package demtest

import (
	"encoding/binary"
	"fmt"
)

// Reframe returns a demo with the records of a recorded HTTP broadcast (playcast): of its start, of the key frame of the first
// fragment, and of the changes of all fragments, in this order. The heads of a broadcast's records differ from a demo's, and its
// packets have no message around their bits. game is the name of the game in the header of the demo.
func Reframe(game string, start []byte, fragments ...[]byte) ([]byte, error) {
	d := New()
	d.Record(CmdFileHeader, -1, Proto(nil).Text(1, "PBDEMS2\x00").Text(6, "/"+game).Text(14, game))
	for i, body := range append([][]byte{start}, fragments...) {
		if err := d.reframe(body, i == 0); err != nil {
			return nil, fmt.Errorf("body %d: %w", i, err)
		}
	}
	return d.Bytes(), nil
}

// broadcastHead is the size of a record's head: u8 command, i32 tick, u8 0, u32 size. The record Stop has no size.
const broadcastHead = 10

func (d *Demo) reframe(body []byte, signOn bool) error {
	for len(body) > 0 {
		if body[0] == CmdStop && len(body) == broadcastHead-4 {
			d.Record(CmdStop, int32(binary.LittleEndian.Uint32(body[1:])), nil)
			return nil
		}
		if len(body) < broadcastHead {
			return fmt.Errorf("%d bytes of a head", len(body))
		}
		command, tick, size := uint32(body[0]), int32(binary.LittleEndian.Uint32(body[1:])), int64(binary.LittleEndian.Uint32(body[6:]))
		body = body[broadcastHead:]
		if size > int64(len(body)) {
			return fmt.Errorf("a record %d has %d bytes of %d", command, len(body), size)
		}
		payload := body[:size]
		body = body[size:]
		if signOn {
			tick = -1
		}
		switch command {
		case CmdPacket, CmdSignonPacket:
			d.Record(command, tick, Proto(nil).Bytes(3, payload))
		case CmdClassInfo:
			d.Record(command, tick, payload)
			d.Record(CmdSyncTick, tick, nil)
		case CmdSendTables:
			d.Record(command, tick, payload)
		case CmdSpawnGroups: // bits, and not the message of a demo
		default:
			return fmt.Errorf("a record %d", command)
		}
	}
	return nil
}
