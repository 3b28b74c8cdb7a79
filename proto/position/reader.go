package position

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
)

// Reader reads the positions of a batch's events, one after the other. The zero value has none.
type Reader struct {
	offsets, indexes []byte
	offset, index    int64
}

// Field takes a field of an EventBatch: EventBatch.offsets or EventBatch.indexes. ok is false if it cannot be one.
func (r *Reader) Field(f protoscan.Field) (ok bool) {
	to := &r.offsets
	if f.Number == protoscan.BatchIndexes {
		to = &r.indexes
	}
	switch {
	case f.Type == protowire.BytesType && len(*to) == 0:
		*to = f.Bytes
	case f.Type == protowire.BytesType:
		*to = append((*to)[:len(*to):len(*to)], f.Bytes...)
	case f.Type == protowire.VarintType: // not packed
		*to = protowire.AppendVarint((*to)[:len(*to):len(*to)], f.Value)
	default:
		return false
	}
	return true
}

// Next returns the position of the next event. ok is false if there is none, or if the fields are malformed.
func (r *Reader) Next() (offset, index int64, ok bool) {
	if b := r.offsets; len(b) > 0 && b[0] < 0x80 && b[0]&1 == 0 && b[0] > 0 { // nearly all events
		r.offsets, r.offset, r.index = b[1:], r.offset+int64(b[0]>>1), 0
		return r.offset, 0, true
	}
	return r.next()
}

func (r *Reader) next() (offset, index int64, ok bool) {
	var v uint64
	if v, r.offsets, ok = protoscan.Varint(r.offsets); !ok {
		return 0, 0, false
	}
	switch d := protowire.DecodeZigZag(v); {
	case d < 0:
		r.offset += ^d
		if v, r.indexes, ok = protoscan.Varint(r.indexes); !ok {
			r.offsets = nil
			return 0, 0, false
		}
		r.index += protowire.DecodeZigZag(v)
	case d == 0:
		r.index += Room
	default:
		r.offset, r.index = r.offset+d, 0
	}
	return r.offset, r.index, true
}

// Done reports whether every position was read.
func (r *Reader) Done() bool { return len(r.offsets)+len(r.indexes) == 0 }
