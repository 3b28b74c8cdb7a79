package tablefile

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// packed is an array whose buffers are compressed one by one.
type packed struct {
	typ        arrow.DataType
	len, nulls int
	buffers    []packedBuffer
	below      []packed
	names      *packed // of a dictionary
	held       int     // bytes that it takes
}

// packedBuffer is a buffer. It is nil if the array has none in its place.
type packedBuffer struct {
	data       []byte
	size       int // in bytes, unpacked
	compressed bool
}

const (
	packedCost = 384 // bytes that describe an array, about
	alignment  = 8   // of unpacked buffers, a power of 2
)

var zeros [alignment]byte

// packer packs and unpacks arrays. Its memory holds the array that was unpacked last.
type packer struct{ room []byte }

// pack compresses an array, which must not be a slice of a larger one. The array that was unpacked last is no longer valid.
func (r *packer) pack(d arrow.ArrayData) packed {
	p := packed{typ: d.DataType(), len: d.Len(), nulls: d.NullN(), held: packedCost}
	for _, b := range d.Buffers() {
		var to packedBuffer
		if b != nil {
			to = r.buffer(b.Bytes())
		}
		p.buffers = append(p.buffers, to)
		p.held += cap(to.data)
	}
	for _, c := range d.Children() {
		p.below = append(p.below, r.pack(c))
		p.held += p.below[len(p.below)-1].held
	}
	if d.DataType().ID() == arrow.DICTIONARY {
		names := r.pack(d.Dictionary())
		p.names = &names
		p.held += names.held
	}
	return p
}

// buffer compresses a buffer. One that does not become smaller is copied.
func (r *packer) buffer(b []byte) packedBuffer {
	if r.room = shortTerm.EncodeAll(b, r.room[:0]); len(r.room) < len(b) {
		return packedBuffer{append(make([]byte, 0, len(r.room)), r.room...), len(b), true}
	}
	return packedBuffer{append(make([]byte, 0, len(b)), b...), len(b), false}
}

// unpack returns what an array that was packed has on the way to a leaf: structs have only the field that the way leads to. It is
// valid until the packer is used again.
func (r *packer) unpack(p *packed, way []step) (arrow.Array, error) {
	r.room = r.room[:0]
	data, err := r.data(p, way)
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(data), nil
}

func (r *packer) data(p *packed, way []step) (*array.Data, error) {
	buffers := make([]*memory.Buffer, len(p.buffers))
	for i := range p.buffers {
		b := &p.buffers[i]
		if b.data == nil {
			continue
		}
		r.room = slices.Grow(r.room, b.size+alignment) // what was unpacked before stays where it is
		from := len(r.room)
		if b.compressed {
			var err error
			if r.room, err = unpacker.DecodeAll(b.data, r.room); err != nil {
				return nil, err
			}
		} else {
			r.room = append(r.room, b.data...)
		}
		buffers[i] = memory.NewBufferBytes(r.room[from:len(r.room):len(r.room)])
		r.room = append(r.room, zeros[:-len(r.room)&(alignment-1)]...)
	}
	typ := p.typ
	var below []arrow.ArrayData
	if len(p.below) > 0 && len(way) > 0 && way[0].field >= 0 {
		d, err := r.data(&p.below[way[0].field], way[1:])
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
	names, err := r.data(p.names, nil)
	if err != nil {
		return nil, err
	}
	return array.NewDataWithDictionary(typ, p.len, buffers, p.nulls, 0, names), nil
}
