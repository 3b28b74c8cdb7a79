package arrowipc

import (
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/replay/table"
)

// Keys of the metadata of schemas and fields.
const (
	FormatKey  = "replayd.format"
	KindKey    = "replayd.kind"
	CommentKey = "comment" // the comment of the .proto, with unit and range
)

// names is the type of a column of names.
var names = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}

// about is what a layout keeps about the table of a kind.
type about struct {
	schema *arrow.Schema

	mu       sync.Mutex
	messages map[string][]byte // of schemas, by the forms of their columns
}

// maxMessages is the number of a table's messages that are kept. Demos of one game need one or two.
const maxMessages = 4

func aboutOf(l *table.Layout, kind uint8) *about {
	return l.Memo(kind, func() any { return &about{schema: newSchema(l, kind), messages: map[string][]byte{}} }).(*about)
}

// message returns the IPC message of the schema, or of that of n if n is not nil. It must not be changed.
func (a *about) message(n *narrow) ([]byte, error) {
	var buf [64]byte
	key, schema := buf[:0], a.schema
	if n != nil {
		key = n.key(key)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if m := a.messages[string(key)]; m != nil {
		return m, nil
	}
	if n != nil {
		schema = n.schema()
	}
	m, err := SchemaMessage(schema)
	if err != nil {
		return nil, err
	}
	if len(a.messages) >= maxMessages {
		clear(a.messages)
	}
	a.messages[string(key)] = slices.Clone(m)
	return m, nil
}

// Schema returns the schema of the table of a kind. It makes the schema of a layout only once.
func Schema(l *table.Layout, kind uint8) *arrow.Schema { return aboutOf(l, kind).schema }

func newSchema(l *table.Layout, kind uint8) *arrow.Schema {
	all := l.Fields(kind)
	fields := make([]arrow.Field, len(all))
	for i := range all {
		fields[i] = fieldOf(&all[i])
	}
	k := &l.Format.Kinds[kind]
	about := arrow.MetadataFrom(map[string]string{FormatKey: l.Format.Name, KindKey: k.Name, CommentKey: k.Comment})
	return arrow.NewSchema(fields, &about)
}

func fieldOf(f *table.Field) arrow.Field {
	a := arrow.Field{Name: f.Name, Nullable: f.Nullable, Type: typeOf(f)}
	if f.Comment != "" {
		a.Metadata = arrow.MetadataFrom(map[string]string{CommentKey: strings.TrimSpace(f.Comment)})
	}
	return a
}

// types are the types of fields without others below them.
var types = map[table.Type]arrow.DataType{
	table.Bool:    arrow.FixedWidthTypes.Boolean,
	table.Int32:   arrow.PrimitiveTypes.Int32,
	table.Int64:   arrow.PrimitiveTypes.Int64,
	table.Uint32:  arrow.PrimitiveTypes.Uint32,
	table.Uint64:  arrow.PrimitiveTypes.Uint64,
	table.Float32: arrow.PrimitiveTypes.Float32,
	table.Float64: arrow.PrimitiveTypes.Float64,
	table.Time:    arrow.FixedWidthTypes.Timestamp_us,
	table.Text:    arrow.BinaryTypes.String,
	table.Binary:  arrow.BinaryTypes.Binary,
	table.Name:    names,
}

func typeOf(f *table.Field) arrow.DataType {
	if typ := types[f.Type]; typ != nil {
		return typ
	}
	fields := make([]arrow.Field, len(f.Fields))
	for i := range f.Fields {
		fields[i] = fieldOf(&f.Fields[i])
	}
	if f.Type == table.List {
		return arrow.ListOfField(fields[0])
	}
	return arrow.StructOf(fields...)
}
