package arrowipc

import (
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

// message returns the IPC message of the schema of the present forms. It must not be changed.
func (k *kind) message() ([]byte, error) {
	key := make([]byte, len(k.forms))
	for i, forms := range k.forms {
		key[i] = byte(len(forms))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if m := k.messages[string(key)]; m != nil {
		return m, nil
	}
	m, err := SchemaMessage(k.present())
	if err != nil {
		return nil, err
	}
	if len(k.messages) >= maxMessages {
		clear(k.messages)
	}
	k.messages[string(key)] = m
	return m, nil
}

// present returns the schema of the present forms.
func (k *kind) present() *arrow.Schema {
	fields := k.schema.Fields()
	for i, forms := range k.forms {
		if len(forms) > 0 {
			f := &fields[i]
			about := f.Metadata.ToMap()
			about[TypeKey] = f.Type.Name()
			f.Type, f.Metadata = forms[0].typ, arrow.MetadataFrom(about)
		}
	}
	about := k.schema.Metadata()
	return arrow.NewSchema(fields, &about)
}

// Schema returns the schema of the table of a kind. It makes the schema of a layout only once.
func Schema(l *table.Layout, kind uint8) *arrow.Schema { return aboutOf(l, kind).schema }

func newSchema(l *table.Layout, kind uint8) *arrow.Schema {
	k := &l.Format.Kinds[kind]
	about := arrow.MetadataFrom(map[string]string{FormatKey: l.Format.Name, KindKey: k.Name, CommentKey: k.Comment})
	return arrow.NewSchema(fieldsOf(l.Fields(kind)), &about)
}

func fieldsOf(all []table.Field) []arrow.Field {
	fields := make([]arrow.Field, len(all))
	for i := range all {
		f := &all[i]
		fields[i] = arrow.Field{Name: f.Name, Nullable: f.Nullable, Type: typeOf(f)}
		if f.Comment != "" {
			fields[i].Metadata = arrow.MetadataFrom(map[string]string{CommentKey: strings.TrimSpace(f.Comment)})
		}
	}
	return fields
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
	fields := fieldsOf(f.Fields)
	if f.Type == table.List {
		return arrow.ListOfField(fields[0])
	}
	return arrow.StructOf(fields...)
}
