package tablefile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// parquetFile writes Parquet. Rows wait compressed, in memory or in a file beside the result, until there are enough for a row
// group. A row group is written column by column, so that only one column at a time has an encoder with its dictionary and pages.
type parquetFile struct {
	out     *file.Writer
	budget  *Budget
	leaves  []leaf
	parts   [][]packed // the rows of the next row group, by column of the table, then by record batch
	moved   int        // how many record batches have moved to the file
	waiting waiting
	rows    int
	cost    int   // bytes of memory that describe these rows
	values  int   // bytes of memory with their values
	length  int64 // bytes of their values in memory and in the file
}

// held returns the bytes of memory that the rows take.
func (f *parquetFile) held() int { return f.cost + f.values }

// A row group is written when it has so many rows or compressed bytes. The rows of one Write stay together.
const (
	maxGroupRows  = 1 << 20
	maxGroupBytes = 64 << 20
)

// leaf is a column of a Parquet file, with the way to it from a column of the table.
type leaf struct {
	column int // the index of the table's column
	way    []step
	rep    int16 // the highest repetition level
}

// step is one node on the way to a leaf.
type step struct {
	kind     arrow.Type
	nullable bool
	field    int   // in a struct, the field that the way leads to
	rep      int16 // in a list, its repetition level
}

func newParquet(w io.Writer, s *arrow.Schema, about map[string]string, budget *Budget) (*parquetFile, error) {
	f := &parquetFile{budget: budget, parts: make([][]packed, s.NumFields())}
	var nodes schema.FieldList
	for i, field := range s.Fields() {
		node, err := nodeOf(field)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
		f.addLeaves(i, field, nil, 0)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, err
	}
	props := parquet.NewWriterProperties(
		parquet.WithVersion(parquet.V2_LATEST), parquet.WithCompression(compress.Codecs.Zstd), parquet.WithStats(true),
		parquet.WithDictionaryDefault(true), parquet.WithDictionaryPageSizeLimit(256<<10), parquet.WithDataPageSize(64<<10),
		parquet.WithCreatedBy("replayd"),
	)
	if f.out, err = file.NewParquetWriterWithError(w, root, file.WithWriterProps(props)); err != nil {
		return nil, err
	}
	all := s.Metadata().ToMap()
	maps.Copy(all, about)
	if err := f.about(all); err != nil {
		return nil, err
	}
	budget.writers = append(budget.writers, f)
	return f, nil
}

func (f *parquetFile) about(all map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if err := f.out.AppendKeyValueMetadata(key, all[key]); err != nil {
			return err
		}
	}
	return nil
}

// nodeOf returns the node of a column.
func nodeOf(f arrow.Field) (schema.Node, error) {
	repetition := parquet.Repetitions.Required
	if f.Nullable {
		repetition = parquet.Repetitions.Optional
	}
	number := func(typ parquet.Type, bits int8, signed bool) (schema.Node, error) {
		return schema.NewPrimitiveNodeLogical(f.Name, repetition, schema.NewIntLogicalType(bits, signed), typ, 0, -1)
	}
	switch t := f.Type.(type) {
	case *arrow.BooleanType:
		return schema.NewBooleanNode(f.Name, repetition, -1), nil
	case *arrow.Int32Type:
		return number(parquet.Types.Int32, 32, true)
	case *arrow.Uint32Type:
		return number(parquet.Types.Int32, 32, false)
	case *arrow.Int64Type:
		return number(parquet.Types.Int64, 64, true)
	case *arrow.Uint64Type:
		return number(parquet.Types.Int64, 64, false)
	case *arrow.Float32Type:
		return schema.NewFloat32Node(f.Name, repetition, -1), nil
	case *arrow.Float64Type:
		return schema.NewFloat64Node(f.Name, repetition, -1), nil
	case *arrow.TimestampType:
		typ := schema.NewTimestampLogicalType(true, schema.TimeUnitMicros)
		return schema.NewPrimitiveNodeLogical(f.Name, repetition, typ, parquet.Types.Int64, 0, -1)
	case *arrow.BinaryType:
		return schema.NewByteArrayNode(f.Name, repetition, -1), nil
	case *arrow.StringType, *arrow.DictionaryType:
		return schema.NewPrimitiveNodeLogical(f.Name, repetition, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)
	case *arrow.ListType:
		element := t.ElemField()
		element.Name = "element"
		node, err := nodeOf(element)
		if err != nil {
			return nil, err
		}
		items, err := schema.NewGroupNode("list", parquet.Repetitions.Repeated, schema.FieldList{node}, -1)
		if err != nil {
			return nil, err
		}
		return schema.NewGroupNodeLogical(f.Name, repetition, schema.FieldList{items}, schema.NewListLogicalType(), -1)
	case *arrow.StructType:
		var nodes schema.FieldList
		for _, field := range t.Fields() {
			node, err := nodeOf(field)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node)
		}
		if len(nodes) == 0 { // Parquet has no empty groups
			nodes = append(nodes, schema.NewBooleanNode(presentColumn, parquet.Repetitions.Required, -1))
		}
		return schema.NewGroupNode(f.Name, repetition, nodes, -1)
	}
	return nil, fmt.Errorf("no type of Parquet for %s", f.Type)
}

