package arrowipc

import (
	"bytes"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/replay/table"
)

// Keys of the metadata of schemas and fields.
const (
	FormatKey  = "replayd.format"
	KindKey    = "replayd.kind"
	CommentKey = "comment"      // the comment of the .proto, with unit and range
	TypeKey    = "replayd.type" // the full type of a narrowed column
)

// types has, by the type of a column without others below it, Arrow's type, and the smaller forms of values from the smallest.
var types = map[table.Type]struct {
	full  arrow.DataType
	small []form
}{
	table.Bool:    {full: arrow.FixedWidthTypes.Boolean},
	table.Int32:   {i32, []form{{i8, squeeze[int8, int32]}, {i16, squeeze[int16, int32]}}},
	table.Int64:   {i64, []form{{i8, squeeze[int8, int64]}, {i16, squeeze[int16, int64]}, {i32, squeeze[int32, int64]}}},
	table.Uint32:  {u32, []form{{u8, squeeze[uint8, uint32]}, {u16, squeeze[uint16, uint32]}}},
	table.Uint64:  {u64, []form{{u8, squeeze[uint8, uint64]}, {u16, squeeze[uint16, uint64]}, {u32, squeeze[uint32, uint64]}}},
	table.Float32: {full: arrow.PrimitiveTypes.Float32},
	table.Float64: {full: arrow.PrimitiveTypes.Float64},
	table.Time:    {full: arrow.FixedWidthTypes.Timestamp_us},
	table.Text:    {full: arrow.BinaryTypes.String},
	table.Binary:  {full: arrow.BinaryTypes.Binary},
	table.Name:    {full: names},
}

var (
	i8, i16, i32, i64 = arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	u8, u16, u32, u64 = arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64
	names             = &arrow.DictionaryType{IndexType: i32, ValueType: arrow.BinaryTypes.String}
)

func typeOf(f *table.Field) arrow.DataType {
	switch f.Type {
	case table.List:
		return arrow.ListOfField(fieldsOf(f.Fields)[0])
	case table.Struct:
		return arrow.StructOf(fieldsOf(f.Fields)...)
	default:
		return types[f.Type].full
	}
}

func fieldsOf(all []table.Field) []arrow.Field {
	fields := make([]arrow.Field, len(all))
	for i, f := range all {
		fields[i] = arrow.Field{Name: f.Name, Nullable: f.Nullable, Type: typeOf(&f)}
		if f.Comment != "" {
			fields[i].Metadata = arrow.MetadataFrom(map[string]string{CommentKey: strings.TrimSpace(f.Comment)})
		}
	}
	return fields
}

// about is what a layout keeps about the table of a kind.
type about struct {
	schema *arrow.Schema

	mu       sync.Mutex
	messages map[string][]byte // of schemas, by the forms of their columns
}

// maxMessages is the number of a table's messages that are kept. Demos of one game need one or two.
const maxMessages = 4

func aboutOf(l *table.Layout, kind uint8) *about {
	return l.Memo(kind, func() any {
		k := &l.Format.Kinds[kind]
		keys := arrow.MetadataFrom(map[string]string{FormatKey: l.Format.Name, KindKey: k.Name, CommentKey: k.Comment})
		return &about{schema: arrow.NewSchema(fieldsOf(l.Fields(kind)), &keys), messages: map[string][]byte{}}
	}).(*about)
}

// Schema returns the schema of the table of a kind. It makes the schema of a layout only once.
func Schema(l *table.Layout, kind uint8) *arrow.Schema { return aboutOf(l, kind).schema }

// SchemaMessage returns the IPC message of a schema.
func SchemaMessage(s *arrow.Schema) []byte {
	var b bytes.Buffer
	p := ipc.GetSchemaPayload(s, memory.DefaultAllocator)
	_, _ = p.WritePayload(&b) // which a buffer always takes
	return b.Bytes()
}

// message returns the IPC message of the schema of the present forms. It must not be changed.
func (k *kind) message() []byte {
	key := make([]byte, len(k.forms))
	for i, forms := range k.forms {
		key[i] = byte(len(forms))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.messages[string(key)]
	if m == nil {
		if len(k.messages) >= maxMessages {
			clear(k.messages)
		}
		fields, keys := k.schema.Fields(), k.schema.Metadata()
		for i, forms := range k.forms {
			if f := &fields[i]; len(forms) > 0 {
				keys := f.Metadata.ToMap()
				keys[TypeKey] = f.Type.Name()
				f.Type, f.Metadata = forms[0].typ, arrow.MetadataFrom(keys)
			}
		}
		m = SchemaMessage(arrow.NewSchema(fields, &keys))
		k.messages[string(key)] = m
	}
	return m
}
