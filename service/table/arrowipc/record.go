package arrowipc

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/service/table"
)

// Record returns the rows of a table as a record batch. The batch refers to the memory of the columns, and is valid until their
// set is reset.
func Record(t *table.Table, resolved bool) arrow.RecordBatch {
	schema := Schema(t.Format, t.Kind, resolved)
	columns := make([]arrow.Array, 0, schema.NumFields())
	for rest := t.Columns; len(rest) > 0; {
		if c := &rest[0]; c.Field.Resolved && !resolved {
			rest = rest[c.Width():]
			continue
		}
		var data arrow.ArrayData
		data, rest = dataOf(schema.Field(len(columns)).Type, rest)
		columns = append(columns, array.MakeFromData(data))
	}
	return array.NewRecordBatch(schema, columns, int64(t.Rows))
}

// dataOf returns the first of the columns with those below it, and the columns after them.
func dataOf(typ arrow.DataType, columns []table.Column) (data arrow.ArrayData, rest []table.Column) {
	c, rest := &columns[0], columns[1:]
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
		var items arrow.ArrayData
		items, rest = dataOf(typ.(*arrow.ListType).Elem(), rest)
		below = append(below, items)
	case table.Struct:
		for _, f := range typ.(*arrow.StructType).Fields() {
			var field arrow.ArrayData
			field, rest = dataOf(f.Type, rest)
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
