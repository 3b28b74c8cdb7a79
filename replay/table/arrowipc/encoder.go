package arrowipc

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/replay/table"
)

// Encoder encodes the tables of one replay of a stream as messages replayd.v1.Table. It must not be used concurrently, nor its fields
// changed once it was used.
type Encoder struct {
	// Compress is true if buffers are compressed by LZ4.
	Compress bool
	// Narrow is true if columns may have smaller types than their schema says. See StreamEventsRequest.narrow_columns.
	Narrow bool

	kinds [256]*kind // nil for those without a table so far
}

// Append appends the tables of a set that have rows to b, as entries of a field `repeated Table` with that number.
func (e *Encoder) Append(b []byte, field protowire.Number, set *table.Set) []byte {
	b = slices.Grow(b, set.Size())
	_ = set.All(func(t *table.Table) error {
		b = e.append(b, field, t)
		return nil
	})
	return b
}

// AppendEmpty appends the table of a kind, which has no rows, unless the encoder has appended one of the kind before.
func (e *Encoder) AppendEmpty(b []byte, field protowire.Number, set *table.Set, kind uint8) []byte {
	if e.kinds[kind] != nil {
		return b
	}
	return e.append(b, field, set.Table(kind))
}

func (e *Encoder) append(b []byte, field protowire.Number, t *table.Table) []byte {
	if e.kinds[t.Kind] == nil {
		e.kinds[t.Kind] = newKind(t, e.Narrow)
	}
	k, w := e.kinds[t.Kind], begin(e.Compress)
	defer w.free()
	k.add(w, t)
	size := w.seal()
	at := len(b)
	b = protowire.AppendTag(b, protoscan.TableKind, protowire.BytesType)
	b = protowire.AppendString(b, t.Layout.Format.Kinds[t.Kind].Name)
	b = protowire.AppendVarint(protowire.AppendTag(b, protoscan.TableRows, protowire.VarintType), uint64(t.Rows))
	if k.changed {
		k.changed = false
		b = protowire.AppendBytes(protowire.AppendTag(b, protoscan.TableSchema, protowire.BytesType), k.message())
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, protoscan.TableData, protowire.BytesType), uint64(size))
	var room [2 * binary.MaxVarintLen64]byte
	b = slices.Insert(b, at, protowire.AppendVarint(protowire.AppendTag(room[:0], field, protowire.BytesType), uint64(len(b)-at+size))...)
	for _, m := range w.all {
		b = m.appendBody(append(b, m.head...))
	}
	return b
}
