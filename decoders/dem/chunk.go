package dem

// maxChunk is the largest number of bytes of a record or a message in one event.
const maxChunk = 256 << 10

// chunkReader delivers a record or a message undecoded. It delivers a large one in pieces.
type chunkReader struct {
	kind   Kind
	id     uint32
	name   []byte
	data   []byte
	offset int
	then   stage
}

func (d *Decoder) nextChunk(ev *Event) bool {
	c := &d.chunks
	for {
		piece := c.data[c.offset:min(c.offset+maxChunk, len(c.data))]
		offset := c.offset
		c.offset += len(piece)
		d.stage = stageChunks
		if c.offset >= len(c.data) {
			d.stage = c.then
		}
		emit := d.out.want(c.kind, slotEvent)
		d.out.place.nextElement()
		if emit {
			ev.Kind = c.kind
			if c.kind == KindMessage {
				ev.Message = Message{Id: c.id, Name: c.name, Data: piece, Offset: uint32(offset), Size: uint32(len(c.data))}
			} else {
				ev.Command = Command{Id: c.id, Name: c.name, Data: piece, Offset: uint32(offset), Size: uint32(len(c.data))}
			}
			return true
		}
		if d.stage != stageChunks {
			return false
		}
	}
}
