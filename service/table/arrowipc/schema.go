package arrowipc

import (
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/replayd/replayd/service/table"
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
	format   *table.Format
	kind     uint8
	resolved bool
}

var schemas sync.Map // of schemaKey to *arrow.Schema

// Schema returns the schema of the table of a kind. resolved adds the columns of resolved players.
func Schema(f *table.Format, kind uint8, resolved bool) *arrow.Schema {
	key := schemaKey{f, kind, resolved}
	if s, ok := schemas.Load(key); ok {
		return s.(*arrow.Schema)
	}
	var fields []arrow.Field
	all := f.Fields(kind)
	for i := range all {
		if !all[i].Resolved || resolved {
			fields = append(fields, fieldOf(&all[i]))
		}
	}
	k := &f.Kinds[kind]
	about := arrow.MetadataFrom(map[string]string{FormatKey: f.Name, KindKey: k.Name, CommentKey: k.Comment})
	s, _ := schemas.LoadOrStore(key, arrow.NewSchema(fields, &about))
	return s.(*arrow.Schema)
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
