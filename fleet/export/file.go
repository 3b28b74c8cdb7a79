package export

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/replayd/replayd/replay/table/tablefile"
)

// exportTable is one file being written.
type exportTable struct {
	name, temporary string
	file            *os.File
	buffer          *bufio.Writer
	out             tablefile.Writer
	schema          *arrow.Schema // of columns of this process
	messages        messages      // the reader's input
	reader          *ipc.Reader   // of all record batches, after the schema
	pending         []arrow.RecordBatch
	held, rows      int
}

// messages is an io.Reader of messages, which it does not join.
type messages struct{ rest [][]byte }

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.rest[0])
	if m.rest[0] = m.rest[0][n:]; len(m.rest[0]) == 0 {
		m.rest = m.rest[1:]
	}
	return n, nil
}

// create opens the draft of the file.
func (t *exportTable) create(e *Export, schema *arrow.Schema) error {
	f, err := CreateDraft(e.o.Place, t.name)
	if err != nil {
		return err
	}
	t.file, t.temporary, t.buffer = f, f.Name(), bufio.NewWriterSize(f, 64<<10)
	t.out, err = tablefile.New(e.o.Format, t.buffer, schema, e.about(), e.budget)
	return err
}

// add adds a record batch, which belongs to the table then, and counts its events.
func (t *exportTable) add(e *Export, r arrow.RecordBatch) error {
	if t.out == nil {
		if err := t.create(e, r.Schema()); err != nil {
			return err
		}
	}
	n := sizeOf(r)
	t.pending = append(t.pending, r)
	t.rows += int(r.NumRows())
	t.held += n
	e.held += n
	e.events += uint64(r.NumRows())
	e.countWarnings(r)
	return nil
}

// manyRows is the number of rows from which a record batch is written at once, without a copy. Fewer wait for others, unless pages are made
// of them anyway.
const manyRows = 2048

// copied returns a record batch with memory of its own.
func copied(r arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, r.NumCols())
	for i, c := range r.Columns() {
		columns[i] = array.MakeFromData(copiedData(c.Data()))
	}
	return array.NewRecordBatch(r.Schema(), columns, r.NumRows())
}

func copiedData(d arrow.ArrayData) *array.Data {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			buffers[i] = memory.NewBufferBytes(bytes.Clone(b.Bytes()))
		}
	}
	var below []arrow.ArrayData
	for _, c := range d.Children() {
		below = append(below, copiedData(c))
	}
	if d.DataType().ID() == arrow.DICTIONARY {
		return array.NewDataWithDictionary(d.DataType(), d.Len(), buffers, d.NullN(), d.Offset(), copiedData(d.Dictionary()))
	}
	return array.NewData(d.DataType(), d.Len(), buffers, below, d.NullN(), d.Offset())
}

// flush writes the waiting rows.
func (t *exportTable) flush(e *Export) error {
	err := t.out.Write(t.pending)
	for _, r := range t.pending {
		r.Release()
	}
	e.held -= t.held
	t.pending, t.held = nil, 0
	return err
}

func (e *Export) largest() *exportTable {
	var most *exportTable
	for _, t := range e.tables {
		if most == nil || t.held > most.held {
			most = t
		}
	}
	return most
}

// discard removes the draft, if there is one.
func (t *exportTable) discard() {
	if t.file != nil {
		_ = t.file.Close()
	}
	if t.temporary != "" {
		_ = os.Remove(t.temporary)
	}
}

// close writes the end of the file.
func (t *exportTable) close(about map[string]string) error {
	err := errors.Join(t.out.Close(about), t.buffer.Flush(), t.file.Chmod(0o644), t.file.Close())
	t.file = nil
	return err
}
