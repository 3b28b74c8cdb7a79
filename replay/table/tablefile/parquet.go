package tablefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquetFile writes Parquet. Rows wait compressed, in memory or in a file beside the result, until there are enough for a row
// group. A row group is written column by column, so that only one column at a time has a dictionary and pages in memory.
type parquetFile struct {
	out     *counter
	shape   shape
	about   []format.KeyValue
	groups  []format.RowGroup // the row groups that were written
	written int64             // the rows of these groups
	budget  *Budget
	parts   [][]packed // the rows of the next row group, by column of the table, then by record batch
	moved   int        // the number of record batches that have moved to the file
	waiting waiting
	rows    int
	cost    int   // bytes of memory that describe these rows
	values  int   // bytes of memory with their values
	length  int64 // bytes of their values in memory and in the file
}

// held returns the bytes of memory that the rows take.
func (f *parquetFile) held() int { return f.cost + f.values }

// A row group is written when it has this number of rows or of compressed bytes. The rows of one Write stay together.
const (
	maxGroupRows  = 1 << 20
	maxGroupBytes = 64 << 20
)

func newParquet(w io.Writer, s *arrow.Schema, about map[string]string, budget *Budget) (*parquetFile, error) {
	f := &parquetFile{out: &counter{w: w}, budget: budget, parts: make([][]packed, s.NumFields())}
	var err error
	if f.shape, err = shapeOf(s); err != nil {
		return nil, err
	}
	all := s.Metadata().ToMap()
	maps.Copy(all, about)
	f.add(all)
	if _, err := io.WriteString(f.out, parquetMagic); err != nil {
		return nil, err
	}
	budget.writers = append(budget.writers, f)
	return f, nil
}

// parquetMagic begins and ends a file.
const parquetMagic = "PAR1"

// add adds metadata to the file.
func (f *parquetFile) add(about map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(about)) {
		f.about = append(f.about, format.KeyValue{Key: key, Value: about[key]})
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
	group := format.RowGroup{NumRows: int64(f.rows), FileOffset: f.out.at, Ordinal: int16(len(f.groups))}
	c := &chunk{out: f.out}
	for i := range f.shape.leaves {
		leaf := &f.shape.leaves[i]
		c.begin(leaf)
		for j := range f.parts[leaf.column] {
			a, err := f.budget.packer.unpack(&f.parts[leaf.column][j], &f.waiting, leaf.way)
			if err != nil {
				return err
			}
			c.add(a)
		}
		meta, err := c.finish()
		if err != nil {
			return err
		}
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: meta})
		group.TotalByteSize += meta.TotalUncompressedSize
		group.TotalCompressedSize += meta.TotalCompressedSize
		if i+1 == len(f.shape.leaves) || f.shape.leaves[i+1].column != leaf.column {
			clear(f.parts[leaf.column])
			f.parts[leaf.column] = f.parts[leaf.column][:0]
		}
	}
	f.groups = append(f.groups, group)
	f.written += int64(f.rows)
	f.budget.take(f, -f.cost, -f.values)
	f.rows, f.moved, f.length = 0, 0, 0
	return f.waiting.clear()
}

// Close implements Writer.
func (f *parquetFile) Close(about map[string]string) error {
	err := f.finishGroup()
	f.budget.remove(f)
	if err := errors.Join(err, f.waiting.close()); err != nil {
		return err
	}
	f.add(about)
	orders := make([]format.ColumnOrder, len(f.shape.leaves))
	for i := range orders {
		orders[i].Value = &format.TypeDefinedOrder{}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &format.FileMetaData{
		Version: parquetVersion, Schema: f.shape.elements, NumRows: f.written, RowGroups: f.groups, KeyValueMetadata: f.about,
		CreatedBy: "replayd version 1", ColumnOrders: orders,
	})
	if err != nil {
		return fmt.Errorf("the end of a Parquet file: %w", err)
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	_, err = f.out.Write(append(footer, parquetMagic...))
	return err
}

// parquetVersion is the version of the format that has logical types.
const parquetVersion = 2
