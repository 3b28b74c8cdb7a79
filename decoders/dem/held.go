package dem

import "unsafe"

// Held returns how many bytes of memory the decoder holds that grow with the file: its read buffers, string tables,
// entities, and the compiled schema. A schema that decoders share counts for each of them. A call is cheap.
func (d *Decoder) Held() int64 {
	n := d.in.Win.Held() + cap(d.inflated) + cap(d.packet.arena) + messageSize*cap(d.packet.messages)
	n += d.tables.stored + d.world.store.Held
	if d.world.tree != nil {
		n += d.world.tree.Held()
	}
	if d.world.schema != nil {
		n += d.world.schema.Held
	}
	return int64(n)
}

const messageSize = int(unsafe.Sizeof(message{}))
