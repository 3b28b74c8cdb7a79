package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/replay/table/arrowipc"
	"github.com/replayd/replayd/replay/table/tablefile"
)

// column is a column of an Iceberg table, a field of a struct, or the element of a list.
type column struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Required bool   `json:"required"`
	Type     typ    `json:"type"`
	Doc      string `json:"doc,omitempty"`
}

// typ is the type of a column in Iceberg. Only one of its members is set.
type typ struct {
	plain   string // such as "long"
	fields  []column
	element *column
}

// structType and listType are the forms of types in JSON.
type (
	structType struct {
		Type   string   `json:"type"`
		ID     *int     `json:"schema-id,omitempty"`
		Fields []column `json:"fields"`
	}
	listType struct {
		Type     string `json:"type"`
		ID       int    `json:"element-id"`
		Element  typ    `json:"element"`
		Required bool   `json:"element-required"`
	}
)

// MarshalJSON implements json.Marshaler.
func (t typ) MarshalJSON() ([]byte, error) {
	switch {
	case t.element != nil:
		return json.Marshal(listType{"list", t.element.ID, t.element.Type, t.element.Required})
	case t.fields != nil:
		return json.Marshal(structType{"struct", nil, t.fields})
	}
	return json.Marshal(t.plain)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *typ) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.plain)
	}
	var v struct {
		Type     string   `json:"type"`
		Fields   []column `json:"fields"`
		ID       int      `json:"element-id"`
		Element  typ      `json:"element"`
		Required bool     `json:"element-required"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if v.Type == "list" {
		t.element = &column{ID: v.ID, Name: "element", Type: v.Element, Required: v.Required}
		return nil
	}
	t.fields = v.Fields
	return nil
}

// schema is the schema of a table. Columns are only ever added: a column keeps its number and type.
type schema struct {
	Columns []column `json:"columns"`
	Last    int      `json:"last"` // the highest number of a column
}

// The columns that each table has before those of its kind.
const (
	replayColumn = "replay"
	dayColumn    = "day"
	replayID     = 1
	dayID        = 2
)

var common = []arrow.Field{
	{Name: replayColumn, Type: arrow.BinaryTypes.String, Nullable: true, Metadata: arrow.NewMetadata([]string{arrowipc.CommentKey}, []string{"The replay's identity."})},
	{Name: dayColumn, Type: arrow.FixedWidthTypes.Date32, Nullable: true, Metadata: arrow.NewMetadata([]string{arrowipc.CommentKey}, []string{"The day of the replay's start (UTC). Missing if that is not known."})},
}

// errUnfit means that a staged export has columns that the table cannot have.
var errUnfit = errors.New("it does not fit the table: export the replay without that column, or to another archive")

// with returns the schema with the columns of a table, and that table's columns with their numbers as Parquet has them. The same
// schema is returned if it has all of them. Its errors are errUnfit and errBad.
func (s *schema) with(t *arrow.Schema) (schema, *arrow.Schema, error) {
	fields := slices.Concat(common, t.Fields())
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Name] {
			return schema{}, nil, bad(fmt.Errorf("there are two columns %s", f.Name))
		}
		seen[f.Name] = true
	}
	grown := *s
	columns, numbered, err := grown.merge(slices.Clone(s.Columns), fields)
	if err != nil {
		return schema{}, nil, err
	}
	grown.Columns = columns
	return grown, arrow.NewSchema(numbered, nil), nil
}

// merge adds fields to columns. A column without a comment gets that of its field.
func (s *schema) merge(columns []column, fields []arrow.Field) ([]column, []arrow.Field, error) {
	numbered := make([]arrow.Field, len(fields))
	for i, f := range fields {
		at := slices.IndexFunc(columns, func(c column) bool { return c.Name == f.Name })
		if at < 0 {
			s.Last++
			at = len(columns)
			columns = append(columns, column{ID: s.Last, Name: f.Name})
		}
		if columns[at].Doc == "" {
			columns[at].Doc, _ = f.Metadata.GetValue(arrowipc.CommentKey)
		}
		var err error
		if numbered[i], err = s.field(&columns[at], f); err != nil {
			return nil, nil, err
		}
	}
	return columns, numbered, nil
}

// field gives a column the type of a field, and returns the field with the column's number.
func (s *schema) field(c *column, f arrow.Field) (arrow.Field, error) {
	f.Metadata = arrow.NewMetadata([]string{tablefile.FieldID}, []string{strconv.Itoa(c.ID)})
	unset := c.Type.plain == "" && c.Type.fields == nil && c.Type.element == nil
	unfit := func() error { return fmt.Errorf("column %s has another type here, %s: %w", f.Name, f.Type, errUnfit) }
	switch t := f.Type.(type) {
	case *arrow.StructType:
		if !unset && c.Type.fields == nil {
			return f, unfit()
		}
		below := t.Fields()
		if len(below) == 0 {
			below = []arrow.Field{{Name: presentField, Type: arrow.FixedWidthTypes.Boolean}}
		}
		columns, numbered, err := s.merge(slices.Clone(c.Type.fields), below)
		c.Type.fields, f.Type = columns, arrow.StructOf(numbered...)
		return f, err
	case *arrow.ListType:
		if !unset && c.Type.element == nil {
			return f, unfit()
		}
		element := column{Name: "element"}
		if !unset {
			element = *c.Type.element
		} else {
			s.Last++
			element.ID = s.Last
		}
		numbered, err := s.field(&element, t.ElemField())
		c.Type.element, f.Type = &element, arrow.ListOfField(numbered)
		return f, err
	}
	var plain string
	switch f.Type.ID() {
	case arrow.BOOL:
		plain = "boolean"
	case arrow.INT32:
		plain = "int"
	case arrow.UINT32:
		plain, f.Type = "long", arrow.PrimitiveTypes.Int64
	case arrow.INT64:
		plain = "long"
	case arrow.UINT64: // the same 64 bits
		plain, f.Type = "long", arrow.PrimitiveTypes.Int64
	case arrow.FLOAT32:
		plain = "float"
	case arrow.FLOAT64:
		plain = "double"
	case arrow.STRING:
		plain = "string"
	case arrow.BINARY:
		plain = "binary"
	case arrow.DATE32:
		plain = "date"
	case arrow.TIMESTAMP:
		plain = "timestamptz"
	default:
		return f, bad(fmt.Errorf("column %s: no type of Iceberg for %s", f.Name, f.Type))
	}
	if !unset && c.Type.plain != plain {
		return f, unfit()
	}
	c.Type.plain = plain
	return f, nil
}

// presentField is the only field of a struct without fields; it is true.
const presentField = "present"

// numbered returns an array in the type that a schema's column has. It shares all memory that it can.
func numbered(d arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	below := make([]arrow.ArrayData, len(d.Children()))
	switch t := to.(type) {
	case *arrow.StructType:
		if len(below) == 0 {
			all := memory.NewBufferBytes(ones(d.Len()))
			below = append(below, array.NewData(t.Field(0).Type, d.Len(), []*memory.Buffer{nil, all}, nil, 0, 0))
			break
		}
		for i, c := range d.Children() {
			below[i] = numbered(c, t.Field(i).Type)
		}
	case *arrow.ListType:
		below[0] = numbered(d.Children()[0], t.Elem())
	default:
		if d.DataType().ID() == arrow.UINT32 {
			from := array.NewUint32Data(d)
			wide := make([]int64, from.Len())
			for i, v := range from.Uint32Values() {
				wide[i] = int64(v)
			}
			return array.NewData(to, d.Len(), []*memory.Buffer{d.Buffers()[0], memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(wide))}, nil, d.NullN(), 0)
		}
	}
	return array.NewData(to, d.Len(), d.Buffers(), below, d.NullN(), d.Offset())
}

// ones returns n bits that are set.
func ones(n int) []byte {
	b := make([]byte, (n+7)/8)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// arrow returns the schema as Arrow's.
func (s *schema) arrow() *arrow.Schema { return arrow.NewSchema(fieldsOf(s.Columns), nil) }

func fieldsOf(columns []column) (fields []arrow.Field) {
	for _, c := range columns {
		fields = append(fields, fieldOf(c))
	}
	return fields
}

// fieldOf returns a column as a field.
func fieldOf(c column) arrow.Field {
	f := arrow.Field{Name: c.Name, Nullable: !c.Required, Metadata: arrow.NewMetadata([]string{tablefile.FieldID}, []string{strconv.Itoa(c.ID)})}
	switch {
	case c.Type.element != nil:
		f.Type = arrow.ListOfField(fieldOf(*c.Type.element))
	case c.Type.fields != nil:
		f.Type = arrow.StructOf(fieldsOf(c.Type.fields)...)
	default:
		f.Type = map[string]arrow.DataType{
			"boolean": arrow.FixedWidthTypes.Boolean, "int": arrow.PrimitiveTypes.Int32, "long": arrow.PrimitiveTypes.Int64,
			"float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64, "string": arrow.BinaryTypes.String,
			"binary": arrow.BinaryTypes.Binary, "date": arrow.FixedWidthTypes.Date32, "timestamptz": arrow.FixedWidthTypes.Timestamp_us,
		}[c.Type.plain]
	}
	return f
}

// leavesOf returns the number of columns that have values.
func leavesOf(columns []column) (n int64) {
	for _, c := range columns {
		switch {
		case c.Type.element != nil:
			n += leavesOf([]column{*c.Type.element})
		case c.Type.fields != nil:
			n += leavesOf(c.Type.fields)
		default:
			n++
		}
	}
	return n
}

// conform returns a record batch with the columns of a schema that has at least its own. Those that it lacks are missing.
func conform(r arrow.RecordBatch, to *arrow.Schema) arrow.RecordBatch {
	rows := array.RecordToStructArray(r)
	defer rows.Release()
	all := array.MakeFromData(conformed(rows.Data(), arrow.StructOf(to.Fields()...))).(*array.Struct)
	columns := make([]arrow.Array, all.NumField())
	for i := range columns {
		columns[i] = all.Field(i)
	}
	return array.NewRecordBatch(to, columns, r.NumRows())
}

func conformed(d arrow.ArrayData, to arrow.DataType) arrow.ArrayData {
	var below []arrow.ArrayData
	switch t := to.(type) {
	case *arrow.ListType:
		below = append(below, conformed(d.Children()[0], t.Elem()))
	case *arrow.StructType:
		from := d.DataType().(*arrow.StructType)
		for _, f := range t.Fields() {
			if i, ok := from.FieldIdx(f.Name); ok {
				below = append(below, conformed(d.Children()[i], f.Type))
			} else {
				below = append(below, array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, d.Offset()+d.Len()).Data())
			}
		}
	}
	return array.NewData(to, d.Len(), d.Buffers(), below, d.NullN(), d.Offset())
}
