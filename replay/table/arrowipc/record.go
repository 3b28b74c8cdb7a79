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
	columns := make([]arrow.Array, 0, schema.NumFields())
	for _, c := range table.Shown(t.Columns) {
		columns = append(columns, array.MakeFromData(dataOf(schema.Field(len(columns)).Type, c)))
	}
	return array.NewRecordBatch(schema, columns, int64(t.Rows))
}

// dataOf returns the first column, with those below it.
func dataOf(typ arrow.DataType, columns []table.Column) arrow.ArrayData {
	c := &columns[0]
	buffers := buffersOf(appendParts(nil, c)...)
	if c.Names != nil {
		texts := array.NewData(names.ValueType, c.Names.Len(), buffersOf(nil, arrow.GetBytes(c.Names.Offsets), c.Names.Data), nil, 0, 0)
		return array.NewDataWithDictionary(typ, c.Len, buffers, c.Nulls, 0, texts)
	}
	var below []arrow.ArrayData
	for _, of := range table.Shown(columns[1:]) {
		below = append(below, dataOf(typ.(arrow.NestedType).Fields()[len(below)].Type, of))
	}
	return array.NewData(typ, c.Len, buffers, below, c.Nulls, 0)
}

func buffersOf(parts ...[]byte) []*memory.Buffer {
	buffers := make([]*memory.Buffer, len(parts))
	for i, part := range parts {
		if len(part) > 0 || i > 0 { // without missing values there is no first one
			buffers[i] = memory.NewBufferBytes(part)
		}
	}
	return buffers
}
