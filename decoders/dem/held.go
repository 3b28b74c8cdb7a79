package dem

import "unsafe"

// Held is how much memory the decoder holds of what grows with the file, in bytes: what is read of it, tables of strings,
// entities, and what was made of the schema. A schema that decoders share counts for each of them. It is cheap to ask.
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
