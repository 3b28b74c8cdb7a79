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

// schemaKey identifies a schema.
type schemaKey struct {
	layout *table.Layout
	kind   uint8
}

var schemas sync.Map // of schemaKey to *arrow.Schema, of shared layouts

// Schema returns the schema of the table of a kind. It makes the schema of a shared layout only once.
func Schema(l *table.Layout, kind uint8) *arrow.Schema {
	key := schemaKey{l, kind}
	if s, ok := schemas.Load(key); ok {
		return s.(*arrow.Schema)
	}
	all := l.Fields(kind)
	fields := make([]arrow.Field, len(all))
	for i := range all {
		fields[i] = fieldOf(&all[i])
	}
	k := &l.Format.Kinds[kind]
	about := arrow.MetadataFrom(map[string]string{FormatKey: l.Format.Name, KindKey: k.Name, CommentKey: k.Comment})
	s := arrow.NewSchema(fields, &about)
	if l.Shared() {
		schemas.Store(key, s)
	}
	return s
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
