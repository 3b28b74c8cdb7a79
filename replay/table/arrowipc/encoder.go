package arrowipc

import (
	"bytes"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/replay/table"
)

// Encoder encodes the tables of one replay of a stream as messages replayd.v1.Table. It must not be used concurrently.
type Encoder struct {
	options Options
	kinds   map[uint8]*kind
}

// Options configure an Encoder.
type Options struct {
	// Compress is true if buffers are compressed by LZ4.
	Compress bool
	// Narrow is true if columns may have smaller types than their schema says. See StreamEventsRequest.narrow_columns.
	Narrow bool
}

// kind holds the state of an Encoder for the tables of a kind. A column begins with its smallest form, and takes the next one when the
// values of a table do not fit. It never goes back, so the schema changes a few times at most.
type kind struct {
	*about
	forms [][]form // by column: the form in use, then the larger ones but the schema's, which needs none
	begun bool     // a schema was sent
}

// NewEncoder returns an encoder.
func NewEncoder(o Options) *Encoder { return &Encoder{options: o, kinds: map[uint8]*kind{}} }

// Append appends the tables of a set that have rows to b, as entries of a field `repeated Table` with that number.
func (e *Encoder) Append(b []byte, field protowire.Number, set *table.Set) ([]byte, error) {
	err := set.All(func(t *table.Table) (err error) {
		b, err = e.append(b, field, t)
		return err
	})
	return b, err
}

// AppendEmpty appends the table of a kind, which has no rows, unless the encoder has appended one of the kind before.
func (e *Encoder) AppendEmpty(b []byte, field protowire.Number, set *table.Set, kind uint8) ([]byte, error) {
	if e.kinds[kind] != nil {
		return b, nil
	}
	return e.append(b, field, set.Table(kind))
}

func (e *Encoder) append(b []byte, field protowire.Number, t *table.Table) ([]byte, error) {
	k := e.kinds[t.Kind]
	if k == nil {
		k = newKind(t, e.options.Narrow)
		e.kinds[t.Kind] = k
	}
	w := begin(t.Rows)
	defer w.free()
	var schema []byte
	if k.add(w, t) || !k.begun {
		var err error
		if schema, err = k.message(); err != nil {
			return b, err
		}
		k.begun = true
	}
	if e.options.Compress {
		w.pack()
	}
	size := w.size()
	h := protowire.AppendTag(w.head[:0], protoscan.TableKind, protowire.BytesType)
	h = protowire.AppendString(h, t.Layout.Format.Kinds[t.Kind].Name)
	h = protowire.AppendVarint(protowire.AppendTag(h, protoscan.TableRows, protowire.VarintType), uint64(t.Rows))
	if len(schema) > 0 {
		h = protowire.AppendBytes(protowire.AppendTag(h, protoscan.TableSchema, protowire.BytesType), schema)
	}
	h = protowire.AppendVarint(protowire.AppendTag(h, protoscan.TableData, protowire.BytesType), uint64(size))
	w.head = h
	b = slices.Grow(b, protowire.SizeTag(field)+protowire.SizeBytes(len(h)+size))
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(len(h)+size))
	return w.append(append(b, h...)), nil
}

// SchemaMessage returns the IPC message of a schema.
func SchemaMessage(s *arrow.Schema) ([]byte, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes()[:b.Len()-prefixBytes], nil // without the message of no bytes that ends a stream
}