// presentColumn is the only field of a struct without fields. It is always true.
const presentColumn = "present"

// addLeaves adds the leaves below a field. way leads to the field, and rep is the repetition level there.
func (f *parquetFile) addLeaves(column int, field arrow.Field, way []step, rep int16) {
	at := step{kind: field.Type.ID(), nullable: field.Nullable}
	switch t := field.Type.(type) {
	case *arrow.ListType:
		at.rep = rep + 1
		f.addLeaves(column, t.ElemField(), append(slices.Clone(way), at), rep+1)
	case *arrow.StructType:
		for i, below := range t.Fields() {
			at.field = i
			f.addLeaves(column, below, append(slices.Clone(way), at), rep)
		}
		if t.NumFields() == 0 {
			at.field = -1
			f.leaves = append(f.leaves, leaf{column, append(slices.Clone(way), at, step{kind: arrow.NULL}), rep})
		}
	default:
		f.leaves = append(f.leaves, leaf{column, append(slices.Clone(way), at), rep})
	}
}

// Write implements Writer.
func (f *parquetFile) Write(records []arrow.RecordBatch) error {
	records, err := merged(records)
	if err != nil {
		return err
	}
	for _, r := range records {
		for i, c := range r.Columns() {
			p := f.budget.packer.pack(c.Data())
			f.parts[i] = append(f.parts[i], p)
			about, values := p.cost()
			f.budget.take(f, about, values)
			f.length += int64(values)
		}
		f.rows += int(r.NumRows())
	}
	if f.rows >= maxGroupRows || f.length >= maxGroupBytes {
		return f.finishGroup()
	}
	return f.budget.keep()
}

// move moves the values that wait in memory to the file.
func (f *parquetFile) move() error {
	if err := f.waiting.open(f.budget.create); err != nil {
		return err
	}
	for _, column := range f.parts {
		for i := f.moved; i < len(column); i++ {
			if err := column[i].move(&f.waiting); err != nil {
				return err
			}
		}
	}
	f.budget.take(f, 0, -f.values) // all values that were in memory
	f.moved = len(f.parts[0])
	return f.waiting.flush()
}

// fewRows is the number of rows below which batches are merged before they are packed: the descriptions of their columns would
// take more memory than the rows.
const fewRows = 2048

// merged returns record batches with the same rows: one batch if each has few rows. That batch has texts in place of
// dictionaries, because dictionaries differ.
func merged(records []arrow.RecordBatch) ([]arrow.RecordBatch, error) {
	rows := int64(0)
	for _, r := range records {
		rows += r.NumRows()
	}
	if len(records) < 2 || rows > int64(len(records))*fewRows {
		return records, nil
	}
	columns := make([]arrow.Array, records[0].NumCols())
	parts := make([]arrow.Array, len(records))
	var fields []arrow.Field
	for i := range columns {
		for j, r := range records {
			parts[j] = array.MakeFromData(plainData(r.Column(i).Data()))
		}
		var err error
		if columns[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			return nil, err
		}
		fields = append(fields, arrow.Field{Name: records[0].ColumnName(i), Type: columns[i].DataType(), Nullable: true})
	}
	return []arrow.RecordBatch{array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows)}, nil
}

