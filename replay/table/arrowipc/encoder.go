package arrowipc

import (
	"bytes"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/replay/table"
)

// Encoder encodes the tables of one replay of a stream as messages replayd.v1.Table. It must not be used concurrently.
type Encoder struct {
	narrow  bool
	options []ipc.Option
	kinds   map[uint8]*kind
}

// workspace is the memory that encoding a table takes. Streams have it only while they encode one.
type workspace struct {
	message bytes.Buffer
	columns scratch
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// Options configure an Encoder.
type Options struct {
	// Compress is true if buffers are compressed by LZ4.
	Compress bool
	// Narrow is true if columns may have smaller types than their schema says. See StreamEventsRequest.narrow_columns.
	Narrow bool
}

// kind holds the state of an Encoder for the tables of a kind.
type kind struct {
	schema *arrow.Schema
	narrow *narrow       // nil if columns have the types of the schema
	sent   *arrow.Schema // the schema that was sent last
}

// NewEncoder returns an encoder.
func NewEncoder(o Options) *Encoder {
	return &Encoder{kinds: map[uint8]*kind{}, narrow: o.Narrow, options: optionsOf(o.Compress)}
}

func optionsOf(compress bool) []ipc.Option {
	if !compress {
		return nil
	}
	return []ipc.Option{ipc.WithLZ4(), ipc.WithCompressConcurrency(1), ipc.WithMinSpaceSavings(0.1)}
}

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
		k = &kind{schema: Schema(t.Layout, t.Kind)}
		if e.narrow {
			k.narrow = newNarrow(k.schema, t)
		}
		e.kinds[t.Kind] = k
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	var record arrow.RecordBatch
	if k.narrow != nil {
		record = k.narrow.record(t, &w.columns)
	} else {
		record = Record(t, k.schema)
	}
	var schema []byte
	if k.sent != record.Schema() {
		var err error
		if schema, err = SchemaMessage(record.Schema()); err != nil {
			return b, err
		}
		k.sent = record.Schema()
	}
	if err := write(&w.message, record, e.options); err != nil {
		return b, err
	}
	name := t.Layout.Format.Kinds[t.Kind].Name
	n := protowire.SizeTag(protoscan.TableKind) + protowire.SizeBytes(len(name)) +
		protowire.SizeTag(protoscan.TableRows) + protowire.SizeVarint(uint64(t.Rows)) +
		protowire.SizeTag(protoscan.TableData) + protowire.SizeBytes(w.message.Len())
	if len(schema) > 0 {
		n += protowire.SizeTag(protoscan.TableSchema) + protowire.SizeBytes(len(schema))
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(n))
	b = protowire.AppendString(protowire.AppendTag(b, protoscan.TableKind, protowire.BytesType), name)
	b = protowire.AppendVarint(protowire.AppendTag(b, protoscan.TableRows, protowire.VarintType), uint64(t.Rows))
	if len(schema) > 0 {
		b = protowire.AppendBytes(protowire.AppendTag(b, protoscan.TableSchema, protowire.BytesType), schema)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, protoscan.TableData, protowire.BytesType), w.message.Bytes()), nil
}

// write writes the messages of a record batch to a buffer, which it empties first, and releases the batch. It uses a new IPC
// writer for each batch, which writes all dictionaries, so that readers need only the schema.
func write(to *bytes.Buffer, record arrow.RecordBatch, options []ipc.Option) error {
	defer record.Release()
	to.Reset()
	w := ipc.NewWriterWithPayloadWriter(&afterSchema{to: to}, append(slices.Clip(options), ipc.WithSchema(record.Schema()))...)
	if err := w.Write(record); err != nil {
		return err
	}
	return w.Close()
}

// afterSchema writes all messages but the first, which is the schema.
type afterSchema struct {
	to    *bytes.Buffer
	begun bool
}

var _ ipc.PayloadWriter = (*afterSchema)(nil)

// Start implements ipc.PayloadWriter.
func (s *afterSchema) Start() error { return nil }

// WritePayload implements ipc.PayloadWriter.
func (s *afterSchema) WritePayload(p ipc.Payload) error {
	if !s.begun {
		s.begun = true
		return nil
	}
	_, err := p.WritePayload(s.to)
	return err
}

// Close implements ipc.PayloadWriter.
func (s *afterSchema) Close() error { return nil }

// SchemaMessage returns the IPC message of a schema.
func SchemaMessage(s *arrow.Schema) ([]byte, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes()[:b.Len()-len(endOfStream)], nil
}

// endOfStream ends every IPC stream.
const endOfStream = "\xff\xff\xff\xff\x00\x00\x00\x00"
