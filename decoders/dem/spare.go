package dem

import (
	"sync"

	"github.com/replayd/replayd/decoders/dem/internal/entity"
)

// spare is memory that a decoder leaves to others: as much as a short demo needs.
type spare struct {
	window, inflated, unpacked, arena []byte

	messages []message
	entities entity.Spare
}

var spares = sync.Pool{New: func() any { return new(spare) }}

// maxSpare is the size of the largest buffer that is left to others, in bytes.
const maxSpare = 1 << 19

// borrow gives the decoder, which is new, memory of earlier ones.
func (d *Decoder) borrow() {
	s := spares.Get().(*spare)
	d.spare = s
	d.in.Win.Lend(s.window)
	d.inflated, d.tables.unpacked, d.packet.arena, d.packet.messages = s.inflated, s.unpacked, s.arena, s.messages
	s.entities.Lend(&d.world.store, &d.world.update)
}

// Leave is the last call: it gives memory of the decoder to others. What Next has filled is not valid any more.
func (d *Decoder) Leave() {
	s := d.spare
	if s == nil {
		return
	}
	d.spare = nil
	d.in.Sum() // it is of bytes in the window
	keep := func(to *[]byte, b []byte) {
		if cap(b) <= maxSpare {
			*to = b[:0]
		}
	}
	keep(&s.window, d.in.Win.Leave())
	keep(&s.inflated, d.inflated)
	keep(&s.unpacked, d.tables.unpacked)
	keep(&s.arena, d.packet.arena)
	if m := d.packet.messages; cap(m) <= maxSpare/messageSize {
		clear(m[:cap(m)])
		s.messages = m[:0]
	}
	s.entities.Return(&d.world.store, &d.world.update)
	d.inflated, d.tables.unpacked, d.packet = nil, nil, packet{}
	spares.Put(s)
}
