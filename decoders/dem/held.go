package dem

import "unsafe"

// Held is how much memory the decoder holds of what grows with the file, in bytes: what is read of it, tables of strings,
// entities, and what was made of the schema. A schema that decoders share counts for each of them. It is cheap to ask.
func (d *Decoder) Held() int64 {
	n := d.win.Held() + cap(d.inflated) + cap(d.packet.arena) + messageSize*cap(d.packet.messages) + d.stored + d.held
	if d.tree != nil {
		n += nodeSize * d.tree.nodes
	}
	if d.schema != nil {
		n += d.schema.held
	}
	return int64(n)
}

// What things take, with what they point to.
const (
	messageSize    = int(unsafe.Sizeof(message{}))
	nodeSize       = int(unsafe.Sizeof(node{})) + 16 // and its place among those of its parent
	fieldSize      = int(unsafe.Sizeof(field{})) + 64
	serializerSize = int(unsafe.Sizeof(serializer{})) + 128
	symbolSize     = int(unsafe.Sizeof(symbol{})) + 32
)

// held is about how much memory the schema takes that was compiled.
func (c *compiler) held() int {
	return serializerSize*len(c.schema.serializers) + fieldSize*len(c.fields) + int(unsafe.Sizeof(c))*c.refs + symbolSize*len(c.symbols)
}
