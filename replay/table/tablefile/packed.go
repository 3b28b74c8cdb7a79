package tablefile

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/s2"
)

// packed is an array whose buffers are compressed one by one.
type packed struct {
	typ        arrow.DataType
	len, nulls int
	buffers    []packedBuffer
	below      []packed
	names      *packed // the names of an array of a dictionary
}

// packedBuffer is a buffer whose bytes are in memory or in a waiting file.
type packedBuffer struct {
	data   []byte // nil if the bytes are in the file
	at     int64  // the place in the file
	length int32  // the number of compressed bytes
	size   int32  // the number of unpacked bytes, or missing; Arrow's offsets of texts have 32 bits, too
	as     packing
}

// packing is the form of a buffer.
type packing uint8

const (
	asIs packing = iota
	byS2
	narrow4 // numbers of 4 bytes
	narrow8
)

// missing is the size of a buffer that the array does not have.
const missing = -1

// alignment is the alignment of unpacked buffers, a power of 2.
const alignment = 8

// The numbers of bytes that describe an array and a buffer.
const (
	packedCost = int(unsafe.Sizeof(packed{}))
	bufferCost = int(unsafe.Sizeof(packedBuffer{}))
)

var zeros [alignment]byte

// cost returns the bytes of memory that an array takes: its description, and those of its values that are in memory.
func (p *packed) cost() (about, values int) {
	about = packedCost + bufferCost*cap(p.buffers)
	for i := range p.buffers {
		values += cap(p.buffers[i].data)
	}
	for _, part := range p.parts() {
		a, v := part.cost()
		about, values = about+a, values+v
	}
	return about, values
}

// parts returns the arrays that an array consists of.
func (p *packed) parts() []*packed {
	var all []*packed
	for i := range p.below {
		all = append(all, &p.below[i])
	}
	if p.names != nil {
		all = append(all, p.names)
	}
	return all
}

// move moves the values of an array to the end of a waiting file.
func (p *packed) move(to *waiting) error {
	for i := range p.buffers {
		b := &p.buffers[i]
		if b.data == nil {
			continue
		}
		var err error
		if b.at, err = to.add(b.data); err != nil {
			return err
		}
		b.data = nil
	}
	for _, part := range p.parts() {
		if err := part.move(to); err != nil {
			return err
		}
	}
	return nil
}

// packer packs and unpacks arrays. Its memory holds the array that was unpacked last.
type packer struct {
	room []byte
	read []byte // a buffer from a waiting file
}

// pack compresses an array, which must not be a slice of a larger one. The array that was unpacked last is no longer valid.
func (r *packer) pack(d arrow.ArrayData) packed {
	p := packed{typ: d.DataType(), len: d.Len(), nulls: d.NullN(), buffers: make([]packedBuffer, 0, len(d.Buffers()))}
	if n := len(d.Children()); n > 0 {
		p.below = make([]packed, 0, n)
	}
	layout := d.DataType().Layout().Buffers
	for i, b := range d.Buffers() {
		to := packedBuffer{size: missing}
		if b != nil {
			to = r.buffer(b.Bytes(), layout[i].ByteWidth)
		}
		p.buffers = append(p.buffers, to)
	}
	for _, c := range d.Children() {
		p.below = append(p.below, r.pack(c))
	}
	if d.DataType().ID() == arrow.DICTIONARY {
		names := r.pack(d.Dictionary())
		p.names = &names
	}
	return p
}

// buffer compresses a buffer of values of a width, or copies it if it does not become smaller.
func (r *packer) buffer(b []byte, width int) packedBuffer {
	p := packedBuffer{size: int32(len(b))}
	switch r.room = r.room[:0]; {
	case width == 4 && len(b)%4 == 0:
		r.room, p.as = narrow(r.room, arrow.Int32Traits.CastFromBytes(b)), narrow4
	case width == 8 && len(b)%8 == 0:
		r.room, p.as = narrow(r.room, arrow.Int64Traits.CastFromBytes(b)), narrow8
	}
	if packed := r.room; p.as != asIs && len(packed) <= len(b)/8*5 {
		b = packed
	} else {
		p.as = asIs
		r.room = slices.Grow(r.room[:0], s2.MaxEncodedLen(len(b)))
		if packed := s2.Encode(r.room[:cap(r.room)], b); len(packed) < len(b) { // fast: nobody keeps the result
			b, p.as = packed, byS2
		}
	}
	p.data, p.length = make([]byte, len(b)), int32(len(b))
	copy(p.data, b)
	return p
}

// unpack unpacks the parts of an array that lie on the way to a leaf: of a struct, only the field on that way. The result is
// valid until the packer is used again.
func (r *packer) unpack(p *packed, from *waiting, way []step) (arrow.Array, error) {
	r.room = r.room[:0]
	data, err := r.data(p, from, way)
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(data), nil
}

func (r *packer) data(p *packed, from *waiting, way []step) (*array.Data, error) {
	buffers := make([]*memory.Buffer, len(p.buffers))
	for i := range p.buffers {
		b := &p.buffers[i]
		if b.size == missing {
			continue
		}
		data := b.data
		if data == nil {
			r.read = slices.Grow(r.read[:0], int(b.length))[:b.length]
			if err := from.readAt(r.read, b.at); err != nil {
				return nil, err
			}
			data = r.read
		}
		begin, end := len(r.room), len(r.room)+int(b.size)
		r.room = slices.Grow(r.room, int(b.size)+alignment)[:end] // earlier results stay where they are
		switch to := r.room[begin:]; b.as {
		case asIs:
			copy(to, data)
		case byS2:
			if _, err := s2.Decode(to, data); err != nil {
				return nil, err
			}
		case narrow4:
			widen(arrow.Int32Traits.CastFromBytes(to), data)
		case narrow8:
			widen(arrow.Int64Traits.CastFromBytes(to), data)
		}
		buffers[i] = memory.NewBufferBytes(r.room[begin:len(r.room):len(r.room)])
		r.room = append(r.room, zeros[:-len(r.room)&(alignment-1)]...)
	}
	typ := p.typ
	var below []arrow.ArrayData
	if len(p.below) > 0 && len(way) > 0 && way[0].field >= 0 {
		d, err := r.data(&p.below[way[0].field], from, way[1:])
		if err != nil {
			return nil, err
		}
		below = append(below, d)
		if typ.ID() == arrow.STRUCT {
			typ = arrow.StructOf(arrow.Field{Type: d.DataType(), Nullable: true})
		} else {
			typ = arrow.ListOf(d.DataType())
		}
	}
	if p.names == nil {
		return array.NewData(typ, p.len, buffers, below, p.nulls, 0), nil
	}
	names, err := r.data(p.names, from, nil)
	if err != nil {
		return nil, err
	}
	return array.NewDataWithDictionary(typ, p.len, buffers, p.nulls, 0, names), nil
}
