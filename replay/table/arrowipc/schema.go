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

func typeOf(f *table.Field) arrow.DataType {
	switch f.Type {
	case table.Bool:
		return arrow.FixedWidthTypes.Boolean
	case table.Int32:
		return arrow.PrimitiveTypes.Int32
	case table.Int64:
		return arrow.PrimitiveTypes.Int64
	case table.Uint32:
		return arrow.PrimitiveTypes.Uint32
	case table.Uint64:
		return arrow.PrimitiveTypes.Uint64
	case table.Float32:
		return arrow.PrimitiveTypes.Float32
	case table.Float64:
		return arrow.PrimitiveTypes.Float64
	case table.Time:
		return arrow.FixedWidthTypes.Timestamp_us
	case table.Text:
		return arrow.BinaryTypes.String
	case table.Binary:
		return arrow.BinaryTypes.Binary
	case table.Name:
		return names
	case table.List:
		return arrow.ListOfField(fieldOf(&f.Fields[0]))
	default:
		fields := make([]arrow.Field, len(f.Fields))
		for i := range f.Fields {
			fields[i] = fieldOf(&f.Fields[i])
		}
		return arrow.StructOf(fields...)
	}
}
