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
	w := begin(t.Rows)
	defer w.free()
	w.addAll(t.Columns)
	columns := make([]arrow.Array, schema.NumFields())
	nodes, parts, names := w.record.nodes, w.record.parts, w.names
	for i := range columns {
		columns[i] = array.MakeFromData(next(schema.Field(i).Type, &nodes, &parts, &names))
	}
	return array.NewRecordBatch(schema, columns, int64(t.Rows))
}

// next returns the first array that these describe, and removes it from them.
func next(typ arrow.DataType, nodes *[]node, parts *[][]byte, names *[]message) arrow.ArrayData {
	n := (*nodes)[0]
	*nodes = (*nodes)[1:]
	buffers := make([]*memory.Buffer, len(typ.Layout().Buffers))
	for i, part := range (*parts)[:len(buffers)] {
		if i > 0 || part != nil {
			buffers[i] = memory.NewBufferBytes(part)
		}
	}
	*parts = (*parts)[len(buffers):]
	if typ.ID() == arrow.DICTIONARY {
		d := (*names)[0]
		*names = (*names)[1:]
		ofTexts, partsOfTexts := d.nodes, d.parts // the message keeps its own, which are emptied for a later table
		texts := next(arrow.BinaryTypes.String, &ofTexts, &partsOfTexts, nil)
		return array.NewDataWithDictionary(typ, n.length, buffers, n.nulls, 0, texts.(*array.Data))
	}
	var below []arrow.ArrayData
	if nested, ok := typ.(arrow.NestedType); ok {
		for _, f := range nested.Fields() {
			below = append(below, next(f.Type, nodes, parts, names))
		}
	}
	return array.NewData(typ, n.length, buffers, below, n.nulls, 0)
}
