package dem

import (
	"unicode/utf8"

	"github.com/replayd/replayd/decoders/dem/internal/pb"
)

// maxChunk is the largest number of bytes of a record or a message in one event.
const maxChunk = 256 << 10

// chunkReader delivers a record or a message undecoded. It delivers a large one in pieces.
type chunkReader struct {
	kind   Kind
	id     uint32
	name   []byte
	shape  *pb.Shape // nil when it is not known
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
				m := &ev.Message
				*m = Message{Id: c.id, Name: c.name, Data: piece, Offset: uint32(offset), Size: uint32(len(c.data)), Fields: m.Fields[:0]}
				m.Fields, m.MoreFields, m.Malformed = c.fields(m.Fields)
			} else {
				m := &ev.Command
				*m = Command{Id: c.id, Name: c.name, Data: piece, Offset: uint32(offset), Size: uint32(len(c.data)), Fields: m.Fields[:0]}
				m.Fields, m.MoreFields, m.Malformed = c.fields(m.Fields)
			}
			return true
		}
		if d.stage != stageChunks {
			return false
		}
	}
}

// maxMessageFields bounds the fields of a message in an event.
const maxMessageFields = 1 << 10

// fields appends the fields of the message, unless it is delivered in pieces. It also returns the number of fields that do not
// fit, and whether the message cannot be read to its end.
func (c *chunkReader) fields(to []MessageField) (fields []MessageField, more uint32, malformed bool) {
	if len(c.data) > maxChunk {
		return to, 0, false
	}
	m := pb.NewReader(c.data)
	for m.Next() {
		if len(to) == maxMessageFields {
			more++
			continue
		}
		f := MessageField{Number: uint32(m.Num), WireType: uint32(m.Type), Value: m.Val}
		known, _ := c.shape.Field(m.Num)
		if known.Type == m.Type || known.Repeated && m.Type == pb.Bytes {
			f.Name = known.Name
		}
		switch {
		case m.Type != pb.Bytes:
		case known.Text && utf8.Valid(m.Raw):
			f.Text = m.Raw
		default:
			f.Data, f.MaybeMessage = m.Raw, pb.IsMessage(m.Raw)
		}
		to = append(to, f)
	}
	return to, more, m.Bad
}
