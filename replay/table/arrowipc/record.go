package arrowipc

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/replay/table"
)

// Record returns the rows of a table as a record batch. schema is the schema of the table's layout and kind. The batch refers to
// the memory of the columns, and is valid until their set is reset.
func Record(t *table.Table, schema *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, schema.NumFields())
	rest := t.Columns
	for i := range columns {
		rest = skip(rest)
		var data arrow.ArrayData
		data, rest = dataOf(schema.Field(i).Type, rest)
		columns[i] = array.MakeFromData(data)
	}
	return array.NewRecordBatch(schema, columns, int64(t.Rows))
}

// skip returns the columns from the first one on that is not Off.
func skip(columns []table.Column) []table.Column {
	for len(columns) > 0 && columns[0].Off {
		columns = columns[columns[0].Width():]
	}
	return columns
}

// dataOf returns the data of the first column with the columns below it, and the remaining columns.
func dataOf(typ arrow.DataType, columns []table.Column) (data arrow.ArrayData, rest []table.Column) {
	c, inner, rest := &columns[0], columns[1:], columns[columns[0].Width():]
	var valid *memory.Buffer
	if c.Nulls > 0 {
		valid = memory.NewBufferBytes(c.Valid)
	}
	buffers := []*memory.Buffer{valid}
	var below []arrow.ArrayData
	switch c.Field.Type {
	case table.Text, table.Binary:
		buffers = append(buffers, offsetsOf(c.Offsets), memory.NewBufferBytes(c.Data))
	case table.List:
		buffers = append(buffers, offsetsOf(c.Offsets))
		items, _ := dataOf(typ.(*arrow.ListType).Elem(), inner)
		below = append(below, items)
	case table.Struct:
		for _, f := range typ.(*arrow.StructType).Fields() {
			var field arrow.ArrayData
			field, inner = dataOf(f.Type, skip(inner))
			below = append(below, field)
		}
	case table.Name:
		texts := array.NewData(arrow.BinaryTypes.String, c.Names.Len(),
			[]*memory.Buffer{nil, offsetsOf(c.Names.Offsets), memory.NewBufferBytes(c.Names.Data)}, nil, 0, 0)
		buffers = append(buffers, memory.NewBufferBytes(c.Data))
		return array.NewDataWithDictionary(typ, c.Len, buffers, c.Nulls, 0, texts), rest
	default:
		buffers = append(buffers, memory.NewBufferBytes(c.Data))
	}
	return array.NewData(typ, c.Len, buffers, below, c.Nulls, 0), rest
}

func offsetsOf(o []int32) *memory.Buffer {
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(o))
}
