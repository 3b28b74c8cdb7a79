package tablefile

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// Format is a format of files.
type Format string

// The formats. Each is also the suffix of its files' names.
const (
	Parquet Format = "parquet"
	Arrow   Format = "arrow"
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
)

// Loose is Arrow's IPC file format without compression, for what is compressed as a whole.
const Loose Format = "loose"

// Writer writes the file of one table.
type Writer interface {
	// Write writes record batches of the table's schema.
	Write(records []arrow.RecordBatch) error
	// Close writes the end of the file. It does not close the file itself. about is metadata for formats that write it at the
	// end, such as Parquet.
	Close(about map[string]string) error
}

// New returns a writer of a table to w. about is metadata for formats that have it. Parquet files hold rows in the budget.
func New(f Format, w io.Writer, schema *arrow.Schema, about map[string]string, budget *Budget) (Writer, error) {
	switch f {
	case Parquet:
		return newParquet(w, schema, about, budget)
	case Arrow, Loose:
		plain := plainSchema(schema, about)
		options := []ipc.Option{ipc.WithSchema(plain)}
		if f == Arrow {
			options = append(options, ipc.WithZstd(), ipc.WithCompressConcurrency(1))
		}
		out, err := ipc.NewFileWriter(&counter{w: w}, options...)
		return &arrowFile{out, plain}, err
	case CSV:
		return newCSV(w, schema)
	case JSONL:
		return &jsonFile{w: w}, nil
	}
	return nil, fmt.Errorf("no format %q", f)
}

// arrowFile writes Arrow's IPC file format.
type arrowFile struct {
	out    *ipc.FileWriter
	schema *arrow.Schema
}

// Write implements Writer.
func (f *arrowFile) Write(records []arrow.RecordBatch) error {
	for _, r := range records {
		columns := make([]arrow.Array, r.NumCols())
		for i := range columns {
			columns[i] = array.MakeFromData(plainData(r.Column(i).Data()))
		}
		if err := f.out.Write(array.NewRecordBatch(f.schema, columns, r.NumRows())); err != nil {
			return err
		}
	}
	return nil
}

// Close implements Writer.
func (f *arrowFile) Close(map[string]string) error { return f.out.Close() }

// counter makes an io.WriteSeeker of a file that is written from front to back. The writer seeks only to ask for the present
// offset.
type counter struct {
	w  io.Writer
	at int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.at += int64(n)
	return n, err
}

// Seek implements io.Seeker as far as the writer needs it.
func (c *counter) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("seek to %d from %d", offset, whence)
	}
	return c.at, nil
}

// csvFile writes CSV, with a first line of names. A missing value is an empty cell; structs and lists are JSON, as in JSON lines.
type csvFile struct {
	out  *csv.Writer
	line []string
}

func newCSV(w io.Writer, schema *arrow.Schema) (*csvFile, error) {
	f := &csvFile{out: csv.NewWriter(w)}
	for _, field := range schema.Fields() {
		f.line = append(f.line, field.Name)
	}
	return f, f.out.Write(f.line)
}

// Write implements Writer.
func (f *csvFile) Write(records []arrow.RecordBatch) error {
	for _, r := range records {
		for i := range int(r.NumRows()) {
			for c := range f.line {
				text, err := cell(r.Column(c), i)
				if err != nil {
					return err
				}
				f.line[c] = text
			}
			if err := f.out.Write(f.line); err != nil {
				return err
			}
		}
	}
	f.out.Flush()
	return f.out.Error()
}

// Close implements Writer.
func (f *csvFile) Close(map[string]string) error {
	f.out.Flush()
	return f.out.Error()
}

// cell returns a value as the text of a cell: its JSON form without quotes.
func cell(a arrow.Array, i int) (string, error) {
	if a.IsNull(i) {
		return "", nil
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(i), nil
	case *array.Dictionary:
		return textOf(a, i), nil
	}
	b, err := appendValue(nil, a, i)
	return strings.Trim(string(b), `"`), err // lists and structs begin with a bracket
}