// finishGroup writes the waiting rows as a row group.
func (f *parquetFile) finishGroup() error {
	if f.rows == 0 {
		return nil
	}
	group, err := f.out.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	var l levels
	for i := range f.leaves {
		leaf := &f.leaves[i]
		w, err := group.NextColumn()
		if err != nil {
			return err
		}
		for j := range f.parts[leaf.column] {
			a, err := f.budget.packer.unpack(&f.parts[leaf.column][j], &f.waiting, leaf.way)
			if err != nil {
				return err
			}
			l.reset()
			for row := range a.Len() {
				l.add(leaf.way, a, row, 0, 0)
			}
			if err := l.write(w, leaf); err != nil {
				return err
			}
		}
		if i+1 == len(f.leaves) || f.leaves[i+1].column != leaf.column {
			clear(f.parts[leaf.column])
			f.parts[leaf.column] = f.parts[leaf.column][:0]
		}
	}
	f.budget.take(f, -f.cost, -f.values)
	f.rows, f.moved, f.length = 0, 0, 0
	return errors.Join(group.Close(), f.waiting.clear())
}

// Close implements Writer.
func (f *parquetFile) Close(about map[string]string) error {
	err := f.finishGroup()
	f.budget.remove(f)
	if err := errors.Join(err, f.waiting.close()); err != nil {
		return err
	}
	if err := f.about(about); err != nil {
		return err
	}
	return f.out.Close()
}

// levels collects the values of a leaf with their levels, as Parquet has them.
type levels struct {
	def, rep []int16
	bools    []bool
	int32s   []int32
	int64s   []int64
	float32s []float32
	float64s []float64
	texts    []parquet.ByteArray
}

func (l *levels) reset() {
	l.def, l.rep, l.bools, l.int32s, l.int64s = l.def[:0], l.rep[:0], l.bools[:0], l.int32s[:0], l.int64s[:0]
	l.float32s, l.float64s, l.texts = l.float32s[:0], l.float64s[:0], l.texts[:0]
}

// add adds the values at the end of the way in the i-th value of an array.
func (l *levels) add(way []step, a arrow.Array, i int, rep, def int16) {
	at := &way[0]
	if at.nullable {
		if a.IsNull(i) {
			l.level(rep, def)
			return
		}
		def++
	}
	switch at.kind {
	case arrow.STRUCT:
		if at.field < 0 {
			l.bools = append(l.bools, true)
			l.level(rep, def)
			return
		}
		l.add(way[1:], a.(*array.Struct).Field(0), i, rep, def) // see packer.unpack
		return
	case arrow.LIST:
		list := a.(*array.List)
		begin, end := list.ValueOffsets(i)
		if begin == end {
			l.level(rep, def)
			return
		}
		for j := begin; j < end; j++ {
			l.add(way[1:], list.ListValues(), int(j), rep, def+1)
			rep = at.rep
		}
		return
	default:
	}
	l.level(rep, def)
	l.value(a, i)
}

func (l *levels) level(rep, def int16) {
	l.rep, l.def = append(l.rep, rep), append(l.def, def)
}

func (l *levels) value(a arrow.Array, i int) {
	switch a := a.(type) {
	case *array.Boolean:
		l.bools = append(l.bools, a.Value(i))
	case *array.Int32:
		l.int32s = append(l.int32s, a.Value(i))
	case *array.Uint32:
		l.int32s = append(l.int32s, int32(a.Value(i)))
	case *array.Int64:
		l.int64s = append(l.int64s, a.Value(i))
	case *array.Uint64:
		l.int64s = append(l.int64s, int64(a.Value(i)))
	case *array.Timestamp:
		l.int64s = append(l.int64s, int64(a.Value(i)))
	case *array.Float32:
		l.float32s = append(l.float32s, a.Value(i))
	case *array.Float64:
		l.float64s = append(l.float64s, a.Value(i))
	case *array.Binary:
		l.texts = append(l.texts, a.Value(i))
	case *array.String:
		l.texts = append(l.texts, parquet.ByteArray(a.Value(i)))
	case *array.Dictionary:
		l.texts = append(l.texts, parquet.ByteArray(textOf(a, i)))
	}
}

// write writes the values to the leaf's column.
func (l *levels) write(to file.ColumnChunkWriter, f *leaf) (err error) {
	def, rep := l.def, l.rep
	if f.rep == 0 {
		rep = nil
	}
	if to.Descr().MaxDefinitionLevel() == 0 {
		def = nil
	}
	switch w := to.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(l.bools, def, rep)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(l.int32s, def, rep)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(l.int64s, def, rep)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(l.float32s, def, rep)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(l.float64s, def, rep)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(l.texts, def, rep)
	default:
		err = fmt.Errorf("a column of %T", to)
	}
	return err
}
