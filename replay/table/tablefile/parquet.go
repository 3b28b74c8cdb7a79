package tablefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquetFile writes Parquet. The pages of a row group wait, encoded and compressed, in memory or in a file beside the result, until there
// are enough rows for it.
type parquetFile struct {
	out     *counter
	shape   shape
	about   []format.KeyValue
	groups  []format.RowGroup // the row groups that were written
	written int64             // the rows of these groups
	budget  *Budget
	chunks  []chunk // the columns of the next row group, by leaf
	waiting waiting
	rows    int
	cost    int // bytes of memory that describe these rows
	values  int // bytes of memory with their values
}

// held returns the bytes of memory that the rows take.
func (f *parquetFile) held() int { return f.cost + f.values }

// A row group is written when it has this number of rows, or pages of this number of bytes before compression. The rows of one record batch
// stay together.
const (
	maxGroupRows  = 1 << 20
	maxGroupBytes = 64 << 20
)

func newParquet(w io.Writer, s *arrow.Schema, about map[string]string, budget *Budget) (*parquetFile, error) {
	f := &parquetFile{out: &counter{w: w}, budget: budget}
	var err error
	if f.shape, err = shapeOf(s); err != nil {
		return nil, err
	}
	f.chunks = make([]chunk, len(f.shape.leaves))
	for i := range f.chunks {
		f.chunks[i].begin(&f.shape.leaves[i], &budget.work)
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

// Write implements Writer. It keeps nothing of the record batches.
func (f *parquetFile) Write(records []arrow.RecordBatch) error {
	for _, r := range records {
		for i := range f.chunks {
			f.chunks[i].add(r.Column(f.shape.leaves[i].column))
		}
		f.rows += int(r.NumRows())
		f.count()
		if f.rows >= maxGroupRows || f.length() >= maxGroupBytes {
			if err := f.finishGroup(); err != nil {
				return err
			}
		}
		if err := f.budget.keep(); err != nil {
			return err
		}
	}
	return nil
}

// length returns the bytes of the finished pages before compression.
func (f *parquetFile) length() (n int64) {
	for i := range f.chunks {
		n += f.chunks[i].meta.TotalUncompressedSize
	}
	return n
}

// count counts the memory that the rows take.
func (f *parquetFile) count() {
	about, values := 0, 0
	for i := range f.chunks {
		a, v := f.chunks[i].cost()
		about, values = about+a, values+v
	}
	f.budget.held += about + values - f.held()
	f.cost, f.values = about, values
}

// move moves the values that wait in memory to the file.
func (f *parquetFile) move() error {
	if err := f.waiting.open(f.budget.create); err != nil {
		return err
	}
	for i := range f.chunks {
		if err := f.chunks[i].move(&f.waiting); err != nil {
			return err
		}
	}
	f.count()
	return f.waiting.flush()
}

// finishGroup writes the waiting rows as a row group.
func (f *parquetFile) finishGroup() error {
	if f.rows == 0 {
		return nil
	}
	group := format.RowGroup{NumRows: int64(f.rows), FileOffset: f.out.at, Ordinal: int16(len(f.groups))}
	for i := range f.chunks {
		meta, err := f.chunks[i].write(f.out, &f.waiting)
		if err != nil {
			return err
		}
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: meta})
		group.TotalByteSize += meta.TotalUncompressedSize
		group.TotalCompressedSize += meta.TotalCompressedSize
		f.chunks[i].begin(&f.shape.leaves[i], &f.budget.work)
	}
	f.groups = append(f.groups, group)
	f.written += int64(f.rows)
	f.rows = 0
	f.count()
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
