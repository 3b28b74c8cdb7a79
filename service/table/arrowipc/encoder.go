package arrowipc

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/replayd/replayd/proto/protoscan"
	"github.com/replayd/replayd/service/table"
)

// Encoder encodes the tables of one replay of a stream as messages replayd.v1.Table. It must not be used concurrently.
type Encoder struct {
	options []ipc.Option
	sent    map[uint8]bool // the kinds whose schema was sent
	message bytes.Buffer
	schema  bytes.Buffer
}

// NewEncoder returns an encoder that compresses by LZ4, or not at all.
func NewEncoder(plain bool) *Encoder {
	e := &Encoder{sent: map[uint8]bool{}}
	if !plain {
		e.options = []ipc.Option{ipc.WithLZ4(), ipc.WithCompressConcurrency(1), ipc.WithMinSpaceSavings(0.1)}
	}
	return e
}

// Append appends the tables of a set that have rows to b, as entries of a field `repeated Table` with that number.
func (e *Encoder) Append(b []byte, field protowire.Number, set *table.Set) ([]byte, error) {
	err := set.All(func(t *table.Table) error {
		e.message.Reset()
		e.schema.Reset()
		if err := e.write(t, set.Resolved); err != nil {
			return err
		}
		if e.sent[t.Kind] {
			e.schema.Reset()
		}
		e.sent[t.Kind] = true
		kind := t.Format.Kinds[t.Kind].Name
		n := protowire.SizeTag(protoscan.TableKind) + protowire.SizeBytes(len(kind)) +
			protowire.SizeTag(protoscan.TableRows) + protowire.SizeVarint(uint64(t.Rows)) +
			protowire.SizeTag(protoscan.TableData) + protowire.SizeBytes(e.message.Len())
		if e.schema.Len() > 0 {
			n += protowire.SizeTag(protoscan.TableSchema) + protowire.SizeBytes(e.schema.Len())
		}
		b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(n))
		b = protowire.AppendString(protowire.AppendTag(b, protoscan.TableKind, protowire.BytesType), kind)
		b = protowire.AppendVarint(protowire.AppendTag(b, protoscan.TableRows, protowire.VarintType), uint64(t.Rows))
		if e.schema.Len() > 0 {
			b = protowire.AppendBytes(protowire.AppendTag(b, protoscan.TableSchema, protowire.BytesType), e.schema.Bytes())
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, protoscan.TableData, protowire.BytesType), e.message.Bytes())
		return nil
	})
	return b, err
}

// write writes the messages of a table. A writer of its own for each table makes it write all dictionaries each time, so that
// readers need only the schema.
func (e *Encoder) write(t *table.Table, resolved bool) error {
	record := Record(t, resolved)
	defer record.Release()
	w := ipc.NewWriterWithPayloadWriter(&split{e: e}, append(e.options, ipc.WithSchema(record.Schema()))...)
	if err := w.Write(record); err != nil {
		return err
	}
	return w.Close()
}

// split writes the schema to one place and all other messages to another.
type split struct {
	e     *Encoder
	begun bool
}

var _ ipc.PayloadWriter = (*split)(nil)

// Start implements ipc.PayloadWriter.
func (s *split) Start() error { return nil }

// WritePayload implements ipc.PayloadWriter. The first message is the schema.
func (s *split) WritePayload(p ipc.Payload) error {
	to := &s.e.message
	if !s.begun {
		s.begun, to = true, &s.e.schema
	}
	_, err := p.WritePayload(to)
	return err
}

// Close implements ipc.PayloadWriter.
func (s *split) Close() error { return nil }

// SchemaMessage returns the IPC message of a schema.
func SchemaMessage(s *arrow.Schema) ([]byte, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes()[:b.Len()-len(endOfStream)], nil
}

// endOfStream is what an IPC stream ends with.
const endOfStream = "\xff\xff\xff\xff\x00\x00\x00\x00"
